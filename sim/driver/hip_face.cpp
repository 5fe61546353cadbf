// SPDX-License-Identifier: Apache-2.0
// The software driver as libamdhip64.so: devices, memory, streams and events.
#include <cstring>

#include "hip_face.hpp"

using namespace sim;  // NOLINT: every name below is the vendor's

namespace sim::hip {

thread_local int current = 0;

Status usable(World& world) {
  return world.device_status(current);
}

int convert(Status status) {
  switch (status) {
    case Status::ok: return abi::success;
    case Status::invalid_value: return abi::invalid_value;
    case Status::out_of_memory: return abi::out_of_memory;
    case Status::not_initialized: return abi::not_initialized;
    case Status::invalid_device: return abi::invalid_device;
    case Status::invalid_image: return abi::invalid_image;
    case Status::invalid_context: return abi::invalid_context;
    case Status::no_binary: return abi::no_binary_for_gpu;
    case Status::invalid_handle: return abi::invalid_handle;
    case Status::not_found: return abi::not_found;
    case Status::not_ready: return abi::not_ready;
    case Status::illegal_address: return abi::illegal_address;
    case Status::not_supported: return abi::not_supported;
  }
  return abi::invalid_value;
}

namespace {

int attribute(abi::DeviceAttribute which) {
  using A = abi::DeviceAttribute;
  switch (which) {
    case A::max_threads_per_block:
    case A::max_block_x:
    case A::max_block_y:
    case A::max_block_z: return 1024;
    case A::max_grid_x: return INT32_MAX;
    case A::max_grid_y:
    case A::max_grid_z: return 65536;
    case A::max_shared_per_block: return 64 * 1024;
  }
  return 0;
}

/// A check that a stream is usable, then `body(world, stream)`.
template <class Body>
int on_stream(const char* name, void* handle, Body body) {
  return call(name, convert, [&](World& world, auto&) {
    Status status{};
    const auto stream = get<Stream>(world, handle, current, status);
    return stream == nullptr ? status : body(world, stream);
  });
}

int fill(const char* name, void* to, uint32_t value, uint32_t element, size_t count, void* handle) {
  return on_stream(name, handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
    StreamOp op;
    const Status status = world.make_fill(to, value, element, count, &op.active.work);
    if (status == Status::ok) world.push(*stream, std::move(op));
    return status;
  });
}

}  // namespace
}  // namespace sim::hip

using namespace sim::hip;  // NOLINT

extern "C" {

int hipInit(unsigned flags) {
  return call("hipInit", convert, [&](World& world, auto&) {
    world.initialized = true;
    world.amd = true;
    return flags == 0 ? Status::ok : world.complain("flags to hipInit");
  });
}
int hipDriverGetVersion(int* version) {
  return call("hipDriverGetVersion", convert, [&](World& world, auto&) {
    *version = world.version != 0 ? world.version : 60400000;
    return Status::ok;
  });
}
const char* hipGetErrorName(int status) {
  return status == abi::out_of_memory     ? "hipErrorOutOfMemory"
         : status == abi::illegal_address ? "hipErrorIllegalAddress"
                                          : "hipErrorSoftwareDriver";
}
const char* hipGetErrorString(int) {
  return "the software driver refused";
}
int hipGetDeviceCount(int* count) {
  return call("hipGetDeviceCount", convert, [&](World& world, auto&) {
    *count = device_count;
    return world.initialized ? Status::ok : Status::not_initialized;
  });
}
int hipGetDeviceProperties(abi::DeviceProperties* properties, int) {
  return call("hipGetDeviceProperties", convert, [&](World&, auto&) {
    std::strcpy(properties->bytes + abi::DeviceProperties::name_offset, "Software HIP driver");
    std::strcpy(properties->bytes + abi::DeviceProperties::arch_offset, "gfx90a:sramecc+:xnack-");
    return Status::ok;
  });
}
int hipDeviceGetAttribute(int* value, int which, int) {
  return call("hipDeviceGetAttribute", convert, [&](World&, auto&) {
    *value = attribute(static_cast<abi::DeviceAttribute>(which));
    return Status::ok;
  });
}
int hipDeviceTotalMem(size_t* bytes, int) {
  return call("hipDeviceTotalMem", convert, [&](World&, auto&) {
    *bytes = memory_per_device;
    return Status::ok;
  });
}
int hipGetDevice(int* device) {
  return call("hipGetDevice", convert, [&](World&, auto&) {
    *device = current;
    return Status::ok;
  });
}
int hipSetDevice(int device) {
  return call("hipSetDevice", convert, [&](World&, auto&) {
    if (device < 0 || device >= device_count) return Status::invalid_device;
    current = device;
    return Status::ok;
  });
}

int hipMalloc(void** pointer, size_t size) {
  return call("hipMalloc", convert, [&](World& world, auto&) {
    const Status status = usable(world);
    return status == Status::ok ? world.allocate(size, current, false, pointer) : status;
  });
}
int hipFree(void* pointer) {
  return release_call("hipFree", convert, [&](World& world, auto& lock) { return world.free(pointer, false, lock); });
}
int hipHostMalloc(void** pointer, size_t size, unsigned) {
  return call("hipHostMalloc", convert, [&](World& world, auto&) {
    const Status status = usable(world);
    return status == Status::ok ? world.allocate(size, current, true, pointer) : status;
  });
}
int hipHostFree(void* pointer) {
  return release_call("hipHostFree", convert,
                      [&](World& world, auto& lock) { return world.free(pointer, true, lock); });
}
int hipMemcpyAsync(void* to, const void* from, size_t size, int, void* handle) {
  return on_stream("hipMemcpyAsync", handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
    StreamOp op;
    const Status status = world.make_copy(to, from, size, false, &op.active.work);
    if (status == Status::ok) world.push(*stream, std::move(op));
    return status;
  });
}
int hipMemsetD8Async(void* to, unsigned char value, size_t count, void* stream) {
  return fill("hipMemsetD8Async", to, value, 1, count, stream);
}
int hipMemsetD16Async(void* to, unsigned short value, size_t count, void* stream) {
  return fill("hipMemsetD16Async", to, value, 2, count, stream);
}
int hipMemsetD32Async(void* to, int value, size_t count, void* stream) {
  return fill("hipMemsetD32Async", to, static_cast<uint32_t>(value), 4, count, stream);
}

int hipStreamCreateWithFlags(void** stream, unsigned) {
  return call("hipStreamCreateWithFlags", convert, [&](World& world, auto&) {
    const Status status = usable(world);
    if (status == Status::ok) *stream = world.create_stream(current);
    return status;
  });
}
int hipStreamDestroy(void* stream) {
  return release_call("hipStreamDestroy", convert, [&](World& world, auto&) { return world.release(stream); });
}
int hipStreamSynchronize(void* handle) {
  return call("hipStreamSynchronize", convert, [&](World& world, auto& lock) {
    Status status{};
    const auto stream = get<Stream>(world, handle, current, status);
    return stream == nullptr ? status : world.synchronize(stream, lock);
  });
}
int hipStreamWaitEvent(void* handle, void* event_handle, unsigned) {
  return on_stream("hipStreamWaitEvent", handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
    const auto event = world.find<Event>(event_handle);
    if (event == nullptr) return world.complain("wait for an event that is not alive", Status::invalid_handle);
    if (event->recorded == 0) return world.complain("wait for an event that was never recorded does nothing");
    StreamOp op;
    op.event = event;
    op.is_wait = true;
    op.value = event->recorded;
    world.push(*stream, std::move(op));
    return Status::ok;
  });
}
int hipEventCreateWithFlags(void** event, unsigned) {
  return call("hipEventCreateWithFlags", convert, [&](World& world, auto&) {
    const Status status = usable(world);
    if (status == Status::ok) *event = world.add(std::make_shared<Event>(current));
    return status;
  });
}
int hipEventDestroy(void* event) {
  return release_call("hipEventDestroy", convert, [&](World& world, auto&) { return world.release(event); });
}
int hipEventRecord(void* event_handle, void* handle) {
  return on_stream("hipEventRecord", handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
    Status status{};
    const auto event = get<Event>(world, event_handle, current, status);
    if (event == nullptr) return status;
    StreamOp op;
    op.event = event;
    op.value = ++event->recorded;
    world.push(*stream, std::move(op));
    return Status::ok;
  });
}
int hipEventQuery(void* handle) {
  return call("hipEventQuery", convert, [&](World& world, auto&) {
    Status status{};
    const auto event = get<Event>(world, handle, current, status);
    if (event == nullptr) return status;
    return event->done >= event->recorded ? Status::ok : Status::not_ready;
  });
}
int hipEventSynchronize(void* handle) {
  return call("hipEventSynchronize", convert, [&](World& world, auto& lock) {
    Status status{};
    const auto event = get<Event>(world, handle, current, status);
    return event == nullptr ? status : world.synchronize(event, lock);
  });
}
int hipEventElapsedTime(float* milliseconds, void* first, void* second) {
  return call("hipEventElapsedTime", convert, [&](World& world, auto&) {
    const auto begin = world.find<Event>(first);
    const auto end = world.find<Event>(second);
    if (begin == nullptr || end == nullptr) return world.complain("event is not alive", Status::invalid_handle);
    *milliseconds = static_cast<float>((end->microseconds - begin->microseconds) / 1000);
    return Status::ok;
  });
}

}  // extern "C"

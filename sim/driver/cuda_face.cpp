// SPDX-License-Identifier: Apache-2.0
// The software driver as libcuda.so.1: devices, memory, streams and events.
#include <cstring>

#include "cuda_face.hpp"

using namespace sim;  // NOLINT: every name below is the vendor's

namespace sim::cuda {

thread_local int current = -1;

Status no_context(World& world) {
  return current < 0 ? world.complain("no context is current", Status::invalid_context) : world.device_status(current);
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

/// A context's handle is the address of its entry here.
char contexts[device_count];

int attribute(abi::DeviceAttribute which) {
  using A = abi::DeviceAttribute;
  switch (which) {
    case A::max_threads_per_block:
    case A::max_block_x:
    case A::max_block_y: return 1024;
    case A::max_block_z: return 64;
    case A::max_grid_x: return INT32_MAX;
    case A::max_grid_y:
    case A::max_grid_z: return 65535;
    case A::max_shared_per_block: return default_shared;
    case A::max_shared_per_block_optin: return most_shared;
    case A::capability_major: return 9;
    default: return 0;
  }
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

int fill(const char* name, abi::DevicePointer to, uint32_t value, uint32_t element, size_t count, void* handle) {
  return on_stream(name, handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
    StreamOp op;
    const Status status = world.make_fill(reinterpret_cast<void*>(to), value, element, count, &op.active.work);
    if (status == Status::ok) world.push(*stream, std::move(op));
    return status;
  });
}

}  // namespace
}  // namespace sim::cuda

using namespace sim::cuda;  // NOLINT

extern "C" {

int cuInit(unsigned flags) {
  return call("cuInit", convert, [&](World& world, auto&) {
    world.initialized = true;
    return flags == 0 ? Status::ok : world.complain("flags to cuInit");
  });
}
int cuDriverGetVersion(int* version) {
  return call("cuDriverGetVersion", convert, [&](World& world, auto&) {
    *version = world.version != 0 ? world.version : 12040;
    return Status::ok;
  });
}
int cuGetErrorName(int status, const char** text) {
  *text = status == abi::out_of_memory     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == abi::illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                           : "CUDA_ERROR_SOFTWARE_DRIVER";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "the software driver refused";
  return 0;
}
int cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", convert, [&](World& world, auto&) {
    *count = device_count;
    return world.initialized ? Status::ok : Status::not_initialized;
  });
}
int cuDeviceGet(int* device, int ordinal) {
  return call("cuDeviceGet", convert, [&](World&, auto&) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_count ? Status::ok : Status::invalid_device;
  });
}
int cuDeviceGetName(char* name, int size, int) {
  return call("cuDeviceGetName", convert, [&](World&, auto&) {
    std::strncpy(name, "Software CUDA driver", static_cast<size_t>(size) - 1);
    return Status::ok;
  });
}
int cuDeviceGetAttribute(int* value, int which, int) {
  return call("cuDeviceGetAttribute", convert, [&](World&, auto&) {
    *value = attribute(static_cast<abi::DeviceAttribute>(which));
    return Status::ok;
  });
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return call("cuDeviceTotalMem", convert, [&](World&, auto&) {
    *bytes = memory_per_device;
    return Status::ok;
  });
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return call("cuDevicePrimaryCtxRetain", convert, [&](World& world, auto&) {
    ++world.contexts[device];
    *context = &contexts[device];
    return Status::ok;
  });
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return release_call("cuDevicePrimaryCtxRelease", convert, [&](World& world, auto&) {
    return --world.contexts[device] >= 0 ? Status::ok : world.complain("context released too often");
  });
}
int cuCtxGetCurrent(void** context) {
  return call("cuCtxGetCurrent", convert, [&](World&, auto&) {
    *context = current < 0 ? nullptr : &contexts[current];
    return Status::ok;
  });
}
int cuCtxSetCurrent(void* context) {
  return call("cuCtxSetCurrent", convert, [&](World&, auto&) {
    current = context == nullptr ? -1 : static_cast<int>(static_cast<char*>(context) - contexts);
    return Status::ok;
  });
}

int cuMemAlloc_v2(abi::DevicePointer* pointer, size_t size) {
  return call("cuMemAlloc", convert, [&](World& world, auto&) {
    Status status = no_context(world);
    void* block = nullptr;
    if (status == Status::ok) status = world.allocate(size, current, false, &block);
    *pointer = reinterpret_cast<abi::DevicePointer>(block);
    return status;
  });
}
int cuMemFree_v2(abi::DevicePointer pointer) {
  return release_call("cuMemFree", convert, [&](World& world, auto& lock) {
    return world.free(reinterpret_cast<void*>(pointer), false, lock);
  });
}
int cuMemHostAlloc(void** pointer, size_t size, unsigned) {
  return call("cuMemHostAlloc", convert, [&](World& world, auto&) {
    const Status status = no_context(world);
    return status == Status::ok ? world.allocate(size, current, true, pointer) : status;
  });
}
int cuMemFreeHost(void* pointer) {
  return release_call("cuMemFreeHost", convert,
                      [&](World& world, auto& lock) { return world.free(pointer, true, lock); });
}
int cuMemcpyAsync(abi::DevicePointer to, abi::DevicePointer from, size_t size, void* handle) {
  return on_stream("cuMemcpyAsync", handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
    StreamOp op;
    const Status status =
        world.make_copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size, false, &op.active.work);
    if (status == Status::ok) world.push(*stream, std::move(op));
    return status;
  });
}
int cuMemsetD8Async(abi::DevicePointer to, unsigned char value, size_t count, void* stream) {
  return fill("cuMemsetD8Async", to, value, 1, count, stream);
}
int cuMemsetD16Async(abi::DevicePointer to, unsigned short value, size_t count, void* stream) {
  return fill("cuMemsetD16Async", to, value, 2, count, stream);
}
int cuMemsetD32Async(abi::DevicePointer to, unsigned value, size_t count, void* stream) {
  return fill("cuMemsetD32Async", to, value, 4, count, stream);
}

int cuStreamCreate(void** stream, unsigned) {
  return call("cuStreamCreate", convert, [&](World& world, auto&) {
    const Status status = no_context(world);
    if (status == Status::ok) *stream = world.create_stream(current);
    return status;
  });
}
int cuStreamDestroy_v2(void* stream) {
  return release_call("cuStreamDestroy", convert, [&](World& world, auto&) { return world.release(stream); });
}
int cuStreamSynchronize(void* handle) {
  return call("cuStreamSynchronize", convert, [&](World& world, auto& lock) {
    Status status{};
    const auto stream = get<Stream>(world, handle, current, status);
    return stream == nullptr ? status : world.synchronize(stream, lock);
  });
}
int cuStreamWaitEvent(void* handle, void* event_handle, unsigned) {
  return on_stream("cuStreamWaitEvent", handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
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
int cuEventCreate(void** event, unsigned) {
  return call("cuEventCreate", convert, [&](World& world, auto&) {
    const Status status = no_context(world);
    if (status == Status::ok) *event = world.add(std::make_shared<Event>(current));
    return status;
  });
}
int cuEventDestroy_v2(void* event) {
  return release_call("cuEventDestroy", convert, [&](World& world, auto&) { return world.release(event); });
}
int cuEventRecord(void* event_handle, void* handle) {
  return on_stream("cuEventRecord", handle, [&](World& world, const std::shared_ptr<Stream>& stream) {
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
int cuEventQuery(void* handle) {
  return call("cuEventQuery", convert, [&](World& world, auto&) {
    Status status{};
    const auto event = get<Event>(world, handle, current, status);
    if (event == nullptr) return status;
    return event->done >= event->recorded ? Status::ok : Status::not_ready;
  });
}
int cuEventSynchronize(void* handle) {
  return call("cuEventSynchronize", convert, [&](World& world, auto& lock) {
    Status status{};
    const auto event = get<Event>(world, handle, current, status);
    return event == nullptr ? status : world.synchronize(event, lock);
  });
}
int cuEventElapsedTime(float* milliseconds, void* first, void* second) {
  return call("cuEventElapsedTime", convert, [&](World& world, auto&) {
    const auto begin = world.find<Event>(first);
    const auto end = world.find<Event>(second);
    if (begin == nullptr || end == nullptr) return world.complain("event is not alive", Status::invalid_handle);
    *milliseconds = static_cast<float>((end->microseconds - begin->microseconds) / 1000);
    return Status::ok;
  });
}

}  // extern "C"

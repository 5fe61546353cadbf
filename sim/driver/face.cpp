// SPDX-License-Identifier: Apache-2.0
#include "face.hpp"

namespace sim {
namespace {

/// CUDA's documentation names CUDA_ERROR_INVALID_CONTEXT for releases. Driver 580 releases without a context all the
/// same, and a program whose context could not be set has no other way.
void expect_context(World& world, const char* name) {
  if (current < 0 && !context_call_failed) world.complain(std::string(name) + " while no context is current");
}

/// A check that a stream is usable, then `body(world, stream)`.
template <class Body>
int on_stream(const char* name, void* handle, Body body) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto stream = get<Stream>(world, handle, status);
    return stream == nullptr ? status : body(world, *stream);
  });
}

}  // namespace

thread_local int current = device_at_first;
thread_local bool context_call_failed = false;

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

Status usable(World& world) {
  return current < 0 ? world.complain("no context is current", Status::invalid_context) : world.device_status(current);
}

int init(const char* name, unsigned flags) {
  return call(name, [&](World& world, auto&) {
    world.initialized = true;
    return flags == 0 ? Status::ok : world.complain("flags to init");
  });
}
int driver_version(const char* name, int* version, int ours) {
  return call(name, [&](World& world, auto&) {
    *version = world.version != 0 ? world.version : ours;
    return Status::ok;
  });
}
int count_devices(const char* name, int* count) {
  return call(name, [&](World& world, auto&) {
    *count = device_count;
    return world.initialized ? Status::ok : Status::not_initialized;
  });
}
int total_memory(const char* name, size_t* bytes) {
  return call(name, [&](World&, auto&) {
    *bytes = memory_per_device;
    return Status::ok;
  });
}
int allocate(const char* name, void** pointer, size_t size, bool on_host) {
  return call(name, [&](World& world, auto&) {
    const Status status = usable(world);
    return status == Status::ok ? world.allocate(size, current, on_host, pointer) : status;
  });
}
int free(const char* name, void* pointer, bool on_host) {
  return release_call(name, [&](World& world, auto& lock) {
    expect_context(world, name);
    return world.free(pointer, on_host, lock);
  });
}

int create_stream(const char* name, void** stream) {
  return call(name, [&](World& world, auto&) {
    const Status status = usable(world);
    if (status == Status::ok) *stream = world.create_stream(current);
    return status;
  });
}
int synchronize_stream(const char* name, void* handle) {
  return call(name, [&](World& world, auto& lock) {
    Status status{};
    const auto stream = get<Stream>(world, handle, status);
    return stream == nullptr ? status : world.synchronize(stream, lock);
  });
}
int wait_for_event(const char* name, void* handle, void* event_handle) {
  return on_stream(name, handle, [&](World& world, Stream& stream) {
    const auto event = world.find<Event>(event_handle);
    if (event == nullptr) return world.complain("wait for an event that is not alive", Status::invalid_handle);
    if (event->recorded == 0) return world.complain("wait for an event that was never recorded does nothing");
    StreamOp op;
    op.event = event;
    op.is_wait = true;
    op.value = event->recorded;
    world.push(stream, std::move(op));
    return Status::ok;
  });
}
int add_callback(const char* name, void* handle, Callback callback, void* data) {
  return on_stream(name, handle, [&](World& world, Stream& stream) {
    StreamOp op;
    op.notice = {callback, handle, data};
    world.push(stream, std::move(op));
    return Status::ok;
  });
}
int copy(const char* name, void* to, const void* from, size_t size, void* handle) {
  return on_stream(name, handle, [&](World& world, Stream& stream) {
    StreamOp op;
    const Status status = world.make_copy(to, from, size, false, &op.active.work);
    if (status == Status::ok) world.push(stream, std::move(op));
    return status;
  });
}
int fill(const char* name, void* to, uint32_t value, uint32_t element, size_t count, void* handle) {
  return on_stream(name, handle, [&](World& world, Stream& stream) {
    StreamOp op;
    const Status status = world.make_fill(to, value, element, count, &op.active.work);
    if (status == Status::ok) world.push(stream, std::move(op));
    return status;
  });
}

int create_event(const char* name, void** event, unsigned flags) {
  return call(name, [&](World& world, auto&) {
    const Status status = usable(world);
    const bool is_timed = (flags & abi::event_disable_timing) == 0;
    if (status == Status::ok) *event = world.add(std::make_shared<Event>(current, is_timed));
    return status;
  });
}
int record_event(const char* name, void* event_handle, void* handle) {
  return on_stream(name, handle, [&](World& world, Stream& stream) {
    Status status{};
    const auto event = get<Event>(world, event_handle, status);
    if (event == nullptr) return status;
    StreamOp op;
    op.event = event;
    op.value = ++event->recorded;
    world.push(stream, std::move(op));
    return Status::ok;
  });
}
int query_event(const char* name, void* handle) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto event = get<Event>(world, handle, status);
    if (event == nullptr) return status;
    return event->done >= event->recorded ? Status::ok : Status::not_ready;
  });
}
int synchronize_event(const char* name, void* handle) {
  return call(name, [&](World& world, auto& lock) {
    Status status{};
    const auto event = get<Event>(world, handle, status);
    return event == nullptr ? status : world.synchronize(event, lock);
  });
}
int elapsed(const char* name, float* milliseconds, void* first, void* second) {
  return call(name, [&](World& world, auto&) {
    const auto begin = world.find<Event>(first);
    const auto end = world.find<Event>(second);
    if (begin == nullptr || end == nullptr) return world.complain("event is not alive", Status::invalid_handle);
    for (const Event* event : {begin.get(), end.get()}) {
      if (!event->is_timed) return world.complain("time of an event made without timing", Status::invalid_handle);
      if (event->recorded == 0) return world.complain("time of an event never recorded", Status::invalid_handle);
    }
    if (begin->done < begin->recorded || end->done < end->recorded) return Status::not_ready;
    *milliseconds = static_cast<float>((end->microseconds - begin->microseconds) / 1000);
    return Status::ok;
  });
}
int release(const char* name, void* handle) {
  return release_call(name, [&](World& world, auto&) {
    expect_context(world, name);
    return world.release(handle);
  });
}

}  // namespace sim

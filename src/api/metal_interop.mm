// SPDX-License-Identifier: Apache-2.0
#include "pianola/interop/metal.hpp"

#include <atomic>

#include "api/impl.hpp"
#include "backend/metal/device.hpp"
#include "base/guarded.hpp"

namespace pianola::interop::metal {
namespace {

namespace native = backend::metal;

native::MetalDevice* metal_device(const Device& device) {
  return device ? dynamic_cast<native::MetalDevice*>(device.impl()->backend.get()) : nullptr;
}

Error null_event() {
  return Error{.code = Errc::invalid_argument, .message = "the shared event or the semaphore is null"};
}

}  // namespace

void* native_device(const Device& device) {
  const auto* metal = metal_device(device);
  return metal != nullptr ? (void*)metal->native() : nullptr;
}

void* native_queue(const Queue& queue) {
  if (!queue) return nullptr;
  const auto* metal = dynamic_cast<native::MetalQueue*>(queue.impl()->backend);
  return metal != nullptr ? (void*)metal->native() : nullptr;
}

void* native_buffer(const Buffer& buffer) {
  if (!buffer) return nullptr;
  const auto* metal = dynamic_cast<native::MetalMemory*>(buffer.impl()->memory.get());
  return metal != nullptr ? (void*)metal->buffer() : nullptr;
}

Result<Buffer> import_buffer(const Device& device, void* native_buffer, std::shared_ptr<void> owner) {
  native::MetalDevice* metal = metal_device(device);
  if (metal == nullptr) {
    return Error{.code = Errc::invalid_argument, .message = "import of a Metal buffer by a device that is not Metal"};
  }
  const auto buffer = (id<MTLBuffer>)native_buffer;
  if (buffer == nil || [buffer device] != metal->native()) {
    return Error{.code = Errc::invalid_argument,
                 .message = "import of a Metal buffer that is null or of another device"};
  }
  return guarded([&]() -> Result<Buffer> {
    auto memory = metal->import(buffer, std::move(owner));
    if (!memory) return memory.error();
    auto impl = std::make_shared<Buffer::Impl>();
    impl->device = device.impl();
    impl->memory = std::move(*memory);
    impl->size = [buffer length];
    impl->kind = MemoryKind::device;
    return Buffer(std::move(impl));
  });
}

Result<> signal_when(const Semaphore& semaphore, uint64_t value, void* shared_event, uint64_t event_value) {
  if (shared_event == nullptr || !semaphore) return null_event();
  static MTLSharedEventListener* const listener = [MTLSharedEventListener new];
  if (listener == nil) return out_of_memory();
  return guarded([&]() -> Result<> {
    auto event = native::Ref<id<MTLSharedEvent>>::retained((id<MTLSharedEvent>)shared_event);
    const auto is_done = std::make_shared<std::atomic<bool>>(false);
    // Nothing may be thrown through the frames of Metal.
    const auto signal = [state = semaphore.state(), value, is_done] {
      if (is_done->exchange(true)) return;
      const auto done = guarded([&] { return state->signal(value); });
      if (!done) state->fail(done.error());
    };
    const auto on_value = [event, signal] { signal(); };  // keeps the event, whose listener would be lost with it
    [event.get() notifyListener:listener
                        atValue:event_value
                          block:^(id<MTLSharedEvent> reached, uint64_t now) {
                            (void)reached;
                            (void)now;
                            on_value();
                          }];
    // A value that the host sets meanwhile may call no listener.
    if ([event.get() signaledValue] >= event_value) signal();
    return {};
  });
}

Result<> signal_event_when(void* shared_event, uint64_t event_value, const Semaphore& semaphore, uint64_t value) {
  if (shared_event == nullptr || !semaphore) return null_event();
  return guarded([&]() -> Result<> {
    auto event = native::Ref<id<MTLSharedEvent>>::retained((id<MTLSharedEvent>)shared_event);
    semaphore.state()->when_reached(value, [event, event_value](const std::optional<Error>& failure) {
      if (!failure && [event.get() signaledValue] < event_value) [event.get() setSignaledValue:event_value];
    });
    return {};
  });
}

}  // namespace pianola::interop::metal

// SPDX-License-Identifier: Apache-2.0
// What a plan needs on the device before it can be encoded: pipelines, the bytes of updates, argument buffers.
#include "backend/metal/convert.hpp"
#include "backend/metal/device.hpp"
#include "format/builtin_kernels.hpp"

namespace pianola::backend::metal {
namespace {

/// Contents of argument buffers that are remembered; a decode loop rebinds a handful of buffers.
constexpr size_t max_argument_buffers = 64;

}  // namespace

Result<std::shared_ptr<Executable>> MetalExecutable::make(MetalDevice& device, const Plan& plan) {
  @autoreleasepool {
    auto lowered = lower(plan, device.target());
    if (!lowered) return lowered.error();
    auto executable = std::make_shared<MetalExecutable>();
    executable->program = std::move(*lowered);
    executable->native_ = device.native();
    executable->concurrent = device.target().concurrent;
    if (auto done = executable->load_kernels(device); !done) return done.error();
    if (auto done = executable->make_staging(device); !done) return done.error();
    for (const PlanGroup& group : plan.data()->groups) executable->labels.push_back(to_ns_string(group.label));
    return std::shared_ptr<Executable>(std::move(executable));
  }
}

Result<> MetalExecutable::load_kernels(MetalDevice& device) {
  const auto& libraries = program.plan.data()->commands.data()->libraries;
  pipelines.resize(program.kernels.size());
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const KernelKey& key = program.kernels[i];
    const bool is_builtin = key.library == KernelKey::builtin;
    auto pipeline = device.pipelines().get(is_builtin ? builtin_kernels() : libraries[key.library], key.entry);
    if (pipeline) {
      pipelines[i] = *pipeline;
      continue;
    }
    Error error = pipeline.error();
    for (const Step& step : program.steps) {
      if (step.kind != Step::Kind::dispatch || program.dispatches[step.first].kernel != i) continue;
      error.command = step.source;
      break;
    }
    return error;
  }
  for (const DispatchStep& step : program.dispatches) {
    if (!step.uses_argument_buffer || device.has_argument_buffers()) continue;
    return Error{.code = Errc::unsupported,
                 .message = "more than 30 bindings need argument buffers of tier 2, this Metal device has tier 1"};
  }
  return {};
}

Result<> MetalExecutable::make_staging(MetalDevice& device) {
  const auto& bytes = program.staged;
  if (bytes.empty()) return {};
  staging = Ref<id<MTLBuffer>>([device.native() newBufferWithBytes:bytes.data()
                                                            length:bytes.size()
                                                           options:MTLResourceStorageModeShared]);
  if (!staging) return call_error(Errc::out_of_memory, "newBufferWithBytes", "no buffer for the updates' bytes", nil);
  program.staged = {};
  return {};
}

Result<ArgumentBuffer> MetalExecutable::argument_buffer(const DispatchStep& step, const Bindings& bindings) {
  Content content(step.argument_count);
  for (uint32_t i = 0; i < step.argument_count; ++i) {
    const Place& place = program.arguments[step.first_argument + i].place;
    content[i] = reinterpret_cast<uint64_t>(bindings.slots[place.slot].address) + place.offset;
  }
  const std::lock_guard lock(mutex_);
  const auto key = std::pair(step.kernel, std::move(content));
  if (const auto found = argument_buffers_.find(key); found != argument_buffers_.end()) return found->second;

  auto& encoder = encoders_[step.kernel];
  if (!encoder) {
    encoder = Ref<id<MTLArgumentEncoder>>(
        [pipelines[step.kernel]->function.get() newArgumentEncoderWithBufferIndex:argument_buffer_index]);
  }
  auto buffer = std::make_shared<Ref<id<MTLBuffer>>>();
  if (encoder) {
    *buffer = Ref<id<MTLBuffer>>([native_ newBufferWithLength:[encoder.get() encodedLength]
                                                      options:MTLResourceStorageModeShared]);
  }
  if (!*buffer) return call_error(Errc::out_of_memory, "newBufferWithLength", "no argument buffer", nil);
  [encoder.get() setArgumentBuffer:buffer->get() offset:0];
  for (uint32_t i = 0; i < step.argument_count; ++i) {
    const Place& place = program.arguments[step.first_argument + i].place;
    const BoundSlot& slot = bindings.slots[place.slot];
    [encoder.get() setBuffer:static_cast<MetalMemory*>(slot.memory)->buffer()
                      offset:slot.offset + place.offset
                     atIndex:i];
  }
  if (argument_buffers_.size() >= max_argument_buffers) argument_buffers_.clear();  // work in flight keeps its own
  argument_buffers_.emplace(key, buffer);
  return buffer;
}

}  // namespace pianola::backend::metal

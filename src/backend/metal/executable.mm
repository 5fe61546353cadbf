// SPDX-License-Identifier: Apache-2.0
// What a plan needs on the device before it can be encoded: pipelines, the bytes of updates, argument buffers.
#include <fmt/format.h>

#include <cstring>

#include "backend/metal/convert.hpp"
#include "backend/metal/device.hpp"
#include "format/builtin_kernels.hpp"

namespace pianola::backend::metal {
namespace {

/// Contents of an argument set that are remembered; a decode loop rebinds a handful of buffers.
constexpr size_t max_argument_contents = 64;

}  // namespace

Result<std::shared_ptr<Executable>> MetalExecutable::make(MetalDevice& device, const Plan& plan, bool check_indirect) {
  @autoreleasepool {
    Target target = device.target();
    if (check_indirect) target.most_groups = device.limits().max_groups;
    auto lowered = lower(plan, target);
    if (!lowered) return lowered.error();
    auto executable = std::make_shared<MetalExecutable>();
    executable->program = std::move(*lowered);
    executable->native_ = device.native();
    executable->most_groups_ = device.limits().max_groups;
    executable->concurrent = device.target().concurrent;
    executable->nothing = device.nothing();
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
    error.command = program.kernel_sources[i];
    return error;
  }
  if (!program.argument_sets.empty() && !device.has_argument_buffers()) {
    const uint32_t kernel = program.argument_sets[0].kernel;  // no built-in one: those have few bindings
    const KernelInfo& info = libraries[program.kernels[kernel].library].kernels()[program.kernels[kernel].entry];
    return Error{.code = Errc::unsupported,
                 .message = fmt::format("kernel '{}' has {} bindings; more than {} need argument buffers of tier 2 and "
                                        "the family Metal3, which this device lacks",
                                        info.name, info.bindings.size(), max_direct_buffers),
                 .command = program.kernel_sources[kernel]};
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

Result<Ref<id<MTLBuffer>>> MetalExecutable::make_checks() const {
  if (program.checks.empty()) return Ref<id<MTLBuffer>>();
  Ref<id<MTLBuffer>> checks([native_ newBufferWithLength:program.checks.size() * checked_counts_bytes
                                                 options:MTLResourceStorageModeShared]);
  if (!checks) return call_error(Errc::out_of_memory, "newBufferWithLength", "no buffer for checked counts", nil);
  return checks;
}

std::optional<Error> MetalExecutable::failed_check(id<MTLBuffer> checks) const {
  const auto& most = most_groups_;
  for (size_t i = 0; i < program.checks.size(); ++i) {
    const auto* checked = static_cast<const std::byte*>([checks contents]) + i * checked_counts_bytes;
    std::array<uint32_t, 3> counts;
    std::memcpy(counts.data(), checked + checked_counts_bytes / 2, sizeof counts);
    const bool is_empty = counts[0] == 0 || counts[1] == 0 || counts[2] == 0;
    if (is_empty || (counts[0] <= most[0] && counts[1] <= most[1] && counts[2] <= most[2])) continue;
    return Error{.code = Errc::execution_failed,
                 .message = fmt::format("indirect counts of {} x {} x {} workgroups; the device takes {} x {} x {}",
                                        counts[0], counts[1], counts[2], most[0], most[1], most[2]),
                 .command = program.checks[i]};
  }
  return std::nullopt;
}

Result<ArgumentBuffers> MetalExecutable::argument_buffers(const std::shared_ptr<const Bindings>& bindings) {
  if (program.argument_sets.empty()) return ArgumentBuffers();
  const std::lock_guard lock(mutex_);
  const bool is_same = !last_bindings_.owner_before(bindings) && !bindings.owner_before(last_bindings_);
  if (is_same && last_) return last_;
  std::vector<ArgumentBuffer> buffers;
  for (uint32_t set = 0; set < program.argument_sets.size(); ++set) {
    auto buffer = argument_buffer(set, *bindings);
    if (!buffer) return buffer.error();
    buffers.push_back(std::move(*buffer));
  }
  last_ = std::make_shared<const std::vector<ArgumentBuffer>>(std::move(buffers));
  last_bindings_ = bindings;
  return last_;
}

Result<ArgumentBuffer> MetalExecutable::argument_buffer(uint32_t set, const Bindings& bindings) {
  const ArgumentSet& arguments = program.argument_sets[set];
  Content content;
  content.reserve(2 * arguments.count);
  for (uint32_t i = 0; i < arguments.count; ++i) {
    const Place& place = program.arguments[arguments.first + i].place;
    const BoundSlot& slot = bindings.slots[place.slot];
    content.push_back(reinterpret_cast<uint64_t>(slot.address) + place.offset);
    // What Metal encodes may hold the buffer's end: memory that has an address again is another buffer.
    content.push_back([static_cast<MetalMemory*>(slot.memory)->buffer() length] - slot.offset);
  }
  const auto key = std::pair(arguments.kernel, std::move(content));
  if (const auto found = known_.find(key); found != known_.end()) return found->second;

  auto& encoder = encoders_[arguments.kernel];
  if (!encoder) {
    encoder = Ref<id<MTLArgumentEncoder>>(
        [pipelines[arguments.kernel]->function.get() newArgumentEncoderWithBufferIndex:argument_buffer_index]);
  }
  auto buffer = std::make_shared<Ref<id<MTLBuffer>>>();
  if (encoder) {
    *buffer = Ref<id<MTLBuffer>>([native_ newBufferWithLength:[encoder.get() encodedLength]
                                                      options:MTLResourceStorageModeShared]);
  }
  if (!*buffer) return call_error(Errc::out_of_memory, "newBufferWithLength", "no argument buffer", nil);
  [encoder.get() setArgumentBuffer:buffer->get() offset:0];
  for (uint32_t i = 0; i < arguments.count; ++i) {
    const Place& place = program.arguments[arguments.first + i].place;
    const BoundSlot& slot = bindings.slots[place.slot];
    [encoder.get() setBuffer:static_cast<MetalMemory*>(slot.memory)->buffer()
                      offset:slot.offset + place.offset
                     atIndex:i];
  }
  const size_t most = max_argument_contents * program.argument_sets.size();
  if (known_.size() >= most) known_.clear();  // work in flight keeps its own
  known_.emplace(key, buffer);
  return buffer;
}

}  // namespace pianola::backend::metal

// SPDX-License-Identifier: Apache-2.0
// A program becomes a command buffer. Encoders are opened by the first command that runs, so none is ever empty;
// state that an encoder has already is not set again.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend/metal/convert.hpp"
#include "backend/metal/device.hpp"
#include "backend/metal/emit.hpp"
#include "format/builtin_kernels.hpp"

namespace pianola::backend::metal {
namespace {

constexpr size_t buffer_indices = 31;

/// A place in memory that is bound now.
struct Bound {
  id<MTLBuffer> buffer = nil;
  uint64_t offset = 0;
};

class Encoding {
 public:
  Encoding(id<MTLCommandBuffer> commands, MetalExecutable& executable, const Bindings& bindings)
      : commands_(commands), x_(executable), program_(executable.program), bindings_(bindings) {}
  ~Encoding() { end(); }
  Encoding(const Encoding&) = delete;
  Encoding& operator=(const Encoding&) = delete;
  Result<> run();
  std::vector<ArgumentBuffer> argument_buffers;

 private:
  Bound resolve(const Place& place) const;
  void end();
  bool open_blit(const Step& step);
  bool open_compute(const Step& step);
  void enter_group(id<MTLCommandEncoder> encoder, uint32_t group);
  Result<> run(const Step& step);
  void barrier(const Step& step);
  void fill(const BlitFill& fill);
  void copy(const BlitCopy& copy);
  Result<> dispatch(const DispatchStep& step, const Step& at);
  Result<> late(const LateBuiltin& what, const Step& at);
  bool find_groups(const DispatchStep& step, std::array<uint32_t, 3>& groups) const;
  Result<> bind_arguments(const DispatchStep& step);
  void bind(uint32_t index, const Bound& bound);
  void bind_constants(const DispatchStep& step);
  void set_pipeline(uint32_t kernel);
  void use(id<MTLBuffer> buffer, Access access);

  id<MTLCommandBuffer> commands_;
  MetalExecutable& x_;
  const Program& program_;
  const Bindings& bindings_;

  id<MTLBlitCommandEncoder> blit_ = nil;
  id<MTLComputeCommandEncoder> compute_ = nil;
  id<MTLComputePipelineState> pipeline_ = nil;
  std::array<Bound, buffer_indices> bound_{};
  std::vector<std::pair<id<MTLBuffer>, MTLResourceUsage>> used_;
  uint32_t group_ = 0;
  std::vector<uint32_t> groups_;  ///< those open in the encoder
};

Bound Encoding::resolve(const Place& place) const {
  if (place.slot == staging_slot) return {x_.staging.get(), place.offset};
  const BoundSlot& slot = bindings_.slots[place.slot];
  return {static_cast<MetalMemory*>(slot.memory)->buffer(), slot.offset + place.offset};
}

void Encoding::end() {
  id<MTLCommandEncoder> open = blit_ != nil ? (id<MTLCommandEncoder>)blit_ : (id<MTLCommandEncoder>)compute_;
  if (open != nil) {
    for (size_t i = 0; i < groups_.size(); ++i) [open popDebugGroup];
    [open endEncoding];
  }
  groups_.clear();
  group_ = 0;
  blit_ = nil;
  compute_ = nil;
}

bool Encoding::open_blit(const Step& step) {
  if (blit_ == nil) blit_ = [commands_ blitCommandEncoder];
  if (blit_ != nil && step.group != group_) enter_group(blit_, step.group);
  return blit_ != nil;
}

bool Encoding::open_compute(const Step& step) {
  if (compute_ == nil) {
    const MTLDispatchType type = x_.concurrent ? MTLDispatchTypeConcurrent : MTLDispatchTypeSerial;
    compute_ = [commands_ computeCommandEncoderWithDispatchType:type];
    pipeline_ = nil;
    bound_ = {};
    used_.clear();
  }
  if (compute_ != nil && step.group != group_) enter_group(compute_, step.group);
  return compute_ != nil;
}

/// Leaves groups that the next command is not in, and enters those that it is.
void Encoding::enter_group(id<MTLCommandEncoder> encoder, uint32_t group) {
  const auto& tree = program_.plan.data()->groups;
  std::vector<uint32_t> path;
  for (uint32_t g = group; g != 0; g = tree[g].parent) path.insert(path.begin(), g);
  size_t common = 0;
  while (common < path.size() && common < groups_.size() && path[common] == groups_[common]) ++common;
  for (size_t i = groups_.size(); i > common; --i) [encoder popDebugGroup];
  for (size_t i = common; i < path.size(); ++i) [encoder pushDebugGroup:x_.labels[path[i]].get()];
  groups_ = std::move(path);
  group_ = group;
}

Result<> Encoding::run() {
  Result<> result;
  for (const Step& step : program_.steps) {
    result = run(step);
    if (!result) break;
  }
  end();
  return result;
}

Result<> Encoding::run(const Step& step) {
  const auto no_encoder = [] { return call_error(Errc::out_of_memory, "commandEncoder", "no command encoder", nil); };
  switch (step.kind) {
    case Step::Kind::blit:
    case Step::Kind::compute: end(); return {};
    case Step::Kind::barrier: barrier(step); return {};
    case Step::Kind::fill:
      if (!open_blit(step)) return no_encoder();
      fill(program_.fills[step.first]);
      return {};
    case Step::Kind::copy:
      if (!open_blit(step)) return no_encoder();
      copy(program_.copies[step.first]);
      return {};
    case Step::Kind::dispatch: return dispatch(program_.dispatches[step.first], step);
    case Step::Kind::late: return late(program_.late[step.first], step);
  }
  return {};
}

void Encoding::barrier(const Step& step) {
  if (compute_ == nil) return;  // nothing ran in this encoder yet
  if (step.count == 0) {
    [compute_ memoryBarrierWithScope:MTLBarrierScopeBuffers];
    return;
  }
  std::array<id<MTLResource>, 16> resources;
  for (uint32_t i = 0; i < step.count; ++i) resources[i] = resolve({program_.barrier_slots[step.first + i], 0}).buffer;
  [compute_ memoryBarrierWithResources:resources.data() count:step.count];
}

void Encoding::fill(const BlitFill& fill) {
  const Bound to = resolve(fill.to);
  [blit_ fillBuffer:to.buffer range:NSMakeRange(to.offset, fill.size) value:fill.value];
}

void Encoding::copy(const BlitCopy& copy) {
  const Bound from = resolve(copy.from);
  const Bound to = resolve(copy.to);
  [blit_ copyFromBuffer:from.buffer
           sourceOffset:from.offset
               toBuffer:to.buffer
      destinationOffset:to.offset
                   size:copy.size];
}

/// False if the dispatch has no work.
bool Encoding::find_groups(const DispatchStep& step, std::array<uint32_t, 3>& groups) const {
  groups = step.groups;
  for (size_t i = 0; i < 3 && step.named_groups != 0; ++i) {
    if ((step.named_groups >> i & 1U) == 0) continue;
    std::memcpy(&groups[i], bindings_.constants.data() + bindings_.constant_offset[step.groups[i]], 4);
  }
  return step.is_indirect || (groups[0] != 0 && groups[1] != 0 && groups[2] != 0);
}

void Encoding::bind(uint32_t index, const Bound& bound) {
  Bound& now = bound_[index];
  if (now.buffer == bound.buffer && now.offset == bound.offset) return;
  if (now.buffer == bound.buffer) {
    [compute_ setBufferOffset:bound.offset atIndex:index];
  } else {
    [compute_ setBuffer:bound.buffer offset:bound.offset atIndex:index];
  }
  now = bound;
}

/// Makes memory resident that is reached other than through a binding of its own.
void Encoding::use(id<MTLBuffer> buffer, Access access) {
  MTLResourceUsage usage = (reads(access) ? MTLResourceUsageRead : 0) | (writes(access) ? MTLResourceUsageWrite : 0);
  for (auto& [known, known_usage] : used_) {
    if (known != buffer) continue;
    if ((known_usage | usage) == known_usage) return;
    usage |= known_usage;
    known_usage = usage;
    [compute_ useResource:buffer usage:usage];
    return;
  }
  used_.emplace_back(buffer, usage);
  [compute_ useResource:buffer usage:usage];
}

Result<> Encoding::bind_arguments(const DispatchStep& step) {
  const auto arguments = std::span(program_.arguments).subspan(step.first_argument, step.argument_count);
  if (!step.uses_argument_buffer) {
    for (uint32_t i = 0; i < arguments.size(); ++i) bind(i, resolve(arguments[i].place));
    return {};
  }
  auto buffer = x_.argument_buffer(step, bindings_);
  if (!buffer) return buffer.error();
  argument_buffers.push_back(*buffer);
  bind(argument_buffer_index, {(*buffer)->get(), 0});
  for (const Argument& argument : arguments) use(resolve(argument.place).buffer, argument.access);
  return {};
}

void Encoding::bind_constants(const DispatchStep& step) {
  if (step.constant_bytes == 0) return;
  const std::byte* bytes = program_.constants.data() + step.first_constant;
  std::array<std::byte, max_constant_bytes> patched;
  if (step.named_count != 0) {
    std::memcpy(patched.data(), bytes, step.constant_bytes);
    for (const auto& named : std::span(program_.named).subspan(step.first_named, step.named_count)) {
      const uint32_t at = bindings_.constant_offset[static_cast<uint32_t>(named.constant)];
      std::memcpy(patched.data() + named.offset, bindings_.constants.data() + at, named.size);
    }
    bytes = patched.data();
  }
  [compute_ setBytes:bytes length:step.constant_bytes atIndex:constants_index];
  bound_[constants_index] = {};
}

void Encoding::set_pipeline(uint32_t kernel) {
  id<MTLComputePipelineState> state = x_.pipelines[kernel]->state.get();
  if (state != pipeline_) [compute_ setComputePipelineState:state];
  pipeline_ = state;
}

Result<> Encoding::dispatch(const DispatchStep& step, const Step& at) {
  std::array<uint32_t, 3> groups;
  if (!find_groups(step, groups)) return {};
  if (!open_compute(at)) return call_error(Errc::out_of_memory, "computeCommandEncoder", "no command encoder", nil);
  set_pipeline(step.kernel);
  if (auto bound = bind_arguments(step); !bound) return bound;
  bind_constants(step);
  for (const Argument& more : std::span(program_.uses).subspan(step.first_use, step.use_count)) {
    use(resolve(more.place).buffer, more.access);
  }
  const MTLSize threads = to_size(step.threads);
  if (step.is_indirect) {
    const Bound counts = resolve(step.counts);
    [compute_ dispatchThreadgroupsWithIndirectBuffer:counts.buffer
                                indirectBufferOffset:counts.offset
                               threadsPerThreadgroup:threads];
  } else {
    [compute_ dispatchThreadgroups:to_size(groups) threadsPerThreadgroup:threads];
  }
  return {};
}

/// A fill or copy whose alignment shows only now: its places become offsets in whole buffers.
Result<> Encoding::late(const LateBuiltin& what, const Step& at) {
  if (!open_compute(at)) return call_error(Errc::out_of_memory, "computeCommandEncoder", "no command encoder", nil);
  const Bound from = what.is_fill ? Bound{} : resolve(what.from);
  const Bound to = resolve(what.to);
  LateBuiltin absolute = what;
  absolute.from.offset = from.offset;
  absolute.to.offset = to.offset;
  const BuiltinDispatch builtin =
      what.is_fill ? builtin_fill(to.offset, what.size, std::span(what.pattern).first(what.pattern_size))
                   : builtin_copy(to.offset, from.offset, what.size);
  std::vector<Argument> arguments;
  std::vector<std::byte> constants;
  const DispatchStep step = builtin_step(builtin, absolute, arguments, constants);
  const auto& kernels = program_.kernels;
  const auto kernel = std::ranges::find(kernels, builtin_key(builtin.kernel)) - kernels.begin();
  set_pipeline(static_cast<uint32_t>(kernel));
  const size_t sources = what.is_fill ? 0 : 2;
  for (size_t i = 0; i < arguments.size(); ++i) {
    bind(static_cast<uint32_t>(i), {i < sources ? from.buffer : to.buffer, arguments[i].place.offset});
  }
  [compute_ setBytes:constants.data() length:constants.size() atIndex:constants_index];
  [compute_ dispatchThreadgroups:to_size(step.groups) threadsPerThreadgroup:to_size(step.threads)];
  return {};
}

}  // namespace

Result<std::vector<ArgumentBuffer>> encode(id<MTLCommandBuffer> commands, MetalExecutable& executable,
                                           const Bindings& bindings) {
  Encoding encoding(commands, executable, bindings);
  if (auto done = encoding.run(); !done) return done.error();
  return std::move(encoding.argument_buffers);
}

}  // namespace pianola::backend::metal

// SPDX-License-Identifier: Apache-2.0
// A program becomes command buffers. Encoders are opened by the first command that runs, so no encoder is ever empty;
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

constexpr uint32_t none = UINT32_MAX;

/// A failure is a null encoder and nothing else, so that the commands themselves carry no results about.
class Encoding {
 public:
  Encoding(const MetalExecutable& executable, const InFlight& flight, const NextCommandBuffer& next);
  ~Encoding() { end(); }
  Encoding(const Encoding&) = delete;
  Encoding& operator=(const Encoding&) = delete;
  bool run();

 private:
  /// A slot's memory, and what it has been declared for in the open encoder.
  struct Slot {
    Bound bound;
    MTLResourceUsage usage = 0;
  };

  /// The program's own slots are the highest numbers, so that they wrap to the first places.
  size_t index_of(uint32_t slot) const { return static_cast<uint32_t>(slot + own_slots); }
  Bound resolve(const Place& place) const {
    const Bound& slot = slots_[index_of(place.slot)].bound;
    return {slot.buffer, slot.offset + place.offset};
  }
  void end();
  bool next_buffer();
  bool open_blit(uint32_t group);
  bool open_compute(uint32_t group);
  void enter_group(id<MTLCommandEncoder> encoder, uint32_t group);
  bool run(const Step& step);
  void barrier(const Step& step);
  void blit(const Blit& blit);
  bool dispatches(const Step& step);
  void dispatch(const DispatchStep& step);
  void dispatch(const DispatchStep& step, const DispatchExtra& extra);
  void late(const LateBuiltin& what);
  std::array<uint32_t, 3> groups_of(const DispatchStep& step, const DispatchExtra& extra) const;
  void bind_set(uint32_t index);
  void bind(uint32_t index, const Bound& bound);
  void bind_constants(const DispatchStep& step);
  void bind_named_constants(const DispatchStep& step, const DispatchExtra& extra);
  void set_pipeline(uint32_t kernel);
  void use(const Argument& what);
  void use(id<MTLBuffer> buffer, MTLResourceUsage usage);

  const NextCommandBuffer& next_;
  id<MTLCommandBuffer> commands_ = nil;
  const MetalExecutable& x_;
  const Program& program_;
  const Bindings& bindings_;
  const InFlight& flight_;

  std::vector<Slot> slots_;
  id<MTLBlitCommandEncoder> blit_ = nil;
  id<MTLComputeCommandEncoder> compute_ = nil;
  uint32_t kernel_ = none;     ///< whose pipeline is set
  MTLSize threads_{};          ///< of its threadgroups
  uint32_t constants_ = none;  ///< offset in the program of those that are set, of constant_bytes_
  uint32_t constant_bytes_ = 0;
  std::array<Bound, max_direct_buffers> bound_{};
  std::vector<std::pair<id<MTLBuffer>, MTLResourceUsage>> used_;
  std::vector<bool> used_sets_;  ///< argument sets whose buffers are all declared in the open encoder
  uint32_t group_ = 0;
  std::vector<uint32_t> groups_;  ///< those open in the encoder
};

Encoding::Encoding(const MetalExecutable& executable, const InFlight& flight, const NextCommandBuffer& next)
    : next_(next), x_(executable), program_(executable.program), bindings_(*flight.job.bindings), flight_(flight) {
  slots_.resize(own_slots + bindings_.slots.size());
  slots_[index_of(staging_slot)].bound = {executable.staging.get(), 0};
  slots_[index_of(checks_slot)].bound = {flight.checks.get(), 0};
  slots_[index_of(nothing_slot)].bound = {executable.nothing, 0};
  for (size_t i = 0; i < bindings_.slots.size(); ++i) {
    const BoundSlot& slot = bindings_.slots[i];
    if (slot.memory == nullptr) continue;
    slots_[own_slots + i].bound = {static_cast<MetalMemory*>(slot.memory)->buffer(), slot.offset};
  }
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

bool Encoding::open_blit(uint32_t group) {
  if (blit_ == nil) blit_ = [commands_ blitCommandEncoder];
  if (blit_ != nil && group != group_) enter_group(blit_, group);
  return blit_ != nil;
}

bool Encoding::open_compute(uint32_t group) {
  if (compute_ == nil) {
    const MTLDispatchType type = x_.concurrent ? MTLDispatchTypeConcurrent : MTLDispatchTypeSerial;
    compute_ = [commands_ computeCommandEncoderWithDispatchType:type];
    kernel_ = none;
    constants_ = none;
    bound_ = {};
    if (!used_.empty()) {
      for (Slot& slot : slots_) slot.usage = 0;
    }
    used_.clear();
    used_sets_.assign(program_.argument_sets.size(), false);
  }
  if (compute_ != nil && group != group_) enter_group(compute_, group);
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

bool Encoding::run() {
  bool is_good = next_buffer();
  for (auto step = program_.steps.begin(); is_good && step != program_.steps.end(); ++step) is_good = run(*step);
  end();
  return is_good;
}

bool Encoding::next_buffer() {
  end();
  commands_ = next_();
  return commands_ != nil;
}

bool Encoding::run(const Step& step) {
  switch (step.kind) {
    case Step::Kind::command_buffer: return next_buffer();
    case Step::Kind::blit_encoder:
    case Step::Kind::compute_encoder: end(); return true;
    case Step::Kind::barrier: barrier(step); return true;
    case Step::Kind::blits:
      if (!open_blit(step.group)) return false;
      for (const Blit& one : std::span(program_.blits).subspan(step.first, step.count)) blit(one);
      return true;
    case Step::Kind::dispatches: return dispatches(step);
    case Step::Kind::late:
      if (!open_compute(step.group)) return false;
      for (const LateBuiltin& one : std::span(program_.late).subspan(step.first, step.count)) late(one);
      return true;
  }
  return true;
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

void Encoding::blit(const Blit& blit) {
  const Bound to = resolve(blit.to);
  if (blit.is_fill) {
    [blit_ fillBuffer:to.buffer range:NSMakeRange(to.offset, blit.size) value:blit.value];
    return;
  }
  const Bound from = resolve(blit.from);
  [blit_ copyFromBuffer:from.buffer
           sourceOffset:from.offset
               toBuffer:to.buffer
      destinationOffset:to.offset
                   size:blit.size];
}

std::array<uint32_t, 3> Encoding::groups_of(const DispatchStep& step, const DispatchExtra& extra) const {
  std::array<uint32_t, 3> groups = step.groups;
  for (size_t i = 0; i < 3; ++i) {
    if ((extra.named_groups >> i & 1U) == 0) continue;
    std::memcpy(&groups[i], bindings_.constants.data() + bindings_.constant_offset[step.groups[i]], 4);
  }
  return groups;
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
void Encoding::use(const Argument& what) {
  const MTLResourceUsage usage =
      (reads(what.access) ? MTLResourceUsageRead : 0) | (writes(what.access) ? MTLResourceUsageWrite : 0);
  Slot& slot = slots_[index_of(what.place.slot)];
  if ((slot.usage | usage) == slot.usage) return;
  slot.usage |= usage;
  use(slot.bound.buffer, usage);
}

/// Several slots may lie in one buffer: what is declared for it is what all of them need.
void Encoding::use(id<MTLBuffer> buffer, MTLResourceUsage usage) {
  for (auto& [known, known_usage] : used_) {
    if (known != buffer) continue;
    if ((known_usage | usage) == known_usage) return;
    known_usage |= usage;
    [compute_ useResource:buffer usage:known_usage];
    return;
  }
  used_.emplace_back(buffer, usage);
  [compute_ useResource:buffer usage:usage];
}

void Encoding::bind_set(uint32_t index) {
  bind(argument_buffer_index, {(*flight_.argument_buffers)[index]->get(), 0});
  if (used_sets_[index]) return;
  used_sets_[index] = true;
  const ArgumentSet& set = program_.argument_sets[index];
  for (uint32_t i = 0; i < set.count; ++i) use(program_.arguments[set.first + i]);
}

void Encoding::bind_constants(const DispatchStep& step) {
  const bool is_set = step.first_constant == constants_ && step.constant_bytes == constant_bytes_;
  if (step.constant_bytes == 0 || is_set) return;
  constants_ = step.first_constant;
  constant_bytes_ = step.constant_bytes;
  [compute_ setBytes:program_.constants.data() + step.first_constant
              length:step.constant_bytes
             atIndex:constants_index];
}

void Encoding::bind_named_constants(const DispatchStep& step, const DispatchExtra& extra) {
  std::array<std::byte, max_constant_bytes> bytes;
  std::memcpy(bytes.data(), program_.constants.data() + step.first_constant, step.constant_bytes);
  for (const auto& named : std::span(program_.named).subspan(extra.first_named, extra.named_count)) {
    const uint32_t at = bindings_.constant_offset[static_cast<uint32_t>(named.constant)];
    std::memcpy(bytes.data() + named.offset, bindings_.constants.data() + at, named.size);
  }
  constants_ = none;
  [compute_ setBytes:bytes.data() length:step.constant_bytes atIndex:constants_index];
}

void Encoding::set_pipeline(uint32_t kernel) {
  if (kernel == kernel_) return;
  const Pipeline& pipeline = *x_.pipelines[kernel];
  kernel_ = kernel;
  threads_ = pipeline.threads;
  [compute_ setComputePipelineState:pipeline.state.get()];
  if (pipeline.dynamic_shared_bytes == 0) return;
  [compute_ setThreadgroupMemoryLength:pipeline.dynamic_shared_bytes atIndex:0];
}

bool Encoding::dispatches(const Step& step) {
  for (const DispatchStep& one : std::span(program_.dispatches).subspan(step.first, step.count)) {
    if (one.extra == DispatchStep::none) {
      if (!open_compute(step.group)) return false;
      dispatch(one);
      continue;
    }
    const DispatchExtra& extra = program_.extras[one.extra];
    const auto groups = groups_of(one, extra);
    const bool has_work = extra.is_indirect || (groups[0] != 0 && groups[1] != 0 && groups[2] != 0);
    if (!has_work) continue;
    if (!open_compute(step.group)) return false;
    dispatch(one, extra);
  }
  return true;
}

void Encoding::dispatch(const DispatchStep& step) {
  set_pipeline(step.kernel);
  const Place* places = program_.places.data() + step.first_place;
  for (uint32_t i = 0; i < step.place_count; ++i) bind(i, resolve(places[i]));
  bind_constants(step);
  [compute_ dispatchThreadgroups:to_size(step.groups) threadsPerThreadgroup:threads_];
}

void Encoding::dispatch(const DispatchStep& step, const DispatchExtra& extra) {
  set_pipeline(step.kernel);
  const Place* places = program_.places.data() + step.first_place;
  for (uint32_t i = 0; i < step.place_count; ++i) bind(i, resolve(places[i]));
  if (extra.argument_set != ArgumentSet::none) bind_set(extra.argument_set);
  for (uint32_t i = 0; i < extra.use_count; ++i) use(program_.uses[extra.first_use + i]);
  if (extra.named_count != 0) {
    bind_named_constants(step, extra);
  } else {
    bind_constants(step);
  }
  if (!extra.is_indirect) {
    [compute_ dispatchThreadgroups:to_size(groups_of(step, extra)) threadsPerThreadgroup:threads_];
    return;
  }
  const Bound counts = resolve(extra.counts);
  [compute_ dispatchThreadgroupsWithIndirectBuffer:counts.buffer
                              indirectBufferOffset:counts.offset
                             threadsPerThreadgroup:threads_];
}

/// A fill or copy whose alignment shows only now: its places become offsets in whole buffers.
void Encoding::late(const LateBuiltin& what) {
  const Bound from = what.is_fill ? Bound{} : resolve(what.from);
  const Bound to = resolve(what.to);
  LateBuiltin absolute = what;
  absolute.from.offset = from.offset;
  absolute.to.offset = to.offset;
  const BuiltinDispatch builtin =
      what.is_fill ? builtin_fill(to.offset, what.size, std::span(what.pattern).first(what.pattern_size))
                   : builtin_copy(to.offset, from.offset, what.size);
  std::vector<Place> places;
  std::vector<std::byte> constants;
  const DispatchStep step = builtin_step(builtin, absolute, places, constants);
  const auto& kernels = program_.kernels;
  const auto kernel = std::ranges::find(kernels, builtin_key(builtin.kernel)) - kernels.begin();
  set_pipeline(static_cast<uint32_t>(kernel));
  const size_t sources = what.is_fill ? 0 : 2;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_nothing = places[i].slot == nothing_slot;
    const Bound whole{i < sources ? from.buffer : to.buffer, places[i].offset};
    bind(static_cast<uint32_t>(i), is_nothing ? resolve(places[i]) : whole);
  }
  constants_ = none;
  [compute_ setBytes:constants.data() length:constants.size() atIndex:constants_index];
  [compute_ dispatchThreadgroups:to_size(step.groups) threadsPerThreadgroup:threads_];
}

}  // namespace

Result<> encode(const MetalExecutable& executable, const InFlight& flight, const NextCommandBuffer& next) {
  Encoding encoding(executable, flight, next);
  if (encoding.run()) return {};
  return call_error(Errc::out_of_memory, "commandBuffer", "no command buffer or encoder", nil);
}

}  // namespace pianola::backend::metal

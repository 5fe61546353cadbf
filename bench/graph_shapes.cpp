// SPDX-License-Identifier: Apache-2.0
#include "graph_shapes.hpp"

#include <memory>

#include "graph_kernels.hpp"

namespace bench {

using namespace pianola;  // NOLINT: this file is about nothing else

const Machine* Machine::get() {
  static const std::unique_ptr<Machine> made = []() -> std::unique_ptr<Machine> {
    Result<Device> device = Device::open("cuda:0");
    if (!device) return nullptr;
    auto result = std::make_unique<Machine>();
    result->device = *device;
    Result<Buffer> memory = device->allocate(memory_size);
    Result<KernelLibrary> kernels = KernelLibrary::from_bytes(graph_kernels());
    if (!memory || !kernels) return nullptr;
    result->memory = *memory;
    result->kernels = *kernels;
    // The same code and the same memory: where a cache line lies in the device's cache is worth some per cent.
    std::vector<HandDriver::Code> codes;
    for (const std::string_view arch : {"sm_90", "sm_70"}) {
      for (const CodeObject& object : kernels->objects()) {
        if (object.format == ObjectFormat::ptx && object.arch == arch) codes.push_back(object.bytes);
      }
    }
    result->hand = HandDriver::get(codes, result->memory.native_pointer());
    return result->hand != nullptr ? std::move(result) : nullptr;
  }();
  return made.get();
}

Result<CommandBuffer> Shape::commands() const {
  Recorder recorder;
  record(recorder, recorder.buffer(Machine::get()->memory), Machine::get()->kernels);
  return recorder.finish();
}

InstantiateOptions Shape::options(bool native_graph) const {
  InstantiateOptions options;
  options.plan.lanes = lanes;
  options.plan.merge = false;
  options.native_graph = native_graph;
  return options;
}

Shape independent(uint32_t count, uint32_t lanes) {
  Shape shape{"independent/lanes:" + std::to_string(lanes), lanes, {}, {}};
  shape.record = [count](Recorder& recorder, const BufferRef& memory, const KernelLibrary& kernels) {
    for (uint32_t i = 0; i < count; ++i) {
      recorder.dispatch(kernels["small"], {.constants = {1U}, .bindings = {memory.view(uint64_t{i} * 1024, 1024)}});
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    HandNode node{.offset = uint64_t{i} * 1024};
    if (i >= lanes) node.after = {i - lanes};
    shape.hand.push_back(node);
  }
  return shape;
}

Shape groups(uint32_t count, uint32_t width, uint32_t lanes, uint32_t rounds) {
  Shape shape{"groups:" + std::to_string(width) + "/lanes:" + std::to_string(lanes), lanes, {}, {}};
  if (rounds != 0) shape.name += "/rounds:" + std::to_string(rounds);
  shape.record = [=](Recorder& recorder, const BufferRef& memory, const KernelLibrary& kernels) {
    const Kernel kernel = kernels[rounds == 0 ? "small" : "busy"];
    for (uint32_t i = 0; i < count; ++i) {
      if (i != 0 && i % width == 0) recorder.barrier();
      // Each group reads the whole of what the one before wrote, so that the barrier has work to do.
      recorder.dispatch(kernel, {.constants = {rounds == 0 ? 1U : rounds},
                                 .bindings = {memory.view(uint64_t{i % width} * 1024, 1024)},
                                 .uses = {{memory.view(0, uint64_t{width} * 1024), Access::in}}});
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    HandNode node{.kind = rounds == 0 ? HandNode::Kind::small : HandNode::Kind::busy,
                  .offset = uint64_t{i % width} * 1024,
                  .rounds = rounds};
    const uint32_t start = i / width * width;
    if (i - start >= lanes) {
      node.after = {i - lanes};
    } else if (start != 0) {
      for (uint32_t tail = start - lanes; tail < start; ++tail) node.after.push_back(tail);
    }
    shape.hand.push_back(node);
  }
  return shape;
}

Shape chain(uint32_t count, HandNode::Kind kind, uint64_t size) {
  constexpr uint64_t source = Machine::memory_size / 2;
  const char* kinds[] = {"kernel", "busy", "fill", "copy", "update"};
  Shape shape{std::string("chain/") + kinds[static_cast<int>(kind)] + "/" + std::to_string(count), 1, {}, {}};
  if (kind != HandNode::Kind::small) shape.name += "/bytes:" + std::to_string(size);
  shape.record = [=](Recorder& recorder, const BufferRef& memory, const KernelLibrary& kernels) {
    const BufferRef to = memory.view(0, size);
    const std::vector<std::byte> bytes(size);
    for (uint32_t i = 0; i < count; ++i) {
      if (kind == HandNode::Kind::small) recorder.dispatch(kernels["small"], {.constants = {1U}, .bindings = {to}});
      if (kind == HandNode::Kind::fill) recorder.fill(to, i);
      if (kind == HandNode::Kind::copy) recorder.copy(to, memory.view(source, size));
      if (kind == HandNode::Kind::upload) recorder.update(to, bytes);
      recorder.barrier();
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    HandNode node{.kind = kind, .source_offset = source, .size = size};
    if (i != 0) node.after = {i - 1};
    shape.hand.push_back(node);
  }
  return shape;
}

Shape alternating(uint32_t count) {
  Shape shape{"alternating/" + std::to_string(count), 1, {}, {}};
  shape.record = [count](Recorder& recorder, const BufferRef& memory, const KernelLibrary& kernels) {
    const BufferRef to = memory.view(0, 1024);
    for (uint32_t i = 0; i < count / 2; ++i) {
      recorder.dispatch(kernels["small"], {.constants = {1U}, .bindings = {to}}).barrier();
      recorder.fill(to.view(0, 64), i).barrier();
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    HandNode node{.kind = i % 2 == 0 ? HandNode::Kind::small : HandNode::Kind::fill, .size = 64};
    if (i != 0) node.after = {i - 1};
    shape.hand.push_back(node);
  }
  return shape;
}

Shape decode() {
  struct Stage {
    uint32_t kernels, groups, rounds;
  };
  constexpr std::array<Stage, 7> stages = {Stage{1, 4, 200}, {3, 16, 600}, {1, 48, 1200}, {1, 16, 600},
                                           {1, 4, 200},      {2, 48, 800}, {1, 16, 800}};
  constexpr uint64_t room = 64 * 1024;  // of one kernel's data
  constexpr uint32_t layers = 12;
  Shape shape{"decode", 4, {}, {}};
  shape.record = [=](Recorder& recorder, const BufferRef& memory, const KernelLibrary& kernels) {
    uint32_t before = 0;
    for (uint32_t s = 0; s < layers * stages.size(); ++s) {
      const Stage& stage = stages[s % stages.size()];
      // Neighbouring stages lie apart, and each reads what the one before wrote.
      const auto at = [&](uint32_t parity, uint32_t k) { return (parity * 4 + k) * room; };
      for (uint32_t k = 0; k < stage.kernels; ++k) {
        Dispatch arguments{.groups = {stage.groups},
                           .constants = {stage.rounds},
                           .bindings = {memory.view(at(s % 2, k), uint64_t{stage.groups} * 1024)}};
        if (before != 0) arguments.uses = {{memory.view(at(1 - s % 2, 0), before * room), Access::in}};
        recorder.dispatch(kernels["busy"], arguments);
      }
      recorder.barrier();
      before = stage.kernels;
    }
  };
  std::vector<uint32_t> tails;
  for (uint32_t s = 0; s < layers * stages.size(); ++s) {
    const Stage& stage = stages[s % stages.size()];
    std::vector<uint32_t> made;
    for (uint32_t k = 0; k < stage.kernels; ++k) {
      made.push_back(static_cast<uint32_t>(shape.hand.size()));
      shape.hand.push_back({.kind = HandNode::Kind::busy,
                            .after = tails,
                            .offset = (s % 2 * 4 + k) * room,
                            .groups = stage.groups,
                            .rounds = stage.rounds});
    }
    tails = made;
  }
  return shape;
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
// Random lists leave the oracle's bytes, however they are planned and replayed. The oracle is the CPU in
// serial mode; where that runs no kernel, the device itself can be, one command after another.
#include "fixture.hpp"
#include "support/random_list.hpp"

namespace pianola::conformance {
namespace {

constexpr uint32_t default_lists = 1000;
constexpr uint32_t long_list = 1100;  ///< commands: more than a backend hands over in one piece

/// One way of planning and replaying; taken in turn.
struct Way {
  PlanOptions plan;
  bool native_graph = true;
  bool rebind = false;
};

Way way_of(uint64_t seed, bool synchronised) {
  Way way;
  way.plan.ordering = synchronised ? Ordering::barriers : Ordering::inferred;
  if (seed % 11 == 10) way.plan.ordering = Ordering::serial;
  if (seed % 3 == 1) way.plan.form = PlanForm::lanes;
  if (seed % 3 == 2) way.plan.form = PlanForm::waves;
  if (seed % 5 == 4) way.plan.lanes = 1 + static_cast<uint32_t>(seed % 32);
  way.plan.merge = seed % 4 != 3;
  way.native_graph = seed % 7 != 6;
  way.rebind = seed % 2 == 1;
  return way;
}

/// Memory for one list on one device. Allocations are kept from list to list.
class Stage {
 public:
  explicit Stage(Device on) : device_(std::move(on)) {}

  void reset(const RandomList& list) {
    for (size_t i = 0; i < list.memories.size(); ++i) {
      const Bytes& contents = list.memories[i].contents;
      if (i == buffers_.size()) buffers_.emplace_back();
      if (!buffers_[i] || buffers_[i].size() < contents.size()) {
        auto buffer = device_.allocate(std::max<uint64_t>(contents.size(), 1024));
        ASSERT_TRUE(succeeded(buffer));
        buffers_[i] = *buffer;
      }
      ASSERT_TRUE(succeeded(buffers_[i].write(0, contents)));
    }
  }
  std::vector<SlotBinding> bindings(const RandomList& list) const {
    std::vector<SlotBinding> result;
    for (const auto& slot : list.slots)
      result.push_back({slot.ref, buffers_[slot.memory].view(slot.offset, slot.size)});
    return result;
  }
  static std::vector<ConstantBinding> constants(const RandomList& list) {
    std::vector<ConstantBinding> result;
    for (const auto& constant : list.constants) result.emplace_back(constant.ref, constant.value);
    return result;
  }
  std::vector<Bytes> read(const RandomList& list) const {
    std::vector<Bytes> result;
    for (size_t i = 0; i < list.memories.size(); ++i) {
      result.emplace_back(list.memories[i].contents.size());
      EXPECT_TRUE(succeeded(buffers_[i].read(0, result.back())));
    }
    return result;
  }
  const Device& device() const { return device_; }

 private:
  Device device_;
  std::vector<Buffer> buffers_;
};

class RandomLists : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped()) return;
    auto serial = Device::open(run_options().oracle, {.serial = true});
    ASSERT_TRUE(succeeded(serial));
    oracle = std::make_unique<Stage>(*serial);
    first = std::make_unique<Stage>(device());
    second = std::make_unique<Stage>(device());
  }

  std::vector<Bytes> ask_oracle(const RandomList& list) const {
    oracle->reset(list);
    const SubmitInfo info{.bindings = oracle->bindings(list), .constants = Stage::constants(list)};
    const auto submission = oracle->device().queue().run(list.commands, info);
    EXPECT_TRUE(succeeded(submission));
    if (submission) {
      EXPECT_TRUE(succeeded(submission->wait()));
    }
    return oracle->read(list);
  }

  void replay(const Graph& graph, const RandomList& list, Stage& stage, bool bind, const std::vector<Bytes>& wanted) {
    stage.reset(list);
    SubmitInfo info;
    if (bind) info.bindings = stage.bindings(list);
    const auto submission = device().queue().submit(graph, info);
    ASSERT_TRUE(succeeded(submission));
    ASSERT_TRUE(succeeded(submission->wait()));
    const std::vector<Bytes> got = stage.read(list);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(same_bytes(got[i], wanted[i], "memory " + std::to_string(i)));
    }
  }

  void check_list(uint64_t seed, bool synchronised) {
    RandomListOptions options{.seed = seed, .synchronised = synchronised};
    options.commands = seed % 47 == 24 ? long_list : 5 + static_cast<uint32_t>(seed % 50);
    options.dispatch_alignment = std::max(16U, device().limits().dispatch_alignment);
    const auto list = make_random_list(kernels(), options);
    ASSERT_TRUE(succeeded(list));
    const std::vector<Bytes> wanted = ask_oracle(*list);
    const Way way = way_of(seed, synchronised);
    if (seed % 13 == 12 && synchronised) {
      first->reset(*list);
      const SubmitInfo info{.bindings = first->bindings(*list), .constants = Stage::constants(*list)};
      const auto submission = device().queue().run(list->commands, info);
      ASSERT_TRUE(succeeded(submission));
      ASSERT_TRUE(succeeded(submission->wait()));
      ASSERT_EQ(first->read(*list), wanted) << "one-shot";
      return;
    }
    first->reset(*list);
    InstantiateOptions how{.plan = way.plan, .bindings = first->bindings(*list)};
    how.constants = Stage::constants(*list);
    how.native_graph = way.native_graph;
    const Graph graph = must_instantiate(list->commands, how);
    ASSERT_TRUE(graph);
    replay(graph, *list, *first, false, wanted);
    replay(graph, *list, *first, false, wanted);
    if (!way.rebind) return;
    second->reset(*list);
    replay(graph, *list, *second, true, wanted);
    replay(graph, *list, *first, false, wanted);
  }

  void check_lists(bool synchronised) {
    const uint32_t count = run_options().lists != 0 ? run_options().lists : run_options().quick ? 100 : default_lists;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t seed = run_options().seed * 1000003 + i;
      ASSERT_NO_FATAL_FAILURE(check_list(seed, synchronised)) << "list " << seed;
      if (HasFailure()) FAIL() << "list " << seed << (synchronised ? ", synchronised" : ", inferred");
    }
  }

  std::unique_ptr<Stage> oracle, first, second;
};

TEST_F(RandomLists, SynchronisedOnesLeaveTheOraclesBytes) {
  check_lists(true);
}

TEST_F(RandomLists, UnsynchronisedOnesPlannedAsInferredLeaveTheOraclesBytes) {
  check_lists(false);
}

}  // namespace
}  // namespace pianola::conformance

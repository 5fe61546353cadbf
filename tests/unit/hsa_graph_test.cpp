// SPDX-License-Identifier: Apache-2.0
// AMD's own graph code over the stand-in HSA runtime, by its own calls: that an order which is not kept shows in the
// bytes, and that the quirk table says what is so.
#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "backend/hip/api.hpp"
#include "backend/hip/facts.hpp"
#include "sim_driver.hpp"

namespace pianola::test {
namespace {

constexpr size_t size = 4096;
constexpr int launches = 200;

/// A graph of memsets to 1 and of copies between blocks of device memory.
class HsaGraph : public ::testing::Test {
 protected:
  void SetUp() override {
    sim.set_seed(1);
    Result<const hip::Api*> loaded = driver_graph::load<hip::Vendor>(PIANOLA_SIM_AMD);
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    hip = &(*loaded)->f;
    ASSERT_EQ(hip->stream_create(&stream, hip::stream_non_blocking), hip::success);
    ASSERT_EQ(hip->graph_create(&graph, 0), hip::success);
  }
  void TearDown() override {
    if (exec != nullptr) {
      EXPECT_EQ(hip->exec_destroy(exec), hip::success);
    }
    EXPECT_EQ(hip->graph_destroy(graph), hip::success);
    EXPECT_EQ(hip->stream_destroy(stream), hip::success);
    for (void* block : blocks) EXPECT_EQ(hip->memory_free(block), hip::success);
    EXPECT_EQ(sim.complaints(), "");
  }

  std::byte* make_block() {
    void* block = nullptr;
    EXPECT_EQ(hip->memory_allocate(&block, size), hip::success);
    blocks.push_back(block);
    return static_cast<std::byte*>(block);
  }
  hip::Node add_set(std::byte* block, const std::vector<hip::Node>& after = {}) {
    hip::MemsetNodeParams params{};
    params.destination = block;
    params.value = 1;
    params.element_size = 1;
    params.width = size;
    params.height = 1;
    hip::Node node = nullptr;
    EXPECT_EQ(hip->graph_add_memset(&node, graph, after.data(), after.size(), &params), hip::success);
    return node;
  }
  hip::Node add_copy(std::byte* to, const std::byte* from, const std::vector<hip::Node>& after = {}) {
    hip::Node node = nullptr;
    EXPECT_EQ(
        hip->graph_add_copy(&node, graph, after.data(), after.size(), to, from, size, hip::CopyKind::device_to_device),
        hip::success);
    return node;
  }

  /// How many of `launches` launches, each on zeroed memory, leave something else than ones in the block.
  int wrong_launches(const std::byte* block) {
    EXPECT_EQ(hip->graph_instantiate(&exec, graph, 0), hip::success);
    int wrong = 0;
    for (int i = 0; i < launches; ++i) {
      for (void* each : blocks) EXPECT_EQ(hip->set_d8(each, 0, size, stream), hip::success);
      EXPECT_EQ(hip->stream_synchronize(stream), hip::success);
      EXPECT_EQ(hip->graph_launch(exec, stream), hip::success);
      std::vector<std::byte> got(size);
      EXPECT_EQ(hip->copy(got.data(), block, size, hip::CopyKind::device_to_host, stream), hip::success);
      EXPECT_EQ(hip->stream_synchronize(stream), hip::success);
      if (got != std::vector<std::byte>(size, std::byte{1})) ++wrong;
    }
    return wrong;
  }

  sim::SimDriver sim{PIANOLA_SIM_AMD};
  const hip::Functions* hip = nullptr;
  hip::Stream stream = nullptr;
  hip::GraphObject graph = nullptr;
  hip::Exec exec = nullptr;
  std::vector<void*> blocks;
};

TEST_F(HsaGraph, AnEdgeKeepsOrder) {
  std::byte* from = make_block();
  std::byte* to = make_block();
  const auto set = add_set(from);
  add_copy(to, from, {set});
  EXPECT_EQ(wrong_launches(to), 0);
}

TEST_F(HsaGraph, AMissingEdgeShowsInTheBytes) {
  std::byte* from = make_block();
  std::byte* to = make_block();
  add_set(from);
  add_copy(to, from);
  EXPECT_GT(wrong_launches(to), 0);
}

// first -> late, second -> early, second -> late: when the runtime comes to the last edge, it has seen `late` and has
// closed the list that `second` is in, and forgets the edge. From 6.4 on another function does this.
TEST_F(HsaGraph, TheRuntimeForgetsAnEdgeAsTheQuirkTableSays) {
  std::byte* other = make_block();
  std::byte* from = make_block();
  std::byte* copied = make_block();
  std::byte* to = make_block();
  const auto first = add_set(other);
  const auto second = add_set(from);
  add_copy(copied, from, {second});
  add_copy(to, from, {first, second});
  const bool is_lost = wrong_launches(to) > 0;
  EXPECT_EQ(is_lost, !hip::quirks_of((*driver_graph::load<hip::Vendor>(PIANOLA_SIM_AMD))->version).edges);
}

TEST_F(HsaGraph, TheRuntimeKeepsTheMemoryOfACopyNodeAsTheQuirkTableSays) {
  constexpr int rounds = 20;
  const int64_t before = sim.live_bytes();
  for (int round = 0; round < rounds; ++round) {
    std::byte* from = make_block();
    std::byte* to = make_block();
    hip::GraphObject copies = nullptr;
    hip::Exec made = nullptr;
    hip::Node node = nullptr;
    ASSERT_EQ(hip->graph_create(&copies, 0), hip::success);
    ASSERT_EQ(hip->graph_add_copy(&node, copies, nullptr, 0, to, from, size, hip::CopyKind::device_to_device),
              hip::success);
    ASSERT_EQ(hip->graph_instantiate(&made, copies, 0), hip::success);
    ASSERT_EQ(hip->graph_launch(made, stream), hip::success);
    ASSERT_EQ(hip->stream_synchronize(stream), hip::success);
    ASSERT_EQ(hip->exec_destroy(made), hip::success);
    ASSERT_EQ(hip->graph_destroy(copies), hip::success);
    for (void* block : std::exchange(blocks, {})) ASSERT_EQ(hip->memory_free(block), hip::success);
  }
  const bool is_kept = sim.live_bytes() - before > rounds * static_cast<int64_t>(size);
  EXPECT_EQ(is_kept, !hip::quirks_of((*driver_graph::load<hip::Vendor>(PIANOLA_SIM_AMD))->version).copy_nodes);
}

TEST_F(HsaGraph, AChainKeepsTheOrderThatEdgesLose) {
  std::byte* other = make_block();
  std::byte* from = make_block();
  std::byte* copied = make_block();
  std::byte* to = make_block();
  const auto first = add_set(other);
  const auto second = add_set(from, {first});
  const auto early = add_copy(copied, from, {second});
  add_copy(to, from, {early});
  EXPECT_EQ(wrong_launches(to), 0);
}

}  // namespace
}  // namespace pianola::test

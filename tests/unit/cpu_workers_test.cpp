// SPDX-License-Identifier: Apache-2.0
// Segments on several threads: each runs once, after all that it waits for.
#include "backend/cpu/workers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

namespace pianola::backend::cpu {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(engine_() % limit); }

 private:
  std::mt19937 engine_;
};

/// Segment i has one task: it copies nothing but its own byte, from the byte of a segment it waits for.
/// A byte that holds the replay's number says that its segment is done.
struct Graph {
  Program program;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
};

Graph random_graph(uint32_t count, uint32_t odds, uint32_t seed) {
  Random random(seed);
  Graph graph;
  std::vector<std::vector<uint32_t>> later(count);
  graph.program.segments.resize(count + 1);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t dep = i < 8 ? 0 : i - 8; dep < i; ++dep) {
      if (random.below(odds) != 0) continue;
      graph.edges.emplace_back(dep, i);
      later[dep].push_back(i);
      ++graph.program.segments[i].waits_for;
    }
    Task task;
    task.kind = TaskKind::copy;
    task.offset = i;
    task.size = 1;
    const bool has_dep = graph.program.segments[i].waits_for != 0;
    task.source = {.offset = has_dep ? graph.edges.back().first : 0, .slot = has_dep ? 0U : 1U};
    graph.program.tasks.push_back(task);
  }
  for (uint32_t i = 0; i < count; ++i) {
    graph.program.segments[i].first_task = i;
    graph.program.segments[i].first_successor = static_cast<uint32_t>(graph.program.successors.size());
    graph.program.successors.insert(graph.program.successors.end(), later[i].begin(), later[i].end());
  }
  graph.program.segments[count].first_task = count;
  graph.program.segments[count].first_successor = static_cast<uint32_t>(graph.program.successors.size());
  return graph;
}

/// All bytes hold `number` only if every copy came after the one it reads.
void replay_and_check(const Graph& graph, Workers& workers, SegmentState& state, uint8_t number) {
  std::vector<std::byte> bytes(graph.program.segment_count());
  std::byte source{number};
  Bindings bindings;
  bindings.slots.resize(2);
  bindings.slots[0].address = bytes.data();
  bindings.slots[1].address = &source;
  const DeviceLimits limits;
  Replay replay(graph.program, bindings, limits);
  workers.run(replay, state);
  EXPECT_FALSE(replay.take_error());
  EXPECT_EQ(std::ranges::count(bytes, std::byte{number}), static_cast<std::ptrdiff_t>(bytes.size()));
}

TEST(CpuWorkersThreads, EverySegmentRunsAfterThoseItWaitsFor) {
  for (const uint32_t threads : {1U, 2U, 4U}) {
    Workers workers(threads);
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const Graph graph = random_graph(1 + seed * 17, 2 + seed % 5, seed);
      const SegmentStatePtr state = make_segment_state(graph.program);
      for (uint8_t number = 1; number < 6; ++number) replay_and_check(graph, workers, *state, number);
    }
  }
}

TEST(CpuWorkersThreads, ChainsAndStarsRun) {
  Workers workers(2);
  const Graph chain = random_graph(3000, 1, 1);
  replay_and_check(chain, workers, *make_segment_state(chain.program), 1);
  const Graph apart = random_graph(3000, 1000000, 1);
  replay_and_check(apart, workers, *make_segment_state(apart.program), 2);
}

TEST(CpuWorkersThreads, SeveralReplaysAtOnceDoNotMeet) {
  Workers workers(2);
  const Graph graph = random_graph(200, 3, 7);
  std::vector<std::thread> callers;
  for (uint8_t t = 0; t < 3; ++t) {
    callers.emplace_back([&, t] {
      const SegmentStatePtr state = make_segment_state(graph.program);
      for (uint8_t i = 0; i < 30; ++i) replay_and_check(graph, workers, *state, static_cast<uint8_t>(1 + t * 30 + i));
    });
  }
  for (std::thread& caller : callers) caller.join();
}

/// A fill of `size` bytes in `parts` parts that all run at the same time.
Program cut_fill(uint64_t size, uint32_t parts) {
  Program program;
  program.share_count = parts;
  program.segments.resize(parts + 1);
  for (uint32_t part = 0; part < parts; ++part) {
    Task task;
    task.offset = 1;
    task.size = size;
    task.part = static_cast<uint16_t>(part);
    task.parts = static_cast<uint16_t>(parts);
    task.pattern = repeat_pattern({std::byte{1}}, 1);
    program.tasks.push_back(task);
    program.segments[part].first_task = part;
  }
  program.segments[parts].first_task = parts;
  return program;
}

TEST(CpuWorkersThreads, CutWorkIsDoneWholeAndNothingBeside) {
  Workers workers(2);
  for (uint64_t size = 1; size < 12000; size += 1 + size / 3) {
    for (const uint32_t parts : {2U, 3U, 5U}) {
      const Program program = cut_fill(size, parts);
      std::vector<std::byte> bytes(size + 2);
      Bindings bindings;
      bindings.slots.resize(1);
      bindings.slots[0].address = bytes.data();
      const DeviceLimits limits;
      const SegmentStatePtr state = make_segment_state(program);
      for (const bool is_shared : {false, true, true}) {
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
        Replay replay(program, bindings, limits);
        if (is_shared) {
          workers.run(replay, *state);
        } else {
          replay.run(program.tasks, 0);
        }
        EXPECT_EQ(std::ranges::count(bytes, std::byte{1}), static_cast<std::ptrdiff_t>(size)) << parts << " parts";
        EXPECT_EQ(bytes.front(), std::byte{0});
        EXPECT_EQ(bytes.back(), std::byte{0});
      }
    }
  }
}

TEST(CpuWorkersThreads, AWorkerStartsWithItsOwnShareAndGoesOnToTheOthers) {
  const Program program = cut_fill(64 * 64, 2);
  std::vector<std::byte> bytes(64 * 64 + 2);
  Bindings bindings;
  bindings.slots.resize(1);
  bindings.slots[0].address = bytes.data();
  const DeviceLimits limits;
  std::array<std::atomic<uint32_t>, 2> shares{};
  Replay replay(program, bindings, limits);
  replay.set_shares(shares.data());
  shares[0] = 15;  // all but its last chunk are taken
  replay.run(std::span(program.tasks).first(1), 1);
  EXPECT_EQ(std::ranges::count(std::span(bytes).first(1 + 64 * 30), std::byte{1}), 0);
  EXPECT_EQ(std::ranges::count(bytes, std::byte{1}), 64 * 34);
}

}  // namespace
}  // namespace pianola::backend::cpu

// SPDX-License-Identifier: Apache-2.0
// Which replays the CPU device takes for small where counts differ from one to the next.
#include "api/impl.hpp"
#include "backend/cpu/device.hpp"
#include "cpu_fixture.hpp"

namespace pianola {
namespace {

class CpuSmall : public CpuFixture {
 protected:
  static constexpr uint32_t most_groups = 65535;
  /// All groups take milliseconds on any machine, one of them far less than a small replay may.
  static constexpr uint32_t words_each = 64;

  static bool is_small(const Graph& graph) {
    return static_cast<const backend::cpu::CpuExecutable&>(*graph.impl()->executable).is_small();
  }

  /// A short replay may be interrupted for long, but not every time.
  template <class Replay>
  static void expect_decided_anew(const Graph& graph, Replay replay_groups) {
    const auto become_small = [&] {
      for (int i = 0; i < 1000 && !is_small(graph); ++i) replay_groups(1);
      return is_small(graph);
    };
    EXPECT_FALSE(is_small(graph)) << "nothing is known before the first replay";
    ASSERT_TRUE(become_small());
    for (int round = 0; round < 2; ++round) {
      replay_groups(most_groups);
      EXPECT_FALSE(is_small(graph));
      EXPECT_TRUE(become_small()) << "counts that shrink are measured too";
    }
  }

  const Device device = open({.threads = 1});
  const Buffer memory = words(device, most_groups* words_each);
};

TEST_F(CpuSmall, NamedCountsThatGrowAreMeasuredAgain) {
  Recorder recorder;
  const BufferRef data = recorder.buffer(memory);
  const ConstantRef groups = recorder.constant("groups", 4);
  recorder.dispatch(kernels()["multiply_add"],
                    {.groups = {groups}, .constants = {3U, 1U, most_groups * words_each}, .bindings = {data}});
  const Graph graph = instantiate(device, finish(recorder));
  expect_decided_anew(graph, [&](uint32_t count) { replay(device, graph, {.constants = {{groups, count}}}); });
}

TEST_F(CpuSmall, IndirectCountsThatGrowAreMeasuredAgain) {
  Recorder recorder;
  const BufferRef data = recorder.buffer(memory);
  Buffer counts = words(device, 3, 1);
  recorder.dispatch_indirect(kernels()["multiply_add"], recorder.buffer(counts),
                             {.constants = {3U, 1U, most_groups * words_each}, .bindings = {data}});
  const Graph graph = instantiate(device, finish(recorder));
  expect_decided_anew(graph, [&](uint32_t count) {
    ASSERT_TRUE(counts.write(0, std::vector<uint32_t>{count, 1, 1}));
    replay(device, graph);
  });
}

TEST_F(CpuSmall, ShortReplaysOfSeveralThreadsAreDoneByOne) {
  const Device two_threads = open({.threads = 2});
  Recorder recorder;
  const ConstantRef groups = recorder.constant("groups", 4);
  for (int i = 0; i < 8; ++i) {
    recorder.dispatch(kernels()["multiply_add"],
                      {.groups = {groups},
                       .constants = {3U, 1U, most_groups * words_each},
                       .bindings = {recorder.buffer(words(two_threads, most_groups * words_each))}});
  }
  const Graph graph = instantiate(two_threads, finish(recorder));
  expect_decided_anew(graph, [&](uint32_t count) { replay(two_threads, graph, {.constants = {{groups, count}}}); });
}

}  // namespace
}  // namespace pianola

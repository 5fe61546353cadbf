// SPDX-License-Identifier: Apache-2.0
// What the CPU device does with command buffers: bytes, counts, errors.
#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "cpu_fixture.hpp"
#include "format/kernel_library_writer.hpp"

namespace pianola {
namespace {

using CpuReplay = CpuFixture;
using CpuReplayThreads = CpuFixture;

constexpr uint32_t large = 1U << 20U;  // words: large enough to be cut into parts

TEST_F(CpuReplayThreads, LargeWorkIsSharedOutCompletely) {
  for (const uint32_t threads : {1U, 2U}) {
    const Device device = open({.threads = threads});
    Recorder recorder;
    const BufferRef a = recorder.buffer("a", large * 4 + 12);
    const BufferRef b = recorder.buffer("b", large * 4 + 12);
    recorder.fill(a, std::array<uint32_t, 1>{3}).barrier();
    recorder.dispatch(kernels()["numbers"], {.groups = {large / 64}, .constants = {5U, large}, .bindings = {a}});
    recorder.barrier().copy(b, a).barrier();
    recorder.dispatch(kernels()["multiply_add"],
                      {.groups = {large / 64}, .constants = {2U, 1U, large}, .bindings = {b}});
    const Buffer a_memory = words(device, large + 3);
    const Buffer b_memory = words(device, large + 3);
    const Graph graph = instantiate(device, finish(recorder), {.bindings = {{"a", a_memory}, {"b", b_memory}}});
    for (int round = 0; round < 3; ++round) replay(device, graph);
    const auto values = contents(b_memory);
    for (uint32_t i = 0; i < large; ++i) ASSERT_EQ(values[i], (5 + i) * 2 + 1) << i;
    EXPECT_EQ(values[large], 3U);
    EXPECT_EQ(values[large + 2], 3U);
  }
}

/// Random transfers with a barrier after each, done here one after the other.
struct RandomTransfers {
  static constexpr uint32_t size = 200000;

  explicit RandomTransfers(uint32_t seed) : random(seed), expected(size) {
    range = recorder.buffer("memory", size, {.alignment = 1});
    for (int i = 0; i < 60; ++i) step();
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random() % limit); }
  void step() {
    const uint32_t length = below(3) == 0 ? below(size / 2) : below(64);
    const uint32_t at = below(size - length);
    const auto first = expected.begin() + at;
    switch (below(3)) {
      case 0: {
        const uint32_t whole = length / 8 * 8;
        const uint64_t pattern = random();
        for (uint32_t i = 0; i < whole; ++i) first[i] = static_cast<uint8_t>(pattern >> (i % 8 * 8));
        recorder.fill(range.view(at, whole), pattern);
        break;
      }
      case 1: {
        std::vector<uint8_t> bytes(length);
        std::ranges::generate(bytes, [&] { return static_cast<uint8_t>(random()); });
        std::ranges::copy(bytes, first);
        recorder.update(range.view(at, length), bytes);
        break;
      }
      default: {
        const uint32_t half = std::min(length, size / 2 - 1) / 2;
        const uint32_t from = below(size / 2 - half);
        const uint32_t to = size / 2 + below(size / 2 - half);
        std::copy_n(expected.begin() + from, half, expected.begin() + to);
        recorder.copy(range.view(to, half), range.view(from, half));
      }
    }
    recorder.barrier();
  }

  std::mt19937_64 random;
  std::vector<uint8_t> expected;
  Recorder recorder;
  BufferRef range;
};

TEST_F(CpuReplayThreads, TransfersGiveTheSameBytesHoweverTheyAreOrdered) {
  const Device parallel = open({.threads = 2});
  const Device serial = open({.serial = true});
  for (uint32_t seed = 0; seed < 8; ++seed) {
    RandomTransfers made(seed);
    const CommandBuffer commands = finish(made.recorder);
    for (const auto& [device, form] : {std::pair(parallel, PlanForm::lanes), std::pair(parallel, PlanForm::waves),
                                       std::pair(serial, PlanForm::lanes), std::pair(serial, PlanForm::waves)}) {
      Buffer memory = *device.allocate(RandomTransfers::size);
      ASSERT_TRUE(memory.write(0, std::vector<uint8_t>(RandomTransfers::size)));
      const Graph graph = instantiate(device, commands, {.plan = {.form = form}, .bindings = {{"memory", memory}}});
      replay(device, graph);
      std::vector<uint8_t> bytes(RandomTransfers::size);
      ASSERT_TRUE(memory.read(0, bytes));
      ASSERT_EQ(bytes, made.expected) << "seed " << seed;
    }
  }
}

TEST_F(CpuReplay, IndirectCountsAreReadWhenTheDispatchRuns) {
  const Device device = open();
  Recorder recorder;
  const BufferRef counts = recorder.buffer("counts", 12);
  const BufferRef marks = recorder.buffer("marks", 24 * 4);
  recorder.update(counts, std::vector<uint32_t>{2, 3, 4}).barrier();
  recorder.dispatch_indirect(kernels()["mark_group"], counts, {.bindings = {marks}}).barrier();
  recorder.update(counts, std::vector<uint32_t>{7, 0, 4}).barrier();
  recorder.dispatch_indirect(kernels()["mark_group"], counts, {.bindings = {marks}});
  const Buffer memory = words(device, 24);
  const Graph graph =
      instantiate(device, finish(recorder), {.bindings = {{"counts", words(device, 3)}, {"marks", memory}}});
  replay(device, graph);
  EXPECT_EQ(contents(memory), std::vector<uint32_t>(24, 1));
  replay(device, graph);
  EXPECT_EQ(contents(memory), std::vector<uint32_t>(24, 2));
}

TEST_F(CpuReplay, IndirectCountsOverTheLimitLaunchNothingAndAreReported) {
  const Device device = open();
  Recorder recorder;
  const BufferRef counts = recorder.buffer("counts", 12);
  const BufferRef marks = recorder.buffer("marks", 8);
  recorder.fill(marks.view(4), 1U);
  recorder.dispatch_indirect(kernels()["mark_group"], counts, {.bindings = {marks}}).barrier();
  recorder.fill(marks.view(4), 2U);
  Buffer given = words(device, 3, 1);
  const Buffer memory = words(device, 2);
  const Graph graph = instantiate(device, finish(recorder), {.bindings = {{"counts", given}, {"marks", memory}}});
  ASSERT_TRUE(given.write(0, std::vector<uint32_t>{1, 65536, 1}));
  const auto submission = device.queue().submit(graph);
  ASSERT_TRUE(submission);
  const Result<> done = submission->wait();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::execution_failed);
  EXPECT_EQ(done.error().command, 1U);
  EXPECT_NE(done.error().message.find("65536"), std::string::npos);
  EXPECT_NE(done.error().message.find("65535"), std::string::npos);
  EXPECT_EQ(contents(memory), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(device.queue().wait_idle().error().code, Errc::execution_failed);
  EXPECT_TRUE(device.queue().wait_idle());
  ASSERT_TRUE(given.write(0, std::vector<uint32_t>{1, 1, 1}));
  replay(device, graph);
  EXPECT_EQ(contents(memory), (std::vector<uint32_t>{1, 2}));
}

TEST_F(CpuReplay, NamedConstantsGiveValuesAndGroupCounts) {
  const Device device = open();
  Recorder recorder;
  const BufferRef out = recorder.buffer("out", 256 * 4);
  const ConstantRef groups = recorder.constant("groups", 4);
  const ConstantRef first = recorder.constant("first", 4);
  recorder.dispatch(kernels()["numbers"], {.groups = {groups}, .constants = {first, 256U}, .bindings = {out}});
  const Buffer memory = words(device, 256);
  const Graph graph = instantiate(device, finish(recorder), {.bindings = {{out, memory}}});
  replay(device, graph, {.constants = {{groups, 2U}, {first, 100U}}});
  auto values = contents(memory);
  EXPECT_EQ(values[127], 227U);
  EXPECT_EQ(values[128], 0U);
  replay(device, graph, {.constants = {{groups, 0U}, {first, 5U}}});
  EXPECT_EQ(contents(memory), values);
  replay(device, graph, {.constants = {{groups, 4U}, {first, 5U}}});
  EXPECT_EQ(contents(memory)[255], 260U);
  const auto over = device.queue().submit(graph, {.constants = {{groups, UINT32_MAX}, {first, 5U}}});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Errc::limit_exceeded);
}

TEST_F(CpuReplay, CollectivesAreRefusedWhenTheGraphIsMade) {
  Recorder recorder;
  const BufferRef data = recorder.buffer("data", 16);
  recorder.collective({.channel = recorder.channel("all"), .send = data, .receive = data, .count = 4});
  const auto commands = recorder.finish();
  ASSERT_TRUE(commands) << to_string(commands.error());
  const auto graph = open().instantiate(*commands);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, Errc::unsupported);
  EXPECT_EQ(graph.error().command, 0U);
}

KernelLibrary library_of(ObjectFormat format, std::string arch, std::vector<std::byte> bytes) {
  format::LibraryContents contents{.name = "strange", .kernels = {{.name = "nothing"}}, .objects = {}};
  contents.objects.push_back({.format = format,
                              .arch = std::move(arch),
                              .bytes = std::move(bytes),
                              .entries = {{.kernel = 0, .symbol = "nothing"}}});
  const auto image = format::write_library(contents);
  EXPECT_TRUE(image) << to_string(image.error());
  return *KernelLibrary::from_bytes(*image);
}

Result<Graph> instantiate_one(const Device& device, const KernelLibrary& library) {
  Recorder recorder;
  recorder.barrier().dispatch(library["nothing"], {});
  return device.instantiate(*recorder.finish());
}

TEST_F(CpuReplay, LibraryWithoutHostCodeIsNamed) {
  const auto graph = instantiate_one(open(), library_of(ObjectFormat::ptx, "sm_70", std::vector<std::byte>(8)));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, Errc::missing_kernel);
  EXPECT_EQ(graph.error().command, 1U);
  EXPECT_NE(graph.error().message.find("nothing"), std::string::npos);
}

TEST_F(CpuReplay, DamagedHostCodeIsAnError) {
#if defined(__aarch64__)
  const std::string arch = "aarch64";
#else
  const std::string arch = "x86-64";
#endif
  const auto graph = instantiate_one(open(), library_of(ObjectFormat::host, arch, std::vector<std::byte>(100)));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, Errc::corrupt);
  EXPECT_EQ(graph.error().command, 1U);
}

TEST_F(CpuReplay, SmallWorkIsDoneWhenSubmitReturns) {
  const Device device = open();
  const Buffer buffer = words(device, 1);
  Recorder recorder;
  recorder.fill(recorder.buffer(buffer), 7U);
  const Graph graph = instantiate(device, finish(recorder));
  const auto submission = device.queue().submit(graph);
  ASSERT_TRUE(submission);
  EXPECT_TRUE(submission->is_done());
  EXPECT_TRUE(submission->times().empty());
  EXPECT_EQ(contents(buffer).at(0), 7U);
}

TEST_F(CpuReplayThreads, SmallWorkOfManyThreadsOnOneQueueNeverOverlaps) {
  constexpr uint32_t rounds = 300;
  const Device device = open();
  const Buffer marks = words(device, 1);
  Recorder recorder;
  recorder.dispatch(kernels()["mark_group"], {.groups = {1}, .bindings = {recorder.buffer(marks)}});
  const Graph graph = instantiate(device, finish(recorder));
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t) {
    submitters.emplace_back([&] {
      const Semaphore counts = *Semaphore::create();
      for (uint32_t i = 1; i <= rounds; ++i) {
        SubmitInfo info;
        if (i % 3 == 0) info.signal = {{counts, i}};
        replay(device, graph, info);
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  EXPECT_EQ(contents(marks).at(0), 4 * rounds);
}

TEST_F(CpuReplay, OneShotRunNeedsNoGraph) {
  const Device device = open();
  Recorder recorder;
  const BufferRef out = recorder.buffer("out", 64);
  recorder.fill(out, 9U);
  const CommandBuffer commands = finish(recorder);
  const Buffer memory = words(device, 16);
  const auto done = device.queue().run(commands, {.bindings = {{out, memory}}});
  ASSERT_TRUE(done);
  ASSERT_TRUE(done->wait());
  EXPECT_EQ(contents(memory), std::vector<uint32_t>(16, 9));
  EXPECT_EQ(device.queue().run(commands).error().code, Errc::unbound);
}

TEST_F(CpuReplay, RangesPastFourGibibytesAreReached) {
  constexpr uint64_t far = (uint64_t{1} << 32) + 12;
  const Device device = open();
  const Buffer memory = device.allocate(far + 64).value();  // pages that nobody touches take no room
  Recorder recorder;
  const BufferRef all = recorder.buffer(memory);
  recorder.fill(all.view(far, 8), 5U).update(all.view(far + 8, 4), std::array<uint32_t, 1>{9}).barrier();
  recorder.copy(all.view(0, 12), all.view(far, 12)).barrier().copy(all.view(far + 32, 12), all.view(0, 12));
  replay(device, instantiate(device, finish(recorder)));
  for (const uint64_t at : {uint64_t{0}, far, far + 32}) {
    std::array<uint32_t, 3> values{};
    ASSERT_TRUE(memory.read(at, values));
    EXPECT_EQ(values, (std::array<uint32_t, 3>{5, 5, 9})) << at;
  }
}

}  // namespace
}  // namespace pianola

// SPDX-License-Identifier: Apache-2.0
// The Metal backend over the software Metal: bad input, failures, limits, lifetimes.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <thread>

#include "metal_kernels.hpp"
#include "sim_metal.hpp"

namespace pianola::metal_test {
namespace {

class MetalBackend : public testing::Test {
 protected:
  void SetUp() override {
    sim_metal::configure({});
    sim_metal::clear_faults();
    sim_metal::take_findings();
    sim_metal::take_labels();
    open();
  }
  void TearDown() override {
    for (const auto& finding : sim_metal::take_findings()) ADD_FAILURE() << finding;
    sim_metal::configure({});
  }
  void open() {
    auto opened = Device::open("metal");
    ASSERT_TRUE(opened) << to_string(opened.error());
    device = *opened;
  }
  /// A device whose private memory the host does not see.
  void open_discrete() {
    sim_metal::configure({.unified_memory = false});
    open();
  }
  Buffer buffer(uint64_t size, MemoryKind kind = MemoryKind::device) {
    auto made = device.allocate(size, kind);
    EXPECT_TRUE(made);
    return *made;
  }
  static std::vector<uint32_t> values(const Buffer& from, size_t count) {
    std::vector<uint32_t> result(count);
    EXPECT_TRUE(from.read(0, result));
    return result;
  }
  Result<> run(Recorder& rec, const SubmitInfo& info = {}) {
    auto commands = rec.finish();
    if (!commands) return commands.error();
    auto submission = device.queue().run(*commands, info);
    if (!submission) return submission.error();
    return submission->wait();
  }
  static Dispatch add(const BufferRef& from, const BufferRef& to, uint32_t addend = 1, uint32_t n = 64) {
    return {.groups = {(n + 31) / 32}, .constants = {addend, n}, .bindings = {from, to}};
  }

  Device device;
  KernelLibrary kernels = test_kernels();
};

void expect_error(const Result<>& result, Errc code, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << to_string(result.error());
  EXPECT_NE(to_string(result.error()).find(part), std::string::npos) << to_string(result.error());
}

template <class T>
std::optional<Errc> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

/// A library with one kernel of this name and Metal source.
KernelLibrary broken(const std::string& source, uint32_t threads = 32) {
  return library_of({add_info("add", threads)}, source);
}

}  // namespace

TEST_F(MetalBackend, SourceThatDoesNotCompileGivesTheCompilersTextAndTheEntrysName) {
  Recorder rec;
  const auto x = rec.buffer(buffer(256));
  const auto y = rec.buffer(buffer(256));
  rec.dispatch(broken(prologue + std::string("kernel void add() { nosuch(); }"))["add"], add(x, y));
  const auto result = run(rec);
  expect_error(result, Errc::compile_failed, "nosuch");
  expect_error(result, Errc::compile_failed, "kernel 'add'");
}

TEST_F(MetalBackend, AMissingEntryIsNamed) {
  Recorder rec;
  const auto x = rec.buffer(buffer(256));
  const auto y = rec.buffer(buffer(256));
  rec.dispatch(broken(prologue + std::string("kernel void other(device int* p [[buffer(0)]]) { *p = 1; }"))["add"],
               add(x, y));
  expect_error(run(rec), Errc::missing_kernel, "no function 'add'");
}

TEST_F(MetalBackend, CompiledCodeGoesBeforeTextAndIsLoadedFromMemory) {
  const auto compiled = "MTLB" + (prologue + std::string(add_source));
  const auto memory = buffer(256), result = buffer(256);
  for (const bool text_first : {true, false}) {
    std::vector<MetalCode> objects = {{ObjectFormat::metallib, compiled}};
    objects.insert(text_first ? objects.begin() : objects.end(),
                   {ObjectFormat::msl, "kernel void add() { nosuch(); }"});
    Recorder rec;
    rec.dispatch(library_of({add_info("add", 32)}, objects)["add"], add(rec.buffer(memory), rec.buffer(result)));
    EXPECT_TRUE(run(rec));
  }
}

TEST_F(MetalBackend, DamagedCompiledCodeAndMissingEntriesInItAreNamed) {
  const auto run_add = [&](const std::string& bytes) {
    Recorder rec;
    const auto x = rec.buffer(buffer(256)), y = rec.buffer(buffer(256));
    rec.dispatch(library_of({add_info("add", 32)}, {MetalCode{ObjectFormat::metallib, bytes}})["add"], add(x, y));
    return run(rec);
  };
  expect_error(run_add("MTLX damaged"), Errc::compile_failed, "Invalid library file");
  expect_error(run_add("MTLX damaged"), Errc::compile_failed, "kernel 'add'");
  expect_error(run_add("MTLB" + std::string(prologue) + "kernel void other(device int* p [[buffer(0)]]) { *p = 1; }"),
               Errc::missing_kernel, "no function 'add'");
}

TEST_F(MetalBackend, AWorkgroupOverThePipelinesLimitIsRefusedWithTheLimit) {
  sim_metal::Settings small;
  small.max_threads_per_pipeline = 64;
  sim_metal::configure(small);
  Recorder rec;
  const auto x = rec.buffer(buffer(4096));
  const auto y = rec.buffer(buffer(4096));
  rec.dispatch(library_of({add_info("add", 96)}, prologue + std::string(add_source))["add"], add(x, y));
  expect_error(run(rec), Errc::limit_exceeded, "at most 64");
}

TEST_F(MetalBackend, MoreBindingsThanADeviceOfTierOneOrBeforeMetal3HasAreRefused) {
  for (const auto& old : {sim_metal::Settings{.argument_buffers = false}, sim_metal::Settings{.metal3 = false}}) {
    sim_metal::configure(old);
    open();
    Recorder rec;
    const auto one = rec.buffer(buffer(16));
    rec.fill(one, 1U);
    Dispatch dispatch{.groups = {1}, .bindings = std::vector(40, one)};
    dispatch.bindings.push_back(rec.buffer(buffer(16)));
    rec.dispatch(kernels["sum40"], dispatch);
    const auto result = run(rec);
    expect_error(result, Errc::unsupported, "kernel 'sum40' has 41 bindings; more than 30 need");
    EXPECT_EQ(result.error().command, 1U);
  }
}

// Metal rounds lengths up, and knows better than a library's record what the code itself takes.
TEST_F(MetalBackend, ThreadgroupMemoryIsCheckedAgainstThePipeline) {
  const char* source = R"(
kernel void share(device uint* to [[buffer(0)]], threadgroup uint* more [[threadgroup(0)]],
                  uint lane [[thread_index_in_threadgroup]]) {
  threadgroup uint tile[8];
  tile[lane] = lane;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  more[lane] = tile[3 - lane];
  to[lane] = more[lane];
}
)";
  for (const uint32_t bytes : {32736U, 32737U}) {
    KernelInfo info{.name = "share", .workgroup = {4, 1, 1}, .dynamic_shared_bytes = bytes};
    info.bindings = {{.name = "to", .binding = 0, .access = Access::out, .element_size = 4}};
    Recorder rec;
    rec.dispatch(library_of({info}, prologue + std::string(source))["share"],
                 {.groups = {1}, .bindings = {rec.buffer(buffer(16))}});
    const auto result = run(rec);
    if (bytes == 32736) {
      EXPECT_TRUE(result) << to_string(result.error());
    } else {
      expect_error(result, Errc::limit_exceeded, "kernel 'share' needs 32784 bytes of threadgroup memory, the device");
    }
  }
}

TEST_F(MetalBackend, AMachineWithoutMetalSaysSo) {
  sim_metal::Settings none;
  none.has_device = false;
  sim_metal::configure(none);
  const auto opened = Device::open("metal");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::no_device);
  EXPECT_EQ(opened.error().message, "this machine has no Metal device");
}

TEST_F(MetalBackend, AFailedCommandBufferFailsItsSubmissionAndWhoeverWaitsForIt) {
  Recorder rec;
  auto memory = buffer(64);
  rec.fill(rec.buffer(memory), 1U);
  const auto commands = *rec.finish();
  const auto graph = *device.instantiate(commands);
  const auto semaphore = *Semaphore::create();
  sim_metal::fail_command_buffer(0, 3);
  const auto failed = *device.queue().submit(graph, {.signal = {{semaphore, 1}}});
  const auto waiter = *device.queue(1).submit(graph, {.wait = {{semaphore, 1}}});
  expect_error(failed.wait(), Errc::execution_failed, "fault asked for");
  expect_error(waiter.wait(), Errc::dependency_failed, "");
  EXPECT_TRUE((*device.queue().submit(graph)).wait()) << "the next submission is not affected";
}

TEST_F(MetalBackend, ARemovedDeviceIsLostForGoodInEveryQueueAndCall) {
  for (const int64_t code : {11, 4}) {  // removed; taken away from this process
    open();
    auto memory = buffer(64);
    Recorder rec;
    rec.fill(rec.buffer(memory), 1U);
    const auto list = *rec.finish();
    const auto graph = *device.instantiate(list);
    sim_metal::fail_command_buffer(0, code);
    expect_error((*device.queue().submit(graph)).wait(), Errc::device_lost, "");
    expect_error((*device.queue().submit(graph)).wait(), Errc::device_lost, "");
    expect_error((*device.queue(1).submit(graph)).wait(), Errc::device_lost, "");
    EXPECT_EQ(code_of(device.allocate(64)), Errc::device_lost);
    EXPECT_EQ(code_of(device.instantiate(list)), Errc::device_lost);
    EXPECT_EQ(code_of(Buffer::import(device, {.pointer = &memory, .size = 8})), Errc::device_lost);
  }
}

TEST_F(MetalBackend, ATransferThatLosesTheDeviceLosesItForTheQueuesToo) {
  open_discrete();
  auto memory = buffer(64);
  Recorder rec;
  rec.fill(rec.buffer(memory), 1U);
  const auto graph = *device.instantiate(*rec.finish());
  sim_metal::fail_command_buffer(0, 11);
  expect_error(memory.write(0, std::vector<uint8_t>{1}), Errc::device_lost, "");
  std::vector<uint8_t> byte(1);
  expect_error(memory.read(0, byte), Errc::device_lost, "");
  expect_error((*device.queue().submit(graph)).wait(), Errc::device_lost, "");
}

TEST_F(MetalBackend, MoreThanThirtyBindingsGoThroughAnArgumentBufferThatIsReused) {
  std::vector<Buffer> inputs;
  Recorder rec;
  Dispatch dispatch{.groups = {1}};
  for (uint32_t i = 0; i < 40; ++i) {
    inputs.push_back(buffer(16));
    EXPECT_TRUE(inputs.back().write(0, std::vector<uint32_t>{i, 2 * i, 3 * i, 1}));
    dispatch.bindings.push_back(rec.buffer(inputs.back()));
  }
  dispatch.bindings.push_back(rec.buffer("out", 16));
  rec.dispatch(kernels["sum40"], dispatch);
  const auto graph = *device.instantiate(*rec.finish());
  const auto one = buffer(16), two = buffer(16);
  for (int round = 0; round < 3; ++round) {
    for (auto out : {one, two}) {
      EXPECT_TRUE((*device.queue().submit(graph, {.bindings = {{"out", out}}})).wait());
      EXPECT_EQ(values(out, 4), (std::vector<uint32_t>{780, 1560, 2340, 40}));
      EXPECT_TRUE(out.write(0, std::vector<uint32_t>(4)));
    }
  }
}

TEST_F(MetalBackend, HundredsOfSubmissionsInFlightNeverMakeMetalBlock) {
  Recorder rec;
  auto memory = buffer(256);
  const auto x = rec.buffer(memory);
  rec.dispatch(kernels["add"], add(x.view(0, 128), x.view(128), 1, 32)).barrier().copy(x.view(0, 128), x.view(128));
  ASSERT_TRUE(memory.write(0, std::vector<uint32_t>(64)));
  const auto graph = *device.instantiate(*rec.finish());
  std::vector<Submission> all;
  for (int i = 0; i < 400; ++i) all.push_back(*device.queue().submit(graph));
  for (const auto& submission : all) EXPECT_TRUE(submission.wait());
  EXPECT_EQ(values(memory, 32), std::vector<uint32_t>(32, 400));
}

TEST_F(MetalBackend, DroppingEveryHandleInFlightLosesNothing) {
  auto memory = buffer(256);
  ASSERT_TRUE(memory.write(0, std::vector<uint32_t>(64)));
  const auto semaphore = *Semaphore::create();
  Submission last;
  {
    Recorder rec;
    const auto scratch = *device.allocate(256);
    rec.fill(rec.buffer(scratch), 7U).barrier().copy(rec.buffer(memory), rec.buffer(scratch));
    const auto graph = *device.instantiate(*rec.finish());
    last = *device.queue().submit(graph, {.wait = {{semaphore, 1}}});
  }
  device = {};
  ASSERT_TRUE(semaphore.signal(1));
  EXPECT_TRUE(last.wait());
  EXPECT_EQ(values(memory, 64), std::vector<uint32_t>(64, 7));
}

TEST_F(MetalBackend, PrivateMemoryIsWrittenAndReadAtAnyByte) {
  open_discrete();
  auto memory = buffer(21);
  std::vector<uint8_t> expected(21);
  ASSERT_TRUE(memory.write(0, expected));
  for (uint64_t offset = 0; offset < 8; ++offset) {
    for (uint64_t count = 1; offset + count <= expected.size(); ++count) {
      const std::vector<uint8_t> bytes(count, static_cast<uint8_t>(16 * offset + count));
      ASSERT_TRUE(memory.write(offset, bytes));
      std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<ptrdiff_t>(offset));
      std::vector<uint8_t> back(count);
      ASSERT_TRUE(memory.read(offset, back));
      ASSERT_EQ(back, bytes);
    }
  }
  std::vector<uint8_t> all(21);
  ASSERT_TRUE(memory.read(0, all));
  EXPECT_EQ(all, expected);
}

TEST_F(MetalBackend, AHostWriteToPrivateMemoryLeavesTheBytesBesideItToOthers) {
  open_discrete();
  auto memory = buffer(64);
  ASSERT_TRUE(memory.write(0, std::vector<uint8_t>(64)));
  std::barrier together(2);
  const auto write_own_byte = [&](uint64_t at) {
    for (uint8_t round = 1; round <= 100; ++round) {
      together.arrive_and_wait();
      EXPECT_TRUE(memory.write(at, std::vector<uint8_t>{round}));
      together.arrive_and_wait();
      std::vector<uint8_t> byte(1);
      EXPECT_TRUE(memory.read(at, byte));
      EXPECT_EQ(byte[0], round) << "byte " << at;
    }
  };
  std::thread other([&] { write_own_byte(1); });
  write_own_byte(2);
  other.join();
}

TEST_F(MetalBackend, AHostWriteBesideWorkInFlightTouchesItsOwnBytesOnly) {
  open_discrete();
  auto memory = buffer(16);
  ASSERT_TRUE(memory.write(0, std::vector<uint8_t>(16)));
  Recorder rec;
  const auto x = rec.buffer(memory);
  for (uint8_t round = 0; round < 50; ++round) rec.fill(x.view(4, 3), round).barrier();
  const auto graph = *device.instantiate(*rec.finish());
  for (int round = 0; round < 10; ++round) {
    const auto submission = *device.queue().submit(graph);
    EXPECT_TRUE(memory.write(7, std::vector<uint8_t>{9}));
    EXPECT_TRUE(memory.write(3, std::vector<uint8_t>{8}));
    EXPECT_TRUE(submission.wait());
  }
  std::vector<uint8_t> bytes(8);
  ASSERT_TRUE(memory.read(0, bytes));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0, 0, 0, 8, 49, 49, 49, 9}));
}

TEST_F(MetalBackend, DebugGroupsBecomeDebugGroupsOfTheEncoder) {
  Recorder rec;
  const auto x = rec.buffer(buffer(256));
  const auto y = rec.buffer(buffer(256));
  rec.begin_debug_group("outer").dispatch(kernels["add"], add(x, y)).begin_debug_group("inner").barrier();
  rec.dispatch(kernels["add"], add(y, x)).end_debug_group().end_debug_group();
  EXPECT_TRUE(run(rec));
  EXPECT_EQ(sim_metal::take_labels(), (std::vector<std::string>{"push outer", "push inner", "pop", "pop"}));
}

TEST_F(MetalBackend, DebugGroupsAreOpenInEachEncoderThatTheyReachInto) {
  Recorder rec;
  const auto x = rec.buffer(buffer(256)), y = rec.buffer(buffer(256));
  const auto big = rec.buffer(buffer(8 << 20)), other = rec.buffer(buffer(8 << 20));
  rec.begin_debug_group("all").dispatch(kernels["add"], add(x, y)).barrier();
  rec.begin_debug_group("copying").copy(big, other).end_debug_group().barrier();
  rec.copy(other.view(0, 256), rec.buffer(buffer(256))).dispatch(kernels["add"], add(y, x)).end_debug_group();
  EXPECT_TRUE(run(rec));
  const auto labels = sim_metal::take_labels();
  EXPECT_EQ(labels, (std::vector<std::string>{"push all", "push copying", "pop", "pop",  // blit
                                              "push all", "pop"}));                      // the rest
}

TEST_F(MetalBackend, LabelsOfAnyBytesReachTheEncoder) {
  Recorder rec;
  const auto x = rec.buffer(buffer(256));
  const auto y = rec.buffer(buffer(256));
  rec.begin_debug_group("\xff").dispatch(kernels["add"], add(x, y)).end_debug_group();
  EXPECT_TRUE(run(rec));
  EXPECT_EQ(sim_metal::take_labels(), (std::vector<std::string>{"push \u00ff", "pop"}));
}

TEST_F(MetalBackend, AWordWiseFillWouldOverwriteItsNeighboursAndOursDoesNot) {
  Recorder rec;
  auto memory = buffer(16);
  ASSERT_TRUE(memory.write(0, std::vector<uint8_t>(16, 0xAA)));
  const auto x = rec.buffer(memory);
  for (uint64_t i = 1; i < 9; ++i) rec.fill(x.view(i, 1), static_cast<uint8_t>(i));  // neighbours, with no order
  EXPECT_TRUE(run(rec));
  std::vector<uint8_t> bytes(16);
  ASSERT_TRUE(memory.read(0, bytes));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0xAA, 1, 2, 3, 4, 5, 6, 7, 8, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA}));
}

}  // namespace pianola::metal_test

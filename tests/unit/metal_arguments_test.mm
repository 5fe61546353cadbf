// SPDX-License-Identifier: Apache-2.0
// How arguments reach kernels on Metal: up to 30 buffers directly, more through argument buffers, constants by
// setBytes.
#include <gtest/gtest.h>

#include <thread>

#include "metal_device_test.hpp"
#include "metal_kernels.hpp"
#include "sim_metal.hpp"

namespace pianola::metal_test {
namespace {

/// As sum_source(), with the buffers bound directly.
std::string direct_sum_source(const std::string& name, uint32_t inputs) {
  std::string parameters, sum = "0";
  for (uint32_t i = 0; i <= inputs; ++i) {
    parameters += fmt::format("device {}uint* b{} [[buffer({})]], ", i == inputs ? "" : "const ", i, i);
    if (i != inputs) sum += fmt::format(" + b{}[i]", i);
  }
  return fmt::format("kernel void {}({}uint i [[thread_position_in_grid]]) {{ b{}[i] = {}; }}\n", name, parameters,
                     inputs, sum);
}

class MetalArguments : public MetalDeviceTest {
 protected:
  Buffer buffer(const std::vector<uint32_t>& contents) const {
    auto made = device.allocate(4 * contents.size());
    EXPECT_TRUE(made && made->write(0, contents));
    return *made;
  }
  static uint32_t first(const Buffer& from) {
    std::vector<uint32_t> result(4);
    EXPECT_TRUE(from.read(0, result));
    return result[0];
  }
  void run(Recorder& rec) const {
    const auto submission = device.queue().run(*rec.finish());
    ASSERT_TRUE(submission) << to_string(submission.error());
    const auto done = submission->wait();
    EXPECT_TRUE(done) << to_string(done.error());
  }
};

}  // namespace

// S10: on both sides of what Metal binds directly, and the most there may be
TEST_F(MetalArguments, AnyNumberOfBuffersUpTo64Arrives) {
  for (const uint32_t bindings : {2U, 29U, 30U, 31U, 32U, 33U, 63U, 64U}) {
    const uint32_t inputs = bindings - 1;
    const auto source = bindings <= 30 ? direct_sum_source("sum", inputs) : sum_source("sum", inputs);
    const auto kernels = library_of({sum_info("sum", inputs)}, prologue + source);
    Recorder rec;
    Dispatch dispatch{.groups = {1}};
    for (uint32_t i = 1; i <= inputs; ++i) {
      dispatch.bindings.push_back(rec.buffer(buffer(std::vector<uint32_t>(4, i))));
    }
    const auto out = buffer(std::vector<uint32_t>(4));
    dispatch.bindings.push_back(rec.buffer(out));
    rec.dispatch(kernels["sum"], dispatch);
    run(rec);
    EXPECT_EQ(first(out), inputs * (inputs + 1) / 2) << bindings << " bindings";
  }
}

// Each encoder declares anew what its argument buffers reach, also where one kernel writes what another reads.
TEST_F(MetalArguments, BuffersBehindArgumentBuffersAreDeclaredInEachEncoderForEveryUse) {
  const auto kernels = test_kernels();
  const auto big = *device.allocate(uint64_t{8} << 20), other = *device.allocate(uint64_t{8} << 20);
  const auto x = buffer(std::vector<uint32_t>(4, 1)), y = buffer(std::vector<uint32_t>(4)),
             z = buffer(std::vector<uint32_t>(4));
  Recorder rec;
  std::vector<BufferRef> from_x(40, rec.buffer(x)), from_y(40, rec.buffer(y)), back(40, rec.buffer(z));
  from_x.push_back(rec.buffer(y));
  from_y.push_back(rec.buffer(z));
  back.push_back(rec.buffer(x));
  for (int round = 0; round < 2; ++round) {
    rec.dispatch(kernels["sum40"], {.groups = {1}, .bindings = from_x}).barrier();
    rec.dispatch(kernels["sum40"], {.groups = {1}, .bindings = from_y}).barrier();
    rec.dispatch(kernels["add"], {.constants = {2U, 4U}, .bindings = {rec.buffer(z), rec.buffer(y)}}).barrier();
    rec.copy(rec.buffer(big), rec.buffer(other)).barrier();
    rec.dispatch(kernels["sum40"], {.groups = {1}, .bindings = back}).barrier();
  }
  const auto graph = device.instantiate(*rec.finish());
  ASSERT_TRUE(graph);
  EXPECT_NE(graph->native_description().find(" 2 blits"), std::string::npos) << graph->native_description();
  EXPECT_TRUE((*device.queue().submit(*graph)).wait());
  const uint32_t once = 40U * 40 * 40;
  EXPECT_EQ(first(x), once * once);
  EXPECT_EQ(first(y), once * 40 * 40 + 2);
}

// Metal orders encoders by the memory that they declare, and a pointer declares none.
TEST_F(MetalArguments, AnOpaqueKernelMayFollowAPointerIntoAnySlot) {
  const char* source = R"(
struct Target { device uint* at; };
kernel void follow(device const Target* target [[buffer(0)]]) { *target->at += 1; }
)";
  KernelInfo follow{.name = "follow", .workgroup = {1, 1, 1}, .opaque = true};
  follow.bindings = {{.name = "target", .binding = 0, .access = Access::in, .element_size = 8}};
  const auto kernels = library_of({follow}, prologue + std::string(source));
  constexpr uint64_t big = uint64_t{8} << 20;
  const auto x = *device.allocate(big), y = *device.allocate(big);
  auto target = *device.allocate(8);
  const auto address = reinterpret_cast<uint64_t>(x.native_pointer());
  ASSERT_TRUE(target.write(0, std::span(&address, 1)));
  Recorder rec;
  const auto to = rec.buffer(x), from = rec.buffer(y);
  rec.fill(to, uint8_t{1}).barrier();
  for (int i = 0; i < 2; ++i) {
    rec.dispatch(kernels["follow"], {.groups = {1}, .bindings = {rec.buffer(target)}}).barrier();
  }
  rec.copy(from, to);
  const auto graph = device.instantiate(*rec.finish());
  ASSERT_TRUE(graph);
  EXPECT_NE(graph->native_description().find("3 encoders, 2 switches"), std::string::npos)
      << graph->native_description();
  EXPECT_TRUE((*device.queue().submit(*graph)).wait());
  EXPECT_EQ(first(y), 0x01010103U);
}

TEST_F(MetalArguments, AnEmptyRangeHasRoomForAnElementOfAnySize) {
  const char* source = R"(
struct Big { uint words[100]; };
kernel void look(device const Big* table [[buffer(0)]], device uint* to [[buffer(1)]], constant uint& n [[buffer(30)]]) {
  to[0] = n == 0 ? 7 : table[n - 1].words[0];
}
)";
  KernelInfo look{.name = "look", .constant_bytes = 4, .workgroup = {1, 1, 1}};
  look.bindings = {{.name = "table", .binding = 0, .access = Access::in, .element_size = 400},
                   {.name = "to", .binding = 1, .access = Access::out, .element_size = 4}};
  look.constants = {{"n", 0, 4}};
  const auto x = buffer(std::vector<uint32_t>(4)), table = buffer(std::vector<uint32_t>(16));
  Recorder rec;
  rec.dispatch(library_of({look}, prologue + std::string(source))["look"],
               {.groups = {1}, .constants = {0U}, .bindings = {rec.buffer(table).view(0, 0), rec.buffer(x)}});
  run(rec);
  EXPECT_EQ(first(x), 7U);
}

TEST_F(MetalArguments, OneGraphWithArgumentBuffersIsSubmittedByManyThreadsWithBindingsOfTheirOwn) {
  const auto x = buffer(std::vector<uint32_t>(4, 1));
  Recorder rec;
  const auto out = rec.buffer("out", 16);
  std::vector<BufferRef> bindings(40, rec.buffer(x));
  bindings.push_back(out);
  rec.dispatch(test_kernels()["sum40"], {.groups = {1}, .bindings = bindings});
  const Graph graph = *device.instantiate(*rec.finish());
  std::vector<Buffer> results;
  for (int i = 0; i < 8; ++i) results.push_back(buffer(std::vector<uint32_t>(4)));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const auto submission = device.queue(i % 2).submit(graph, {.bindings = {{out, results[i]}}});
        EXPECT_TRUE(submission && submission->wait());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const Buffer& result : results) EXPECT_EQ(first(result), 40U);
}

TEST_F(MetalArguments, ConstantsThatAreSetAreNotSetAgain) {
  const auto kernels = test_kernels();
  const auto x = buffer(std::vector<uint32_t>(32)), y = buffer(std::vector<uint32_t>(32));
  Recorder rec;
  const BufferRef a = rec.buffer(x), b = rec.buffer(y);
  const auto add = [&](uint32_t addend, const BufferRef& from, const BufferRef& to) {
    rec.dispatch(kernels["add"], {.constants = {addend, 32U}, .bindings = {from, to}}).barrier();
  };
  for (int i = 0; i < 3; ++i) {
    add(1, a, b);
    add(1, b, a);
  }
  add(5, a, b);
  rec.fill(a.view(1, 2), uint8_t{0}).barrier();  // a kernel with constants of its own
  add(5, b, a);
  add(5, a, b);
  sim_metal::reset_counts();
  run(rec);
  const auto counts = sim_metal::counts();
  EXPECT_EQ(counts.dispatches, 10U);
  EXPECT_EQ(counts.bytes_set, 16U + 16 + 48 + 16) << "of two dispatches, a fill, a dispatch";
  EXPECT_EQ(first(y), 6U + 5 + 5 + 5);
}

// S8: equal bytes at the front do not make equal constants.
TEST_F(MetalArguments, ConstantsOfAnotherLengthAreSet) {
  const char* source = R"(
struct Long { uint v[8]; };
kernel void one(device uint* to [[buffer(0)]], constant uint& c [[buffer(30)]]) { to[0] = c; }
kernel void eight(device uint* to [[buffer(0)]], constant Long& c [[buffer(30)]]) { to[0] = c.v[0] + c.v[7]; }
)";
  KernelInfo one{.name = "one", .constant_bytes = 4, .workgroup = {1, 1, 1}};
  one.bindings = {{.name = "to", .binding = 0, .access = Access::out, .element_size = 4}};
  one.constants = {{"c", 0, 4}};
  KernelInfo eight = one;
  eight.name = "eight";
  eight.constant_bytes = 32;
  eight.constants = {{"c", 0, 32}};
  const auto kernels = library_of({one, eight}, prologue + std::string(source));
  std::vector<Buffer> results;
  Recorder rec;
  const ConstantRef named = rec.constant("groups", 4);
  for (uint32_t i = 0; i < 6; ++i) results.push_back(buffer(std::vector<uint32_t>(4)));
  const std::array<uint32_t, 8> values = {7, 0, 0, 0, 0, 0, 0, 9};
  rec.dispatch(kernels["one"], {.constants = {7U}, .bindings = {rec.buffer(results[0])}});
  rec.dispatch(kernels["eight"], {.constants = {values}, .bindings = {rec.buffer(results[1])}});
  rec.dispatch(kernels["one"], {.constants = {7U}, .bindings = {rec.buffer(results[2])}});
  rec.dispatch(kernels["eight"], {.constants = {values}, .bindings = {rec.buffer(results[3])}});
  rec.dispatch(kernels["one"], {.groups = {named}, .constants = {3U}, .bindings = {rec.buffer(results[4])}});  // none
  rec.dispatch(kernels["one"], {.constants = {3U}, .bindings = {rec.buffer(results[5])}});
  const auto submission = device.queue().run(*rec.finish(), {.constants = {{"groups", 0U}}});
  ASSERT_TRUE(submission && submission->wait());
  std::vector<uint32_t> got;
  for (const Buffer& result : results) got.push_back(first(result));
  EXPECT_EQ(got, (std::vector<uint32_t>{7, 16, 7, 16, 0, 3}));
}

}  // namespace pianola::metal_test

// SPDX-License-Identifier: Apache-2.0
// What one replay asks of Metal, as the software device counts it: usages, kinds of barriers and encoders, blits by the
// device's rules, and how free rebinding is.
#include "metal_device_test.hpp"
#include "metal_kernels.hpp"

namespace pianola::metal_test {
namespace {

class MetalCounts : public MetalDeviceTest {
 protected:
  void open(const sim_metal::Settings& settings) {
    sim_metal::configure(settings);
    device = *Device::open("metal");
  }
  Buffer buffer(uint64_t size = 256) const { return *device.allocate(size); }
  static Dispatch add(const BufferRef& from, const BufferRef& to) {
    return {.groups = {2}, .constants = {1U, 64U}, .bindings = {from, to}};
  }
  /// Of a replay. Instantiating is over before it.
  sim_metal::Counts counts_of(Recorder& rec) const {
    const auto graph = *device.instantiate(*rec.finish());
    sim_metal::reset_counts();
    EXPECT_TRUE((*device.queue().submit(graph)).wait());
    return sim_metal::counts();
  }
  KernelLibrary kernels = test_kernels();
};

/// `to[0] = at[0]` through a pointer; what it reaches is to be told by `.uses`.
KernelLibrary following_kernel(bool opaque) {
  const char* source = R"(
struct Target { device const uint* at; };
kernel void follow(device const Target* target [[buffer(0)]], device uint* to [[buffer(1)]]) { *to = *target->at; }
)";
  KernelInfo info{.name = "follow", .workgroup = {1, 1, 1}, .opaque = opaque};
  info.bindings = {{.name = "target", .binding = 0, .access = Access::in, .element_size = 8},
                   {.name = "to", .binding = 1, .access = Access::out, .element_size = 4}};
  return library_of({info}, prologue + std::string(source));
}

}  // namespace

TEST_F(MetalCounts, BuffersBehindAnArgumentBufferAreDeclaredForWhatTheKernelDoesAndOnce) {
  Recorder rec;
  Dispatch dispatch{.groups = {1}};
  for (int i = 0; i < 41; ++i) dispatch.bindings.push_back(rec.buffer(buffer(16)));
  rec.dispatch(kernels["sum40"], dispatch).barrier().dispatch(kernels["sum40"], dispatch);
  const auto counts = counts_of(rec);
  EXPECT_EQ(counts.dispatches, 2U);
  EXPECT_EQ(counts.used_to_read, 40U);
  EXPECT_EQ(counts.used_to_write, 1U);
}

TEST_F(MetalCounts, UsesAreDeclaredAsTheyAreGivenAndEverySlotForAnOpaqueKernel) {
  const auto far = buffer(16), to = buffer(16), other = buffer(16);
  auto target = buffer(8);
  const auto address = reinterpret_cast<uint64_t>(far.native_pointer());
  ASSERT_TRUE(target.write(0, std::span(&address, 1)));
  for (const bool opaque : {false, true}) {
    Recorder rec;
    rec.fill(rec.buffer(other), 1U);
    Dispatch dispatch{.groups = {1}, .bindings = {rec.buffer(target), rec.buffer(to)}};
    const auto pointed_at = rec.buffer(far);
    if (!opaque) dispatch.uses = {{pointed_at, Access::in}};
    rec.dispatch(following_kernel(opaque)["follow"], dispatch);
    const auto counts = counts_of(rec);
    EXPECT_EQ(counts.used_to_read, opaque ? 4U : 1U);
    EXPECT_EQ(counts.used_to_write, opaque ? 4U : 0U);
  }
}

TEST_F(MetalCounts, ABarrierNamesUpToEightBuffersAndMoreAreEverything) {
  for (const uint32_t total : {1U, 8U, 9U}) {
    Recorder rec;
    std::vector<BufferRef> written;
    for (uint32_t i = 0; i < total; ++i) written.push_back(rec.buffer(buffer()));
    for (const auto& to : written) rec.dispatch(kernels["add"], add(rec.buffer(buffer()), to));
    rec.barrier();
    for (const auto& from : written) rec.dispatch(kernels["add"], add(from, rec.buffer(buffer())));
    const auto counts = counts_of(rec);
    EXPECT_EQ(counts.dispatches, 2 * total);
    EXPECT_EQ(counts.barriers, 1U);
    EXPECT_EQ(counts.scope_barriers, total > 8 ? 1U : 0U) << total << " buffers";
  }
}

TEST_F(MetalCounts, DiscreteDevicesGetSerialEncodersWithoutBarriers) {
  for (const bool unified : {true, false}) {
    open({.unified_memory = unified});
    Recorder rec;
    std::vector<BufferRef> chain;
    for (int i = 0; i < 4; ++i) chain.push_back(rec.buffer(buffer()));
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      rec.dispatch(kernels["add"], add(chain[i], chain[i + 1])).barrier();
    }
    rec.fill(chain[0].view(1, 3), uint8_t{1});
    const auto counts = counts_of(rec);
    EXPECT_EQ(counts.compute_encoders, 1U);
    EXPECT_EQ(counts.concurrent_encoders, unified ? 1U : 0U);
    EXPECT_EQ(counts.barriers, unified ? 2U : 0U);
  }
}

TEST_F(MetalCounts, AppleDevicesBlitAtAnyByteAndOthersAtMultiplesOfFour) {
  for (const auto rule : {sim_metal::AlignmentRule::mac, sim_metal::AlignmentRule::apple}) {
    open({.alignment = rule});
    const bool is_apple = rule == sim_metal::AlignmentRule::apple;
    for (const auto& [to_offset, from_offset, size] :
         {std::tuple{0, 0, 64}, {4, 8, 60}, {1, 0, 64}, {0, 2, 64}, {0, 0, 63}}) {
      const bool blits = is_apple || (to_offset | from_offset | size) % 4 == 0;
      const auto at = [](int offset) { return static_cast<uint64_t>(offset); };
      Recorder rec;
      const auto to = rec.buffer(buffer()).view(at(to_offset), at(size));
      rec.copy(to, rec.buffer(buffer()).view(at(from_offset), at(size)));
      EXPECT_EQ(counts_of(rec).copies, blits ? 1U : 0U) << to_offset << " " << from_offset << " " << size;
      if (from_offset != 0) continue;
      Recorder fill;
      fill.fill(fill.buffer(buffer()).view(at(to_offset), at(size)), uint8_t{7});
      EXPECT_EQ(counts_of(fill).fills, blits ? 1U : 0U) << to_offset << " " << size;
    }
  }
}

TEST_F(MetalCounts, APatternOfOneRepeatedByteIsABlitAndAnyOtherAKernel) {
  for (const auto& [pattern, blits] : {std::pair{0x07070707U, 1U}, {0x07070708U, 0U}, {0x08070707U, 0U}, {0U, 1U}}) {
    Recorder rec;
    rec.fill(rec.buffer(buffer()), pattern);
    const auto counts = counts_of(rec);
    EXPECT_EQ(counts.fills, blits) << std::hex << pattern;
    EXPECT_EQ(counts.dispatches, 1 - blits) << std::hex << pattern;
  }
}

TEST_F(MetalCounts, RebindingCostsNothing) {
  Recorder rec;
  const auto x = rec.buffer("x", 256), y = rec.buffer("y", 256);
  rec.update(x.view(128), std::vector<uint32_t>(32, 5)).barrier();
  for (int i = 0; i < 3; ++i) {
    rec.dispatch(kernels["add"], add(x, y)).barrier().fill(x.view(1, 3), uint8_t{1}).copy(x.view(8, 8), y.view(0, 8));
    rec.barrier();
  }
  const std::vector<Buffer> buffers = {buffer(), buffer(), buffer(), buffer(), buffer()};
  const auto graph = *device.instantiate(*rec.finish(), {.bindings = {{"x", buffers[0]}, {"y", buffers[1]}}});
  const auto cost_of = [&](const SubmitInfo& info) {
    sim_metal::reset_counts();
    const uint32_t before = sim_metal::fallible_calls();
    EXPECT_TRUE((*device.queue().submit(graph, info)).wait());
    return std::pair(sim_metal::counts(), sim_metal::fallible_calls() - before);
  };
  cost_of({});
  const auto [counts, calls] = cost_of({});
  EXPECT_EQ(counts.dispatches, 10U);
  EXPECT_EQ(calls, 2U) << "a command buffer and an encoder";
  for (const auto& [x_now, y_now] : {std::pair{2, 3}, {2, 3}, {1, 0}, {3, 4}}) {
    const auto at = [&](int index) { return buffers[static_cast<size_t>(index)]; };
    const auto [now, calls_now] = cost_of({.bindings = {{"x", at(x_now)}, {"y", at(y_now)}}});
    EXPECT_TRUE(now == counts) << x_now << " and " << y_now;
    EXPECT_EQ(calls_now, calls) << x_now << " and " << y_now;
  }
}

}  // namespace pianola::metal_test

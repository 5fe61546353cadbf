// SPDX-License-Identifier: Apache-2.0
// Slots and named constants: which value wins, and what is refused. Errors name the slot.
#include "api/bindings.hpp"

#include <cstring>

#include "api/limits.hpp"
#include "pianola/recorder.hpp"

namespace pianola {
namespace {

class Bindings : public ::testing::Test {
 protected:
  void SetUp() override {
    device = *Device::open("null");
    first = *device.allocate(4096);
    second = *device.allocate(4096, MemoryKind::upload);
    graph.device = device.impl();
  }
  /// Slots "x" (64 bytes, written) and "y" (64 bytes, read), constants "n" (4 bytes) and "wide" (16 bytes).
  void record(const SlotOptions& options = {}) {
    Recorder recorder;
    x = recorder.buffer("x", 64, options);
    y = recorder.buffer("y", 64, options);
    recorder.constant("n", 4);
    recorder.constant("wide", 16);
    recorder.copy(x, y);
    graph.commands = *recorder.finish();
  }
  Result<> defaults(std::vector<SlotBinding> slots, std::vector<ConstantBinding> constants = {}) {
    InstantiateOptions options;
    options.bindings = std::move(slots);
    options.constants = std::move(constants);
    return set_default_bindings(graph, options);
  }
  Result<std::shared_ptr<const backend::Bindings>> resolve(std::vector<SlotBinding> slots,
                                                           std::vector<ConstantBinding> constants = {}) const {
    return resolve_bindings(graph, slots, constants);
  }
  static std::vector<ConstantBinding> both_constants() {
    return {{"n", uint32_t{7}}, {"wide", std::array<uint32_t, 4>{1, 2, 3, 4}}};
  }
  template <class R>
  static void expect_error(const R& result, Errc code, std::string_view part) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  }

  Device device;
  Buffer first;
  Buffer second;
  Graph::Impl graph;
  BufferRef x;
  BufferRef y;
};

TEST_F(Bindings, LastOneGivenWins) {
  record();
  ASSERT_TRUE(defaults({{x, first}, {y, second}}, both_constants()));
  EXPECT_TRUE(graph.complete);
  EXPECT_EQ(resolve({})->get(), graph.defaults.get());
  const auto rebound = resolve({{y, second}, {"y", first.view(256, 64)}});
  ASSERT_TRUE(rebound);
  EXPECT_EQ((*rebound)->slots[0].address, first.native_pointer());
  EXPECT_EQ((*rebound)->slots[1].address, static_cast<std::byte*>(first.native_pointer()) + 256);
  EXPECT_EQ((*rebound)->slots[1].offset, 256U);
  EXPECT_EQ(graph.defaults->slots[1].address, second.native_pointer());
}

TEST_F(Bindings, ConstantsAreOverriddenOneByOne) {
  record();
  ASSERT_TRUE(defaults({{x, first}, {y, second}}, both_constants()));
  const auto rebound = resolve({}, {{"n", uint32_t{9}}});
  ASSERT_TRUE(rebound);
  std::array<uint32_t, 5> words{};
  std::memcpy(&words[0], (*rebound)->constants.data() + (*rebound)->constant_offset[0], 4);
  std::memcpy(&words[1], (*rebound)->constants.data() + (*rebound)->constant_offset[1], 16);
  EXPECT_EQ(words, (std::array<uint32_t, 5>{9, 1, 2, 3, 4}));
}

TEST_F(Bindings, UnboundSlotIsNamed) {
  record();
  ASSERT_TRUE(defaults({{x, first}}, both_constants()));
  expect_error(resolve({}), Errc::unbound, "'y'");
  EXPECT_TRUE(resolve({{y, second}}));
}

TEST_F(Bindings, ConstantWithoutAValueIsNamed) {
  record();
  ASSERT_TRUE(defaults({{x, first}, {y, second}}, {{"n", uint32_t{1}}}));
  expect_error(resolve({}), Errc::unbound, "'wide'");
}

TEST_F(Bindings, UnknownSlotsAndConstantsAreRefused) {
  record();
  expect_error(defaults({{"z", first}}), Errc::invalid_argument, "'z'");
  expect_error(defaults({{SlotId{2}, first}}), Errc::invalid_argument, "2");
  expect_error(defaults({}, {{"m", 1}}), Errc::invalid_argument, "'m'");
  expect_error(defaults({}, {{ConstantId{2}, 1}}), Errc::invalid_argument, "2");
}

TEST_F(Bindings, TooSmallARangeIsRefusedWithBothSizes) {
  record();
  expect_error(defaults({{x, first.view(0, 63)}}), Errc::out_of_range, "needs 64 bytes, not 63");
  EXPECT_TRUE(defaults({{x, first.view(4096 - 256)}}));
}

TEST_F(Bindings, ViewPastItsBufferIsRefused) {
  record();
  expect_error(defaults({{x, first.view(4096 - 256, 257)}}), Errc::out_of_range, "4096");
  expect_error(defaults({{x, first.view(8192)}}), Errc::out_of_range, "8192");
  expect_error(defaults({{x, first.view(256, whole_size - 100)}}), Errc::out_of_range, "4096");
}

TEST_F(Bindings, MisalignedAddressIsRefused) {
  record({.alignment = 16});
  expect_error(defaults({{x, first.view(8, 64)}}), Errc::misaligned, "16");
  EXPECT_TRUE(defaults({{x, first.view(48, 64)}}));
}

TEST_F(Bindings, WrongMemoryKindIsRefused) {
  record({.kind = MemoryKind::upload});
  expect_error(defaults({{x, first}}), Errc::mismatch, "upload");
  EXPECT_TRUE(defaults({{x, second}}));
}

TEST_F(Bindings, BufferOfAnotherDeviceIsRefused) {
  record();
  const Device other = *Device::open("null");
  expect_error(defaults({{x, *other.allocate(64)}}), Errc::invalid_argument, "another device");
  expect_error(defaults({{x, Buffer()}}), Errc::invalid_argument, "empty");
}

TEST_F(Bindings, OverlapWithAWrittenSlotIsRefused) {
  record({.alignment = 4});
  expect_error(defaults({{x, first}, {y, first.view(60, 64)}}), Errc::overlap, "'y'");
  EXPECT_TRUE(defaults({{x, first}, {y, first.view(64, 64)}}));
}

TEST_F(Bindings, SlotsThatMayAliasMayOverlap) {
  record({.may_alias = true});
  EXPECT_TRUE(defaults({{x, first}, {y, first}}, both_constants()));
}

TEST_F(Bindings, OverlapIsFoundBetweenDefaultsAndWhatIsGiven) {
  record();
  ASSERT_TRUE(defaults({{x, first}, {y, second}}, both_constants()));
  expect_error(resolve({{y, first}}), Errc::overlap, "'x'");
  EXPECT_TRUE(resolve({{x, second}, {y, first}}));
}

TEST_F(Bindings, ConstantSizeIsExact) {
  record();
  expect_error(defaults({}, {{"n", uint64_t{1}}}), Errc::mismatch, "4 bytes, not 8");
  expect_error(defaults({}, {{"wide", uint32_t{1}}}), Errc::mismatch, "16 bytes, not 4");
}

TEST_F(Bindings, GroupCountFromAConstantIsChecked) {
  record();
  graph.named_groups.push_back({.constant = ConstantId{0}, .dimension = 1, .command = 5});
  ASSERT_TRUE(defaults({{x, first}, {y, second}}, both_constants()));
  expect_error(resolve({}, {{"n", uint32_t{65536}}}), Errc::limit_exceeded, "65535");
  EXPECT_EQ(resolve({}, {{"n", uint32_t{65536}}}).error().command, 5U);
  EXPECT_TRUE(resolve({}, {{"n", uint32_t{65535}}}));
}

TEST_F(Bindings, BuffersLiveAsLongAsTheBindings) {
  record();
  ASSERT_TRUE(defaults({{x, first}, {y, second}}, both_constants()));
  const std::weak_ptr<Buffer::Impl> watch = first.impl();
  first = Buffer();
  EXPECT_FALSE(watch.expired());
  graph.defaults.reset();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace pianola

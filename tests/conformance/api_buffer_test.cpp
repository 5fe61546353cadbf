// SPDX-License-Identifier: Apache-2.0
// Memory and devices: allocation, host access, import, and what open() and list_devices() say.
#include <algorithm>
#include <set>

#include "fixture.hpp"

namespace pianola::conformance {
namespace {

class ApiBuffer : public ApiTest {};

TEST_F(ApiBuffer, EveryKindIsReadBackAsWritten) {
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::upload, MemoryKind::readback}) {
    for (const size_t size : {1U, 3U, 255U, 4096U, 100001U}) {
      const Bytes contents = pattern_bytes(size, static_cast<uint32_t>(size));
      const Buffer buffer = make_buffer(contents, kind);
      EXPECT_EQ(buffer.size(), size);
      EXPECT_EQ(buffer.kind(), kind);
      EXPECT_TRUE(same_bytes(read_bytes(buffer), contents));
    }
  }
}

TEST_F(ApiBuffer, PartsAreWrittenAndReadAtAnyOffset) {
  Buffer buffer = make_buffer(Bytes(64));
  Bytes wanted(64);
  for (const uint64_t offset : {0U, 1U, 7U, 30U, 57U}) {
    const Bytes piece = pattern_bytes(7, static_cast<uint32_t>(offset));
    EXPECT_TRUE(succeeded(buffer.write(offset, piece)));
    std::copy(piece.begin(), piece.end(), wanted.begin() + static_cast<std::ptrdiff_t>(offset));
    Bytes got(7);
    EXPECT_TRUE(succeeded(buffer.read(offset, got)));
    EXPECT_TRUE(same_bytes(got, piece));
  }
  EXPECT_TRUE(same_bytes(read_bytes(buffer), wanted));
  EXPECT_TRUE(succeeded(buffer.write(64, Bytes())));
  Bytes nothing;
  EXPECT_TRUE(succeeded(buffer.read(0, nothing)));
}

TEST_F(ApiBuffer, AccessPastTheEndIsOutOfRange) {
  Buffer buffer = make_buffer(Bytes(64));
  Bytes bytes(8);
  for (const uint64_t offset : {uint64_t{57}, uint64_t{64}, uint64_t{1000}, whole_size - 3}) {
    const ErrorText text{.parts = {"8", std::to_string(offset), "64"}};
    EXPECT_TRUE(fails_with(buffer.write(offset, bytes), Errc::out_of_range, text));
    EXPECT_TRUE(fails_with(buffer.read(offset, bytes), Errc::out_of_range, text));
  }
}

TEST_F(ApiBuffer, SizesThatCannotBeAreRefused) {
  EXPECT_TRUE(fails_with(device().allocate(0), Errc::invalid_argument, {.parts = {"0"}}));
  const uint64_t most = device().limits().max_buffer_size;
  ASSERT_GE(most, uint64_t{1} << 27);
  if (most == UINT64_MAX) return;
  const ErrorText text{.parts = {std::to_string(most + 1), std::to_string(most)}};
  EXPECT_TRUE(fails_with(device().allocate(most + 1), Errc::limit_exceeded, text));
}

TEST_F(ApiBuffer, MemoryIsAlignedAsSlotsAskByDefault) {
  for (int i = 0; i < 10; ++i) {
    const Buffer buffer = make_buffer(Bytes(static_cast<size_t>(1 + 33 * i)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.native_pointer()) % default_slot_alignment, 0U);
  }
}

TEST_F(ApiBuffer, HostKindsAreMapped) {
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::upload, MemoryKind::readback}) {
    const Bytes contents = pattern_bytes(100, 4);
    Buffer buffer = make_buffer(contents, kind);
    auto mapped = buffer.map();
    if (kind == MemoryKind::device && !device().limits().unified_memory) {
      if (mapped) continue;
      EXPECT_TRUE(fails_with(mapped, Errc::unsupported));
      continue;
    }
    ASSERT_TRUE(succeeded(mapped));
    EXPECT_TRUE(same_bytes(*mapped, contents));
    std::fill(mapped->begin(), mapped->end(), std::byte{9});
    EXPECT_TRUE(same_bytes(read_bytes(buffer), Bytes(100, std::byte{9})));
  }
}

TEST_F(ApiBuffer, ImportedMemoryIsUsedInPlaceAndKeptByItsOwner) {
  // Memory that the device reaches and that somebody else owns: another buffer's.
  const auto owner = std::make_shared<Buffer>(make_buffer(pattern_bytes(256, 5)));
  const NativeMemory memory{.pointer = owner->native_pointer(), .size = owner->size(), .owner = owner};
  auto imported = Buffer::import(device(), memory);
  if (!imported && imported.error().code == Errc::unsupported) GTEST_SKIP() << to_string(imported.error());
  ASSERT_TRUE(succeeded(imported));
  EXPECT_GE(owner.use_count(), 3);
  Recorder rec;
  rec.fill(rec.buffer("x", 256, {.alignment = 1}), uint8_t{7});
  const auto submission = device().queue().run(must_finish(rec), {.bindings = {{"x", *imported}}});
  ASSERT_TRUE(succeeded(submission));
  EXPECT_TRUE(succeeded(submission->wait()));
  EXPECT_TRUE(same_bytes(read_bytes(*owner), Bytes(256, std::byte{7})));
  *imported = Buffer();
  EXPECT_EQ(owner.use_count(), 2) << "only the test's own copies are left";
}

TEST_F(ApiBuffer, NothingCannotBeImported) {
  Bytes bytes(16);
  EXPECT_TRUE(fails_with(Buffer::import(device(), {.pointer = nullptr, .size = 16}), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(Buffer::import(device(), {.pointer = bytes.data(), .size = 0}), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(Buffer::import(device(), {.pointer = bytes.data(), .size = UINT64_MAX}), Errc::out_of_range));
}

TEST_F(ApiBuffer, AnEmptyHandleSaysSo) {
  Buffer empty;
  Bytes bytes(4);
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_TRUE(fails_with(empty.write(0, bytes), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(empty.read(0, bytes), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(empty.map(), Errc::invalid_argument));
}

class ApiDevice : public ApiTest {};

TEST_F(ApiDevice, IsListedByItsName) {
  const std::vector<DeviceDescription> all = list_devices();
  EXPECT_FALSE(all.empty());
  for (const DeviceDescription& line : all) {
    EXPECT_FALSE(line.spec.empty());
    EXPECT_EQ(line.available, line.reason.empty()) << line.spec << ": " << line.reason;
  }
  if (!run_options().device_options.driver_path.empty()) return;
  const auto own = std::find_if(all.begin(), all.end(), [](const auto& line) { return line.spec == device().spec(); });
  ASSERT_NE(own, all.end()) << device().spec();
  EXPECT_TRUE(own->available);
  EXPECT_EQ(own->name, device().name());
}

TEST_F(ApiDevice, SaysWhatItIs) {
  EXPECT_EQ(device().spec(), run_options().device);
  EXPECT_FALSE(device().name().empty());
  EXPECT_GE(device().queue_count(), 1U);
  EXPECT_FALSE(device().profile().name.empty());
  EXPECT_GE(device().limits().max_workgroup_threads, 64U);
}

TEST_F(ApiDevice, UnknownNamesAreRefused) {
  for (const char* name : {"", "no_such", "cpu2", ":0", "cpu:x", "cpu:", "cpu:-1", "cpu:99999999999999999999"}) {
    EXPECT_TRUE(fails_with(Device::open(name), Errc::invalid_argument, {.parts = {name}})) << name;
  }
}

TEST_F(ApiDevice, ADeviceThatIsNotThereIsNoDevice) {
  const std::string backend = run_options().device.substr(0, run_options().device.find(':'));
  const auto opened = Device::open(backend + ":4000", run_options().device_options);
  EXPECT_TRUE(fails_with(opened, Errc::no_device, {.parts = {backend, "4000"}}));
}

TEST_F(ApiDevice, ABackendThatThisBuildLacksIsNoDevice) {
  const std::vector<DeviceDescription> all = list_devices();
  for (const std::string name : {"metal", "vulkan", "cuda", "hip"}) {
    if (std::ranges::any_of(all, [&](const auto& line) { return line.spec.starts_with(name); })) continue;
    for (const std::string& spec : {name, name + ":0"}) {
      EXPECT_TRUE(fails_with(Device::open(spec), Errc::no_device, {.parts = {spec, "this build"}}));
    }
    EXPECT_TRUE(fails_with(Device::open(name + ":x"), Errc::invalid_argument, {.parts = {name}}));
  }
}

TEST_F(ApiDevice, EveryListedSpecOpensTheDeviceOfThatSpec) {
  std::set<std::string> seen;
  for (const DeviceDescription& line : list_devices()) {
    EXPECT_TRUE(seen.insert(line.spec).second) << line.spec << " is listed twice";
    if (!line.available) continue;
    const auto opened = Device::open(line.spec);
    ASSERT_TRUE(succeeded(opened)) << line.spec;
    EXPECT_EQ(opened->spec(), line.spec);
  }
}

TEST_F(ApiDevice, AutoGivesADeviceThatWorks) {
  const auto any = Device::open("auto");
  ASSERT_TRUE(succeeded(any));
  const auto buffer = any->allocate(16);
  ASSERT_TRUE(succeeded(buffer));
  Recorder rec;
  rec.fill(rec.buffer(*buffer), uint32_t{5});
  const auto submission = any->queue().run(must_finish(rec));
  ASSERT_TRUE(succeeded(submission));
  EXPECT_TRUE(succeeded(submission->wait()));
  EXPECT_EQ(read_values<uint32_t>(*buffer), repeated(5, 4));
}

}  // namespace
}  // namespace pianola::conformance

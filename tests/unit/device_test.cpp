// SPDX-License-Identifier: Apache-2.0
// Opening devices, allocating and reaching memory.
#include "pianola/device.hpp"

#include <algorithm>
#include <numeric>

namespace pianola {
namespace {

TEST(Device, AutoGivesOneThatComputes) {
  const auto device = Device::open("auto");
  ASSERT_TRUE(device);
  EXPECT_NE(device->spec(), "null");
}

TEST(Device, SpecsNameBackendAndIndex) {
  EXPECT_EQ(Device::open("cpu")->spec(), "cpu");
  EXPECT_EQ(Device::open("cpu:0")->spec(), "cpu");
  EXPECT_EQ(Device::open("cpu:1").error().code, Errc::no_device);
  for (const char* spec : {"", "gpu", "cpu:", "cpu:x", "cpu:0x", "cpu:-1", "cpu:99999999999", ":0"}) {
    const auto device = Device::open(spec);
    ASSERT_FALSE(device) << spec;
    EXPECT_EQ(device.error().code, Errc::invalid_argument) << spec;
    EXPECT_NE(device.error().message.find("cpu"), std::string::npos) << device.error().message;
  }
}

TEST(Device, TooManyThreadsAreRefused) {
  EXPECT_EQ(Device::open("cpu", {.threads = 100000}).error().code, Errc::limit_exceeded);
  EXPECT_TRUE(Device::open("cpu", {.threads = 3}));
}

TEST(Device, EveryBackendSaysWhatItHasOrWhyNot) {
  const auto devices = list_devices();
  ASSERT_FALSE(devices.empty());
  for (const DeviceDescription& device : devices) {
    EXPECT_FALSE(device.spec.empty());
    EXPECT_EQ(device.available, device.reason.empty()) << device.spec;
    EXPECT_EQ(device.available, !device.name.empty()) << device.spec;
  }
  EXPECT_TRUE(std::ranges::any_of(devices, [](const auto& line) { return line.spec == "cpu" && line.available; }));
}

TEST(Device, LivesAsLongAsItsBuffersAndQueues) {
  Buffer buffer = *Device::open("cpu")->allocate(16);
  const Queue queue = Device::open("null")->queue(1);
  EXPECT_TRUE(buffer.write(0, std::vector<int>{1, 2}));
  EXPECT_TRUE(queue.wait_idle());
}

TEST(DeviceMemory, ImpossibleSizesAreErrors) {
  const Device device = *Device::open("cpu");
  EXPECT_EQ(device.allocate(0).error().code, Errc::invalid_argument);
  EXPECT_EQ(device.allocate(device.limits().max_buffer_size + 1).error().code, Errc::limit_exceeded);
  EXPECT_EQ(device.allocate(UINT64_MAX).error().code, Errc::limit_exceeded);
}

TEST(DeviceMemory, WritesAreReadBack) {
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::upload, MemoryKind::readback}) {
    Buffer buffer = *Device::open("cpu")->allocate(1000, kind);
    EXPECT_EQ(buffer.size(), 1000U);
    EXPECT_EQ(buffer.kind(), kind);
    std::vector<uint8_t> values(1000);
    std::iota(values.begin(), values.end(), uint8_t{0});
    ASSERT_TRUE(buffer.write(0, values));
    std::vector<uint8_t> part(10);
    ASSERT_TRUE(buffer.read(501, part));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 501));
    EXPECT_EQ(static_cast<uint8_t>((*buffer.map())[999]), values[999]);
  }
}

TEST(DeviceMemory, HostAccessPastTheEndIsRefused) {
  Buffer buffer = *Device::open("cpu")->allocate(100);
  std::vector<std::byte> bytes(8);
  EXPECT_TRUE(buffer.write(92, bytes));
  EXPECT_EQ(buffer.write(93, bytes).error().code, Errc::out_of_range);
  EXPECT_EQ(buffer.read(UINT64_MAX - 3, bytes).error().code, Errc::out_of_range);
  EXPECT_TRUE(buffer.read(100, std::span<std::byte>()));
}

TEST(DeviceMemory, ImportedMemoryIsUsedInPlaceAndItsOwnerKept) {
  auto owner = std::make_shared<std::vector<uint32_t>>(16, 5U);
  const std::weak_ptr<std::vector<uint32_t>> watch = owner;
  const Device device = *Device::open("cpu");
  Buffer buffer = *Buffer::import(device, {.pointer = owner->data(), .size = 64, .owner = owner});
  EXPECT_EQ(buffer.native_pointer(), owner->data());
  owner.reset();
  std::array<uint32_t, 1> value{};
  ASSERT_TRUE(buffer.read(60, value));
  EXPECT_EQ(value[0], 5U);
  buffer = Buffer();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(Buffer::import(device, {.pointer = nullptr, .size = 64}).error().code, Errc::invalid_argument);
}

TEST(DeviceMemory, NullDeviceHasNoBytesForTheHost) {
  Buffer buffer = *Device::open("null")->allocate(64);
  EXPECT_EQ(buffer.map().error().code, Errc::unsupported);
  std::vector<uint8_t> bytes(4, 9);
  EXPECT_TRUE(buffer.read(0, bytes));
  EXPECT_EQ(bytes, std::vector<uint8_t>(4, 0));
}

}  // namespace
}  // namespace pianola

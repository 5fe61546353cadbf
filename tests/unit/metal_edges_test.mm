// SPDX-License-Identifier: Apache-2.0
// S1: transfers up to the very end of Metal buffers whose size no word divides, on every kind of device.
#include <algorithm>
#include <numeric>

#include "metal_device_test.hpp"
#include "pianola/pianola.hpp"

namespace pianola::metal_test {
namespace {

using Bytes = std::vector<uint8_t>;

/// The parameters: the rule of alignment, and unified memory.
class MetalEdges : public MetalDeviceTest, public testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  void SetUp() override {
    MetalDeviceTest::SetUp();
    const auto [is_apple, is_unified] = GetParam();
    using enum sim_metal::AlignmentRule;
    sim_metal::configure({.alignment = is_apple ? apple : mac, .unified_memory = is_unified});
    device = *Device::open("metal");
  }
  Buffer filled(size_t size, uint8_t first = 1) const {
    auto made = *device.allocate(size);
    EXPECT_TRUE(made.write(0, ramp(size, first)));
    return made;
  }
  static Bytes ramp(size_t size, uint8_t first = 1) {
    Bytes bytes(size);
    std::iota(bytes.begin(), bytes.end(), first);
    return bytes;
  }
  /// What a buffer must hold in the end.
  void expect(const Buffer& buffer, const Bytes& bytes) { expected_.emplace_back(buffer, bytes); }
  void run() {
    const auto submission = device.queue().run(*rec.finish());
    ASSERT_TRUE(submission) << to_string(submission.error());
    ASSERT_TRUE(submission->wait()) << to_string(submission->wait().error());
    for (const auto& [buffer, wanted] : expected_) {
      Bytes got(wanted.size());
      ASSERT_TRUE(buffer.read(0, got));
      EXPECT_EQ(got, wanted);
    }
  }
  Recorder rec;

 private:
  std::vector<std::pair<Buffer, Bytes>> expected_;
};

constexpr size_t sizes[] = {1, 5, 6, 7, 15, 16, 17, 31, 33};

}  // namespace

TEST_P(MetalEdges, FillsAndUpdatesReachTheLastByteAndLeaveThoseBefore) {
  for (const size_t size : sizes) {
    for (size_t offset = 0; offset < size; ++offset) {
      Bytes wanted = ramp(size);
      std::fill(wanted.begin() + static_cast<ptrdiff_t>(offset), wanted.end(), uint8_t{0xEE});
      for (const bool updates : {false, true}) {
        const auto memory = filled(size);
        const auto to = rec.buffer(memory).view(offset);
        updates ? rec.update(to, Bytes(size - offset, 0xEE)) : rec.fill(to, uint8_t{0xEE});
        expect(memory, wanted);
      }
    }
  }
  run();
}

TEST_P(MetalEdges, CopiesReachTheLastByteOfEitherSideAndLeaveThoseBefore) {
  for (const size_t size : sizes) {
    const auto source = filled(size, 100);
    for (size_t from = 0; from < std::min<size_t>(size, 8); ++from) {
      for (size_t to = 0; to < std::min<size_t>(size, 8); ++to) {
        const size_t length = size - std::max(from, to);
        const auto memory = filled(size);
        rec.copy(rec.buffer(memory).view(to, length), rec.buffer(source).view(from, length));
        Bytes wanted = ramp(size);
        std::copy_n(ramp(size, 100).begin() + static_cast<ptrdiff_t>(from), length,
                    wanted.begin() + static_cast<ptrdiff_t>(to));
        expect(memory, wanted);
      }
    }
  }
  run();
}

TEST_P(MetalEdges, PatternsReachTheLastByte) {
  for (const size_t unit : {1U, 2U, 4U, 8U, 16U}) {
    for (const size_t count : {1U, 2U, 3U, 5U}) {
      for (const size_t offset : {0U, 1U, 3U, 7U, 15U}) {
        const auto memory = filled(offset + unit * count);
        const Bytes pattern = ramp(unit, 200);
        rec.fill(rec.buffer(memory).view(offset), Pattern::from_bytes(std::as_bytes(std::span(pattern))));
        Bytes wanted = ramp(offset + unit * count);
        for (size_t i = offset; i < wanted.size(); ++i) wanted[i] = pattern[(i - offset) % unit];
        expect(memory, wanted);
      }
    }
  }
  run();
}

INSTANTIATE_TEST_SUITE_P(Devices, MetalEdges, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const testing::TestParamInfo<std::tuple<bool, bool>>& info) {
                           return std::string(std::get<0>(info.param) ? "Apple" : "Mac") +
                                  (std::get<1>(info.param) ? "Unified" : "Discrete");
                         });

}  // namespace pianola::metal_test

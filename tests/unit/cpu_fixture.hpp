// SPDX-License-Identifier: Apache-2.0
// A CPU device, its kernels, and short ways to make buffers and graphs for tests.
#pragma once

#include <vector>

#include "pianola/device.hpp"
#include "pianola/recorder.hpp"
#include "unit_kernel_image.hpp"

namespace pianola {

class CpuFixture : public ::testing::Test {
 protected:
  static Device open(const DeviceOptions& options = {}) { return *Device::open("cpu", options); }
  static const KernelLibrary& kernels() {
    static const KernelLibrary library = *KernelLibrary::from_bytes(unit_kernel_image());
    return library;
  }
  static Buffer words(const Device& device, size_t count, uint32_t value = 0) {
    Buffer buffer = *device.allocate(count * 4);
    EXPECT_TRUE(buffer.write(0, std::vector<uint32_t>(count, value)));
    return buffer;
  }
  static std::vector<uint32_t> contents(const Buffer& buffer) {
    std::vector<uint32_t> values(buffer.size() / 4);
    EXPECT_TRUE(buffer.read(0, values));
    return values;
  }
  static CommandBuffer finish(Recorder& recorder) {
    auto commands = recorder.finish();
    EXPECT_TRUE(commands) << to_string(commands.error());
    return *commands;
  }
  static Graph instantiate(const Device& device, const CommandBuffer& commands,
                           const InstantiateOptions& options = {}) {
    auto graph = device.instantiate(commands, options);
    EXPECT_TRUE(graph) << to_string(graph.error());
    return *graph;
  }
  static void replay(const Device& device, const Graph& graph, const SubmitInfo& info = {}) {
    const auto submission = device.queue().submit(graph, info);
    ASSERT_TRUE(submission) << to_string(submission.error());
    const Result<> done = submission->wait_for(std::chrono::seconds(60));
    ASSERT_TRUE(done) << to_string(done.error());
  }
};

}  // namespace pianola

// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <gtest/gtest-spi.h>

#include <filesystem>

namespace gtest_failures {

/// Keeps the failures of one test to itself, from every thread.
class Interceptor {
 public:
  Interceptor()
      : reporter_(std::make_unique<::testing::ScopedFakeTestPartResultReporter>(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results_)) {}
  /// Failures so far; from now on they are reported as usual.
  int release() {
    reporter_.reset();
    int failures = 0;
    for (int i = 0; i < results_.size(); ++i) failures += results_.GetTestPartResult(i).failed() ? 1 : 0;
    return failures;
  }

 private:
  ::testing::TestPartResultArray results_;
  std::unique_ptr<::testing::ScopedFakeTestPartResultReporter> reporter_;
};

}  // namespace gtest_failures

namespace pianola::conformance {

namespace {

Device device_of_run;

}  // namespace

const Device& device() {
  static const bool is_open = [] {
    Result<Device> result = open_device();
    EXPECT_TRUE(succeeded(result));
    if (result) device_of_run = *result;
    return result.has_value();
  }();
  static_cast<void>(is_open);
  return device_of_run;
}

void close_device() {
  device_of_run = Device();
}

Result<Device> open_device() {
  return Device::open(run_options().device, run_options().device_options);
}

namespace {

KernelLibrary must_load(Result<KernelLibrary> library) {
  EXPECT_TRUE(succeeded(library)) << run_options().kernels;
  return library ? *library : KernelLibrary();
}

}  // namespace

const KernelLibrary& kernels() {
  static const KernelLibrary loaded = must_load(KernelLibrary::load(run_options().kernels));
  return loaded;
}

Result<KernelLibrary> load_beside(const std::string& file) {
  return KernelLibrary::load(std::filesystem::path(run_options().kernels).replace_filename(file).string());
}

Kernel packed_kernel(std::string_view name) {
  static const KernelLibrary loaded = must_load(load_beside("packed.pkl"));
  return loaded[name];
}

Kernel kernel(std::string_view name) {
  return kernels()[name];
}

ConformanceTest::ConformanceTest() = default;
ConformanceTest::~ConformanceTest() = default;

void ConformanceTest::SetUp() {
  ASSERT_TRUE(device());
  ASSERT_FALSE(kernels().kernels().empty());
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(info->test_suite_name()) + "." + info->name();
  const RunOptions& run = run_options();
  for (const std::string_view one : {std::string_view(run.device), device().name()}) {
    if (const auto entry = find_unsupported(one, run.mode.name, name)) {
      GTEST_SKIP() << "unsupported: " << entry->reason;
    }
    if (const auto entry = find_expected_failure(one, run.mode.name, name)) {
      reason_ = entry->reason;
      expected_ = std::make_unique<gtest_failures::Interceptor>();
    }
  }
}

void ConformanceTest::TearDown() {
  if (!device()) return;
  EXPECT_TRUE(succeeded(device().queue().wait_idle()));
  EXPECT_EQ(GuardedBuffer::live_imports(), 0U) << "memory is still held after its last handle and submission";
  if (expected_ != nullptr && expected_->release() == 0) {
    ADD_FAILURE() << "passed, though listed as failing: " << reason_;
  }
}

Graph must_instantiate(const CommandBuffer& commands, const InstantiateOptions& options) {
  Result<Graph> graph = device().instantiate(commands, options);
  EXPECT_TRUE(succeeded(graph));
  return graph ? *graph : Graph();
}

CommandBuffer must_finish(Recorder& recorder) {
  Result<CommandBuffer> commands = recorder.finish();
  EXPECT_TRUE(succeeded(commands));
  return commands ? *commands : CommandBuffer();
}

Buffer make_buffer(const Bytes& contents, MemoryKind kind) {
  Result<Buffer> buffer = device().allocate(contents.size(), kind);
  EXPECT_TRUE(succeeded(buffer));
  if (!buffer) return {};
  EXPECT_TRUE(succeeded(buffer->write(0, contents)));
  return *buffer;
}

Bytes read_bytes(const Buffer& buffer) {
  Bytes bytes(buffer.size());
  EXPECT_TRUE(succeeded(buffer.read(0, bytes)));
  return bytes;
}

}  // namespace pianola::conformance

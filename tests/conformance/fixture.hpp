// SPDX-License-Identifier: Apache-2.0
// What every conformance test stands on: the device of this run, its kernels, and the exception lists.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "expectations.hpp"
#include "guarded_buffer.hpp"
#include "pianola/pianola.hpp"
#include "run_options.hpp"
#include "support/bytes.hpp"
#include "support/expect.hpp"

namespace gtest_failures {
class Interceptor;
}

namespace pianola::conformance {

using namespace pianola::test;

/// The device of this run, opened once. A failed open fails the test and gives an empty device.
const Device& device();
/// After the last test: what is still alive then was left behind.
void close_device();
/// Opens the device of this run once more; for tests that need one of their own.
Result<Device> open_device();
/// The kernels in kernels/*.k.
const KernelLibrary& kernels();
Kernel kernel(std::string_view name);

/// A library beside that of kernels/*.k: "foreign.pkl", "packed.pkl".
Result<KernelLibrary> load_beside(const std::string& file);
/// The kernels of kernels/packed, which other compilers than the dialect's made.
Kernel packed_kernel(std::string_view name);

/// Skips what is listed as unsupported, wants a failure of what is listed as failing, and at the end looks
/// for memory that somebody still holds.
class ConformanceTest : public ::testing::Test {
 public:
  ConformanceTest();
  ~ConformanceTest() override;

 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  std::unique_ptr<gtest_failures::Interceptor> expected_;
  std::string reason_;
};

/// Base of suites that do not depend on the mode; their names start with Api.
class ApiTest : public ConformanceTest {};

/// Instantiates and fails the test if that fails.
Graph must_instantiate(const CommandBuffer& commands, const InstantiateOptions& options = {});
/// Finishes and fails the test if that fails.
CommandBuffer must_finish(Recorder& recorder);
/// Allocates, writes, and fails the test if that fails.
Buffer make_buffer(const Bytes& contents, MemoryKind kind = MemoryKind::device);
template <class T>
Buffer make_buffer(const std::vector<T>& values, MemoryKind kind = MemoryKind::device) {
  return make_buffer(to_bytes(values), kind);
}
/// The whole contents.
Bytes read_bytes(const Buffer& buffer);
template <class T>
std::vector<T> read_values(const Buffer& buffer) {
  const Bytes bytes = read_bytes(buffer);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace pianola::conformance

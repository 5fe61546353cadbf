// SPDX-License-Identifier: Apache-2.0
// Memory for one slot with guard bytes on both sides; a check of its contents checks the guards too.
#pragma once

#include <cstdint>
#include <string_view>

#include "pianola/pianola.hpp"
#include "support/bytes.hpp"

namespace pianola::conformance {

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// `size` bytes that start `lead` bytes into a buffer (a multiple of the slot's alignment). Where the
  /// device can import host memory every second one is imported, so that its release can be observed.
  static Result<GuardedBuffer> make(const Device& device, uint64_t size, MemoryKind kind, uint64_t lead = 256);

  BufferView view() const { return buffer_.view(lead_, size_); }
  const Buffer& buffer() const { return buffer_; }
  uint64_t size() const { return size_; }

  /// Writes the contents, and the guards.
  Result<> reset(const test::Bytes& contents);
  /// Compares contents and guards.
  ::testing::AssertionResult holds(const test::Bytes& contents, std::string_view name) const;

  /// Imported memory that somebody still holds.
  static uint64_t live_imports();

 private:
  test::Bytes with_guards(const test::Bytes& contents) const;
  Buffer buffer_;
  uint64_t lead_ = 0;
  uint64_t size_ = 0;
};

}  // namespace pianola::conformance

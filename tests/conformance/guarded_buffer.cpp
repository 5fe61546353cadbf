// SPDX-License-Identifier: Apache-2.0
#include "guarded_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

namespace pianola::conformance {
namespace {

constexpr uint64_t guard = 64;  ///< bytes after the contents

std::atomic<uint64_t> live{0};
std::atomic<uint64_t> made{0};

/// Host memory that is counted while somebody owns it; none if the device takes no host memory.
Result<Buffer> import_memory(const Device& device, uint64_t size, MemoryKind kind) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));  // 16 KiB on some
  const uint64_t whole = (size + page - 1) / page * page;
  // Metal takes one mapping of its own, and nothing of malloc's.
  void* pointer = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) return Error{.code = Errc::out_of_memory, .message = "mmap"};
  live.fetch_add(1);
  const std::shared_ptr<void> owner(pointer, [whole](void* at) {
    munmap(at, whole);
    live.fetch_sub(1);
  });
  return Buffer::import(device, {.pointer = pointer, .size = size, .owner = owner, .kind = kind});
}

}  // namespace

Result<GuardedBuffer> GuardedBuffer::make(const Device& device, uint64_t size, MemoryKind kind, uint64_t lead) {
  GuardedBuffer result;
  result.lead_ = lead;
  result.size_ = size;
  const uint64_t total = lead + size + guard;
  Result<Buffer> buffer = Error{.code = Errc::unsupported};
  if (device.limits().unified_memory && made.fetch_add(1) % 2 == 1) buffer = import_memory(device, total, kind);
  if (!buffer && buffer.error().code == Errc::unsupported) buffer = device.allocate(total, kind);
  if (!buffer) return buffer.error();
  result.buffer_ = *buffer;
  return result;
}

test::Bytes GuardedBuffer::with_guards(const test::Bytes& contents) const {
  test::Bytes bytes = test::pattern_bytes(lead_ + size_ + guard, 77);
  std::copy(contents.begin(), contents.end(), bytes.begin() + static_cast<std::ptrdiff_t>(lead_));
  return bytes;
}

Result<> GuardedBuffer::reset(const test::Bytes& contents) {
  return buffer_.write(0, with_guards(contents));
}

::testing::AssertionResult GuardedBuffer::holds(const test::Bytes& contents, std::string_view name) const {
  const test::Bytes wanted = with_guards(contents);
  test::Bytes got(wanted.size());
  const Result<> read = buffer_.read(0, got);
  if (!read) return ::testing::AssertionFailure() << name << ": " << to_string(read.error());
  const std::span<const std::byte> inside = std::span(got).subspan(lead_, size_);
  const auto same = test::same_bytes(inside, contents, name);
  if (!same) return same;
  return test::same_bytes(got, wanted, std::string(name) + " with its guard bytes");
}

uint64_t GuardedBuffer::live_imports() {
  return live.load();
}

}  // namespace pianola::conformance

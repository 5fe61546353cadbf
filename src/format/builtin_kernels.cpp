// SPDX-License-Identifier: Apache-2.0
#include "format/builtin_kernels.hpp"

#include <algorithm>
#include <cstring>

#include "builtin_kernel_image.hpp"

namespace pianola {
namespace {

constexpr uint64_t block = 16;
constexpr uint32_t threads = 256;

struct Cut {
  uint64_t head = 0;
  uint64_t blocks = 0;
  uint64_t tail = 0;
};

/// Cuts a range so that at least `margin` bytes lie before and behind its blocks.
Cut cut(uint64_t address, uint64_t size, uint64_t margin) {
  uint64_t head = (block - address % block) % block;
  if (head < margin) head += block;
  if (head + margin > size) return {.head = size};
  const uint64_t blocks = (size - head - margin) / block;
  return {.head = head, .blocks = blocks, .tail = size - head - blocks * block};
}

std::vector<uint32_t> constants_of(const Cut& cut) {
  return {static_cast<uint32_t>(cut.head), static_cast<uint32_t>(cut.blocks), static_cast<uint32_t>(cut.tail)};
}

uint32_t groups_for(uint64_t blocks) {
  return static_cast<uint32_t>(std::max<uint64_t>(1, (blocks + threads - 1) / threads));
}

/// The pattern repeated over 16 bytes, begun `turn` bytes inside it.
void append_pattern(std::vector<uint32_t>& constants, std::span<const std::byte> pattern, uint64_t turn) {
  std::array<std::byte, block> bytes{};
  for (size_t i = 0; i < block; ++i) bytes[i] = pattern[(turn + i) % pattern.size()];
  std::array<uint32_t, block / 4> words{};
  std::memcpy(words.data(), bytes.data(), block);
  constants.insert(constants.end(), words.begin(), words.end());
}

}  // namespace

const KernelLibrary& builtin_kernels() {
  // An image that was made by this build is whole; if it is not, every look-up gives a missing kernel.
  static const KernelLibrary library = KernelLibrary::from_bytes(builtin_kernel_image()).value_or(KernelLibrary());
  return library;
}

BuiltinDispatch builtin_fill(uint64_t address, uint64_t size, std::span<const std::byte> pattern) {
  const Cut parts = cut(address, size, 0);
  BuiltinDispatch dispatch{.kernel = "pianola_fill",
                           .groups = groups_for(parts.blocks),
                           .block_offset = parts.head,
                           .source_block_offset = 0,
                           .constants = constants_of(parts)};
  append_pattern(dispatch.constants, pattern, 0);
  append_pattern(dispatch.constants, pattern, parts.head);
  return dispatch;
}

BuiltinDispatch builtin_copy(uint64_t destination, uint64_t source, uint64_t size) {
  const bool alike = (destination - source) % block == 0;
  constexpr uint64_t word = 4;
  const Cut parts = cut(destination, size, alike ? 0 : word);
  BuiltinDispatch dispatch{.kernel = alike ? "pianola_copy_blocks" : "pianola_copy_words",
                           .groups = groups_for(parts.blocks),
                           .block_offset = parts.head,
                           .source_block_offset = parts.head,
                           .constants = constants_of(parts)};
  if (!alike) {
    dispatch.source_block_offset = (word - source % word) % word;
    const uint64_t distance = parts.head - dispatch.source_block_offset;
    dispatch.constants.push_back(static_cast<uint32_t>(distance / word));
    dispatch.constants.push_back(static_cast<uint32_t>(distance % word * 8));
  }
  return dispatch;
}

BuiltinDispatch builtin_update(uint64_t address, std::span<const std::byte> bytes) {
  const Cut parts = cut(address, bytes.size(), 0);
  BuiltinDispatch dispatch{.kernel = "pianola_update",
                           .groups = 1,
                           .block_offset = parts.head,
                           .source_block_offset = 0,
                           .constants = constants_of(parts)};
  constexpr size_t data_words = max_builtin_update_bytes / 4 + 1;
  const size_t start = dispatch.constants.size();
  dispatch.constants.resize(start + data_words);
  std::memcpy(dispatch.constants.data() + start, bytes.data(), bytes.size());
  return dispatch;
}

BuiltinDispatch builtin_check_counts(const std::array<uint32_t, 3>& most) {
  return {.kernel = "pianola_check_counts",
          .groups = 1,
          .block_offset = 0,
          .source_block_offset = 0,
          .constants = {most[0], most[1], most[2]}};
}

}  // namespace pianola

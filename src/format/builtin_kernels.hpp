// SPDX-License-Identifier: Apache-2.0
// The kernels that Pianola brings along (kernels/builtin.k), and the arguments for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pianola/kernel_library.hpp"

namespace pianola {

/// The library that lies inside this program. Verified once; the same object every time.
const KernelLibrary& builtin_kernels();

/// Bytes that one dispatch of a built-in kernel may cover, and that one update may carry.
inline constexpr uint64_t max_builtin_bytes = uint64_t{1} << 31U;
inline constexpr uint64_t max_builtin_update_bytes = 960;

/// One dispatch of a built-in kernel. Its bindings are `destination` twice, as bytes from the range's first byte and
/// as blocks from `block_offset` bytes behind it; a copy has the source before them, in the same two ways.
/// Where there is no whole block its binding may lie past the range's end; nothing is read or written there.
struct BuiltinDispatch {
  std::string_view kernel;
  uint32_t groups = 1;
  uint64_t block_offset = 0;         ///< of the destination's second binding
  uint64_t source_block_offset = 0;  ///< of the source's second binding
  std::vector<uint32_t> constants;   ///< of fills, copies and updates: bytes before the blocks, blocks, bytes behind

  bool has_blocks() const { return constants[1] != 0; }
};

/// `address`: of the range's first byte, or its offset in memory that is aligned to 16.
/// Preconditions: 1 to max_builtin_bytes bytes; the pattern has 1, 2, 4, 8 or 16 bytes and divides `size`.
BuiltinDispatch builtin_fill(uint64_t address, uint64_t size, std::span<const std::byte> pattern);
BuiltinDispatch builtin_copy(uint64_t destination, uint64_t source, uint64_t size);
/// Precondition: 1 to max_builtin_update_bytes bytes.
BuiltinDispatch builtin_update(uint64_t address, std::span<const std::byte> bytes);

/// Bytes that `pianola_check_counts` writes: three counts to launch, then the three that it read.
inline constexpr uint64_t checked_counts_bytes = 24;
/// Its bindings are the counts and where the checked ones go.
BuiltinDispatch builtin_check_counts(const std::array<uint32_t, 3>& most);

}  // namespace pianola

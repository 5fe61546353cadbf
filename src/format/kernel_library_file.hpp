// SPDX-License-Identifier: Apache-2.0
// What frames a kernel library file: a fixed header, the FlatBuffers table, then the objects' bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pianola::format {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read in place");

/// The first 64 bytes of a file. Offsets count from the start of the file.
struct LibraryHeader {
  std::array<char, 8> magic = library_magic;
  uint32_t version = first_version;
  uint32_t header_size = 64;
  uint64_t file_size = 0;
  uint64_t hash = 0;  ///< hash_of_image() of the file
  uint64_t table_offset = 0;
  uint64_t table_size = 0;
  std::array<uint64_t, 2> reserved{};

  static constexpr std::array<char, 8> library_magic = {'P', 'i', 'a', 'n', 'K', 'L', '\r', '\n'};
  static constexpr uint32_t first_version = 1;
  // The lowest that the contents need, so that older readers take what they understand.
  static constexpr uint32_t with_argument_order = 2;
  static constexpr uint32_t with_dynamic_shared = 3;
  static constexpr uint32_t current_version = with_dynamic_shared;
};
static_assert(sizeof(LibraryHeader) == 64);

/// Objects start at multiples of this, so that they can be handed to loaders where they lie.
inline constexpr uint64_t section_alignment = 64;

/// xxHash64 of the image with the header's own hash field taken as zero.
/// Precondition: at least sizeof(LibraryHeader) bytes.
uint64_t hash_of_image(std::span<const std::byte> image);

}  // namespace pianola::format

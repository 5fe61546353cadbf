// SPDX-License-Identifier: Apache-2.0
// A plan lowered for Metal: what each submission encodes, in order. Plain data that knows slots and no memory.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/kernel_library_check.hpp"
#include "pianola/plan.hpp"
#include "record/commands.hpp"

namespace pianola::backend::metal {

/// Stand for buffers that no slot has: the executable's, which holds the bytes of updates; the submission's, which
/// takes checked counts of indirect dispatches; and the device's, which is bound where nothing is read or written:
/// Metal's validation wants room for an element there, and none at the very end of a buffer.
inline constexpr uint32_t staging_slot = UINT32_MAX;
inline constexpr uint32_t checks_slot = UINT32_MAX - 1;
inline constexpr uint32_t nothing_slot = UINT32_MAX - 2;
inline constexpr uint32_t own_slots = 3;
inline constexpr uint64_t nothing_bytes = format::max_element_size;

/// Where constants and argument buffers are bound, and how many buffers are bound directly; kernel libraries'
/// Metal code follows the same rule.
inline constexpr uint32_t constants_index = 30;
inline constexpr uint32_t argument_buffer_index = 0;
inline constexpr uint32_t max_direct_buffers = 30;

struct Place {
  uint32_t slot = 0;
  uint64_t offset = 0;
  auto operator<=>(const Place&) const = default;
};

struct Blit {
  bool is_fill = false;
  uint8_t value = 0;  ///< fill
  Place from, to;     ///< a fill has no `from`
  uint64_t size = 0;
};

/// Memory that a kernel reaches other than through a binding of its own, and how.
struct Argument {
  Place place;
  Access access = Access::inout;
  auto operator<=>(const Argument&) const = default;
};

/// A kernel of the program: of one of the recording's libraries, or a built-in one.
struct KernelKey {
  static constexpr uint32_t builtin = UINT32_MAX;
  uint32_t library = 0;
  uint32_t entry = 0;
  bool operator==(const KernelKey&) const = default;
};

/// What a dispatch reaches through an argument buffer. Dispatches of one kernel with the same arguments share one.
struct ArgumentSet {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t kernel = 0;
  uint32_t first = 0, count = 0;  ///< of Program::arguments
};

/// Small, since each replay walks over all of them; what few dispatches have stands in DispatchExtra.
struct DispatchStep {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t kernel = 0;  ///< index into Program::kernels
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint32_t first_place = 0;  ///< of the buffers bound directly
  uint32_t first_constant = 0;
  uint16_t constant_bytes = 0;  ///< padded to 16
  uint16_t place_count = 0;
  uint32_t extra = none;  ///< index into Program::extras
};

struct DispatchExtra {
  uint8_t named_groups = 0;  ///< bit i: groups[i] is the id of a named constant
  bool is_indirect = false;
  Place counts;
  uint32_t argument_set = ArgumentSet::none;  ///< index into Program::argument_sets
  uint32_t first_use = 0, use_count = 0;      ///< further memory that the kernel reaches
  uint32_t first_named = 0, named_count = 0;
};

/// A fill or copy by kernel whose alignment is known only when its slots are bound.
struct LateBuiltin {
  bool is_fill = false;
  Place from, to;
  uint64_t size = 0;
  std::array<std::byte, 16> pattern{};
  uint32_t pattern_size = 1;
};

struct Step {
  enum class Kind : uint8_t {
    command_buffer,   ///< from here on another command buffer
    blit_encoder,     ///< from here on a blit encoder
    compute_encoder,  ///< from here on a compute encoder, a new one even after another
    barrier,          ///< of everything, or of [first, first + count) of Program::barrier_slots
    blits,            ///< [first, first + count) of Program::blits, and so on
    dispatches,
    late,
  } kind = Kind::blit_encoder;
  uint32_t first = 0;
  uint32_t count = 0;  ///< barrier: 0 means everything
  uint32_t group = 0;  ///< debug group of the commands
};

/// What a submission encodes, for descriptions and golden numbers. Dispatches without work still count.
struct ProgramStats {
  uint32_t command_buffers = 0;
  uint32_t blit_encoders = 0;
  uint32_t compute_encoders = 0;
  uint32_t switches = 0;  ///< within a command buffer
  uint32_t barriers = 0;
  uint32_t blits = 0;
  uint32_t dispatches = 0;
  uint64_t staged_bytes = 0;
};

struct Program {
  Plan plan;  ///< keeps the recording, its libraries and its group labels
  std::vector<Step> steps;
  std::vector<Blit> blits;
  std::vector<DispatchStep> dispatches;
  std::vector<DispatchExtra> extras;
  std::vector<LateBuiltin> late;
  std::vector<KernelKey> kernels;
  std::vector<uint32_t> kernel_sources;  ///< one a kernel: the first recorded command that needs it
  std::vector<Place> places;             ///< bound directly
  std::vector<Argument> arguments;       ///< of argument sets
  std::vector<ArgumentSet> argument_sets;
  std::vector<Argument> uses;
  std::vector<NamedConstant> named;
  std::vector<std::byte> constants;
  std::vector<uint32_t> barrier_slots;
  std::vector<std::byte> staged;  ///< contents of the staging buffer
  std::vector<uint32_t> checks;   ///< recorded commands whose counts are checked, in their order in the buffer
  ProgramStats stats;
};

/// One line an encoder, then a line of totals.
std::string to_string(const Program& program);

}  // namespace pianola::backend::metal

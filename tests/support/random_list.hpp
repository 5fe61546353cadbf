// SPDX-License-Identifier: Apache-2.0
// Random command buffers whose result does not depend on any order that Pianola leaves open.
#pragma once

#include <string>
#include <vector>

#include "bytes.hpp"
#include "pianola/pianola.hpp"

namespace pianola::test {

struct RandomListOptions {
  uint64_t seed = 1;
  uint32_t commands = 30;            ///< about so many
  bool synchronised = true;          ///< barriers and events wherever they are needed; else for Ordering::inferred
  uint32_t dispatch_alignment = 16;  ///< where bound ranges may start; a multiple of 16
  bool nested = true;
  bool indirect = true;
};

struct RandomList {
  struct Memory {
    Bytes contents;  ///< before a run
  };
  /// A slot is bound to bytes [offset, offset + size) of a memory. Two slots share one where both may alias.
  struct Slot {
    BufferRef ref;
    uint32_t memory = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  struct Constant {
    ConstantRef ref;
    uint32_t value = 0;
  };
  CommandBuffer commands;
  std::vector<Memory> memories;
  std::vector<Slot> slots;
  std::vector<Constant> constants;
};

/// A list made of the conformance kernels. An error is one of the generator, or of recording.
Result<RandomList> make_random_list(const KernelLibrary& kernels, const RandomListOptions& options);

}  // namespace pianola::test

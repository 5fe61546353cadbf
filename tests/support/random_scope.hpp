// SPDX-License-Identifier: Apache-2.0
// One command buffer that is being made up: its recorder, and what its slots are in memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "byte_hazards.hpp"
#include "pianola/pianola.hpp"
#include "random.hpp"
#include "random_list.hpp"

namespace pianola::test {

/// A slot, or a part of one, and the bytes behind it.
struct RandomView {
  BufferRef ref;
  uint32_t memory = 0;
  uint64_t offset = 0;  ///< of the first byte in the memory
  bool may_alias = false;

  uint64_t size() const { return ref.size; }
  RandomView part(uint64_t at, uint64_t length) const { return {ref.view(at, length), memory, offset + at, may_alias}; }
  ByteAccess access(bool writes) const { return {memory, offset, offset + ref.size, writes}; }
};

struct RandomUse {
  RandomView view;
  bool writes = false;
};

/// State that all command buffers of one random list share.
struct RandomWorld {
  RandomListOptions options;
  const KernelLibrary& kernels;
  Random random;
  ByteHazards hazards;
  uint32_t left = 0;  ///< commands still to record
};

class RandomScope {
 public:
  explicit RandomScope(RandomWorld& world) : world_(world) {}

  Recorder rec;
  std::vector<RandomView> views;   ///< of data; never of counts
  std::vector<RandomView> counts;  ///< cells of 12 bytes that always hold small group counts
  std::vector<std::pair<ConstantRef, uint32_t>> constants;
  std::vector<ByteAccess> log;  ///< all accesses so far, those of nested command buffers included

  /// Records one random command, and what must stand before it.
  void add_command(uint32_t depth);

 private:
  Random& random() { return world_.random; }
  RandomView pick_bytes();
  RandomView pick_words(uint64_t least = 4);
  Constants::Value pick_value(uint32_t value);
  void order(const std::vector<RandomUse>& uses);
  void synchronise(const std::vector<RandomUse>& uses);
  void add_noise();

  void add_fill();
  void add_update();
  void add_copy();
  void add_discard();
  void add_dispatch();
  void add_two_buffer_dispatch();
  void add_three_buffer_dispatch();
  void add_counts();
  void add_indirect();
  void add_nested(uint32_t depth);
  void dispatch(const char* kernel, Dispatch arguments, const std::vector<RandomUse>& uses);

  RandomWorld& world_;
  std::vector<std::pair<EventRef, int>> signals_;
};

}  // namespace pianola::test

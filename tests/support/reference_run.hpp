// SPDX-License-Identifier: Apache-2.0
// Carries out commands on plain bytes, in any order one asks for. A dispatch is a mixing function of all that it
// reads, so that whatever runs too early or too late changes the result.
#pragma once

#include <span>
#include <vector>

#include "reference_list.hpp"

namespace pianola::reference {

/// Contents of all slots, laid out as the list's places say.
class Memory {
 public:
  Memory(const List& list, uint32_t seed);
  void run(const Work& work);
  bool operator==(const Memory& other) const { return bytes_ == other.bytes_; }

 private:
  std::byte& at(uint32_t slot, uint64_t offset) { return bytes_[places_[slot].memory][places_[slot].offset + offset]; }
  void run_dispatch(const Work& work);
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<Place> places_;
};

/// The memory after running these one after another.
Memory run_in_order(const List& list, uint32_t seed, std::span<const Work* const> works);

}  // namespace pianola::reference

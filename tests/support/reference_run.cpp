// SPDX-License-Identifier: Apache-2.0
#include "reference_run.hpp"

#include <algorithm>
#include <functional>

#include "random.hpp"

namespace pianola::reference {

Memory::Memory(const List& list, uint32_t seed) : places_(list.places) {
  test::Random random(seed);
  for (const Place& place : places_) {
    if (bytes_.size() <= place.memory) bytes_.resize(place.memory + 1);
    std::vector<std::byte>& memory = bytes_[place.memory];
    memory.resize(std::max<size_t>(memory.size(), place.offset + place.size));
  }
  for (auto& memory : bytes_) {
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random.below(256));
  }
}

void Memory::run(const Work& work) {
  if (work.does_nothing()) return;
  if (work.op == Op::dispatch || work.op == Op::dispatch_indirect || work.op == Op::collective) {
    return run_dispatch(work);
  }
  const Access& to = work.accesses[0];
  if (work.op == Op::copy) {
    const Access& from = work.accesses[1];
    std::vector<std::byte> moved;
    for (uint64_t i = from.begin; i < from.end; ++i) moved.push_back(at(from.slot, i));
    for (uint64_t i = to.begin; i < to.end; ++i) at(to.slot, i) = moved[i - to.begin];
    return;
  }
  for (uint64_t i = to.begin; i < to.end; ++i) at(to.slot, i) = work.payload[(i - to.begin) % work.payload.size()];
}

/// Writes about three quarters of what it may write: `out` promises no full overwrite.
void Memory::run_dispatch(const Work& work) {
  uint64_t state = std::hash<std::string>()(work.kernel);
  const auto mix = [&state](uint64_t value) {
    state = (state ^ value) * 0x9E3779B97F4A7C15U;
    state ^= state >> 29;
  };
  for (const std::byte byte : work.payload) mix(static_cast<uint64_t>(byte));
  for (const Number& number : work.groups) mix(number.constant ? 1000 + *number.constant : number.value);
  for (const auto& [offset, constant] : work.named) mix(7 * offset + constant);
  for (const Access& access : work.accesses) {
    for (uint64_t i = access.begin; i < access.end; ++i) mix(static_cast<uint64_t>(at(access.slot, i)));
  }
  for (const Access& access : work.accesses) {
    if (!access.writes) continue;
    for (uint64_t i = access.begin; i < access.end; ++i) {
      mix(i);
      if ((state & 3U) != 0) at(access.slot, i) = static_cast<std::byte>(state >> 40);
    }
  }
}

Memory run_in_order(const List& list, uint32_t seed, std::span<const Work* const> works) {
  Memory memory(list, seed);
  for (const Work* work : works) memory.run(*work);
  return memory;
}

}  // namespace pianola::reference

// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/buffer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pianola::backend::metal {
namespace {

constexpr uint64_t made_up_alignment = 65536;

}  // namespace

Result<std::byte*> BufferTable::add(const Facts& facts) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = known_.try_emplace(facts.buffer);
  Known& known = at->second;
  if (is_new && facts.host != nullptr) {
    known.host = reinterpret_cast<uintptr_t>(facts.host);
    const uintptr_t end = known.host + facts.size;
    const auto next = host_ranges_.lower_bound(end);
    if (next != host_ranges_.begin() && std::prev(next)->second > known.host) {
      known_.erase(at);
      return Error{.code = Errc::unsupported,
                   .message = fmt::format("another Metal buffer lies over some of the {} bytes at {}; the device keeps "
                                          "no order between two",
                                          facts.size, static_cast<const void*>(facts.host))};
    }
    try {
      host_ranges_.emplace(known.host, end);
    } catch (...) {
      known_.erase(at);
      throw;
    }
  }
  if (is_new) {
    known.size = facts.size;
    known.address = facts.gpu_address;
    if (known.address == 0) {
      known.address = next_address_;
      next_address_ += (facts.size / made_up_alignment + 1) * made_up_alignment;
    }
  }
  ++known.uses;
  return reinterpret_cast<std::byte*>(known.address);
}

void BufferTable::remove(const void* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(buffer);
  if (at == known_.end() || --at->second.uses != 0) return;
  if (at->second.host != 0) host_ranges_.erase(at->second.host);
  known_.erase(at);
}

bool BufferTable::is_of_device(const void* pointer) {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(known_, [&](const auto& entry) {
    const Known& known = entry.second;
    return known.host != known.address && at >= known.address && at - known.address < known.size;
  });
}

}  // namespace pianola::backend::metal

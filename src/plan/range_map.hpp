// SPDX-License-Identifier: Apache-2.0
// A value for every byte address: neighbouring intervals that are split where a value changes.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "base/pool.hpp"

namespace pianola::plan {

/// Starts as one interval over all addresses that holds T{}. An interval reaches to the next one's key.
template <class T>
class RangeMap {
 public:
  using Allocator = PoolAllocator<std::pair<const uint64_t, T>>;
  using Map = std::map<uint64_t, T, std::less<>, Allocator>;
  using Iterator = typename Map::iterator;

  explicit RangeMap(Pool* memory) : map_(Allocator(memory)) { latest_ = map_.emplace(0, T{}).first; }
  RangeMap(RangeMap&& other) noexcept : map_(std::move(other.map_)), latest_(other.latest_) {}
  RangeMap(const RangeMap&) = delete;
  RangeMap& operator=(const RangeMap&) = delete;
  RangeMap& operator=(RangeMap&&) = delete;
  ~RangeMap() = default;

  /// Intervals that cover exactly [begin, end). A value that is split is duplicated by copy(value).
  struct Span {
    Iterator first;
    Iterator last;  ///< one past the end
    size_t count = 0;
  };
  template <class Copy>
  Span cover(uint64_t begin, uint64_t end, Copy copy) {
    Span span;
    span.first = latest_->first == begin ? latest_ : split(begin, copy);
    span.last = std::next(span.first);
    span.count = 1;
    while (span.last != map_.end() && span.last->first < end) {
      ++span.last;
      ++span.count;
    }
    if (span.last == map_.end() || span.last->first != end) {
      span.last = map_.emplace_hint(span.last, end, copy(std::prev(span.last)->second));
    }
    latest_ = span.first;
    return span;
  }
  /// Makes the span one interval, which keeps the first one's value.
  void join(const Span& span) { map_.erase(std::next(span.first), span.last); }

  bool is_uniform() const { return map_.size() == 1; }
  void reset() {
    map_.erase(std::next(map_.begin()), map_.end());
    map_.begin()->second = T{};
    latest_ = map_.begin();
  }

 private:
  template <class Copy>
  Iterator split(uint64_t at, Copy copy) {
    const Iterator after = map_.upper_bound(at);
    const Iterator before = std::prev(after);
    return before->first == at ? before : map_.emplace_hint(after, at, copy(before->second));
  }

  Map map_;
  Iterator latest_;  ///< where the last access began; the next one often does too
};

}  // namespace pianola::plan

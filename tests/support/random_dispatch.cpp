// SPDX-License-Identifier: Apache-2.0
// Random dispatches of the conformance kernels, direct and indirect.
#include "random_scope.hpp"

namespace pianola::test {
namespace {

bool overlap(const RandomView& a, const RandomView& b) {
  return a.memory == b.memory && a.offset < b.offset + b.size() && b.offset < a.offset + a.size();
}

Groups groups_for(uint32_t elements) {
  return {(elements + 63) / 64};
}

}  // namespace

/// Records it with its arguments, or with state set before, and now and then with memory it is said to use.
void RandomScope::dispatch(const char* kernel, Dispatch arguments, const std::vector<RandomUse>& uses) {
  std::vector<RandomUse> all = uses;
  if (random().chance(8)) {
    const RandomView used = pick_bytes();
    all.push_back({used, random().chance(30)});
    arguments.uses.push_back({used.ref, all.back().writes ? Access::inout : Access::in});
  }
  order(all);
  const Kernel entry = world_.kernels[kernel];
  if (random().chance(25) && entry.is_present() && arguments.constants.named().empty()) {
    const auto& declared = entry.info().bindings;
    for (size_t i = 0; i < declared.size(); ++i) {
      rec.push_descriptor_set(declared[i].set, {{declared[i].binding, arguments.bindings[i]}});
    }
    rec.push_constants(0, arguments.constants.bytes());
    arguments.bindings.clear();
    arguments.constants = {};
  }
  rec.dispatch(entry, arguments);
}

void RandomScope::add_dispatch() {
  const RandomView target = pick_words();
  const auto n = static_cast<uint32_t>(target.size() / 4);
  const uint32_t part = random().below(n + 1);
  const Constants::Value value = pick_value(random().below(1000));
  Groups groups = groups_for(n);
  if (random().chance(5)) groups.y = 0;
  switch (random().below(6)) {
    case 0:
      return dispatch("add_constant", {.groups = groups, .constants = {value, n}, .bindings = {target.ref}},
                      {{target, true}});
    case 1:
      return dispatch("multiply_add", {.groups = groups, .constants = {3U, value, n}, .bindings = {target.ref}},
                      {{target, true}});
    case 2:
      return dispatch("iota", {.groups = groups, .constants = {value, part}, .bindings = {target.ref}},
                      {{target, true}});
    case 3:
      return dispatch("opaque_add", {.groups = groups, .constants = {value, n}, .bindings = {target.ref}},
                      {{target, true}});
    case 4: {
      const RandomView tile = pick_words(256);
      if (tile.size() < 256) return add_fill();
      const auto tiles = static_cast<uint32_t>(tile.size() / 256);
      return dispatch("reverse_groups", {.groups = {tiles}, .bindings = {tile.ref}}, {{tile, true}});
    }
    default: {
      const RandomView marks = pick_words(48);
      if (marks.size() < 48) return add_update();
      Groups grid{.x = random().below(3), .y = random().below(3), .z = random().below(3)};
      if (!constants.empty() && random().chance(40)) grid.y = constants[random().below(constants.size())].first;
      return dispatch("mark_groups", {.groups = grid, .constants = {value}, .bindings = {marks.ref}}, {{marks, true}});
    }
  }
}

void RandomScope::add_two_buffer_dispatch() {
  const RandomView source = pick_words();
  RandomView result = pick_words();
  const auto n = static_cast<uint32_t>(std::min(source.size(), result.size()) / 4);
  const Constants::Value value = pick_value(random().below(1000));
  const std::vector<RandomUse> uses = {{source, false}, {result, true}};
  if (random().chance(20)) {
    const Dispatch in_place{.groups = groups_for(n), .constants = {value, n}, .bindings = {source.ref, source.ref}};
    return dispatch("aliasing_add", in_place, {{source, true}});
  }
  if (overlap(source, result)) return add_dispatch();
  const std::vector<BufferRef> bindings = {source.ref, result.ref};
  switch (random().below(4)) {
    case 0: return dispatch("copy_elements", {.groups = groups_for(n), .constants = {n}, .bindings = bindings}, uses);
    case 1: return dispatch("sum_all", {.constants = {n}, .bindings = bindings}, uses);
    case 2: return dispatch("hole_0_2", {.groups = groups_for(n), .constants = {n}, .bindings = bindings}, uses);
    default: return dispatch("slow_copy", {.constants = {100U, n}, .bindings = bindings}, uses);
  }
}

void RandomScope::add_three_buffer_dispatch() {
  const RandomView a = pick_words();
  const RandomView b = pick_words();
  const RandomView result = pick_words();
  if (overlap(a, result) || overlap(b, result)) return add_dispatch();
  const auto n = static_cast<uint32_t>(std::min({a.size(), b.size(), result.size()}) / 4);
  if (random().chance(50)) {
    const Dispatch combine{.groups = groups_for(n),
                           .constants = {pick_value(random().below(100)), n},
                           .bindings = {a.ref, b.ref, result.ref}};
    return dispatch("combine", combine, {{a, false}, {b, false}, {result, true}});
  }
  const Dispatch sets{.groups = groups_for(n), .constants = {n}, .bindings = {a.ref, result.ref, b.ref}};
  dispatch("three_sets", sets, {{a, false}, {b, false}, {result, true}});
}

/// Writes a cell of group counts, in one of three ways; what is there stays small.
void RandomScope::add_counts() {
  const RandomView& cell = counts[random().below(counts.size())];
  const std::vector<uint32_t> grid = {random().below(3), random().below(3), random().below(3)};
  switch (random().below(3)) {
    case 0:
      order({{cell, true}});
      rec.update(cell.ref, grid);
      return;
    case 1: {
      const RandomView& other = counts[random().below(counts.size())];
      if (other.offset == cell.offset) return;
      order({{cell, true}, {other, false}});
      rec.copy(cell.ref, other.ref);
      return;
    }
    default:
      dispatch("write_counts", {.constants = {grid[0], grid[1], grid[2]}, .bindings = {cell.ref}}, {{cell, true}});
  }
}

void RandomScope::add_indirect() {
  const RandomView& cell = counts[random().below(counts.size())];
  const RandomView marks = pick_words(48);
  if (marks.size() < 48) return add_fill();
  const Constants::Value value = pick_value(random().below(1000));
  // A kernel whose threads share no word, whatever the grid.
  order({{cell, false}, {marks, true}});
  rec.dispatch_indirect(world_.kernels["mark_groups"], cell.ref, {.constants = {value}, .bindings = {marks.ref}});
}

}  // namespace pianola::test

// SPDX-License-Identifier: Apache-2.0
// Random transfers, barriers, events and nested command buffers; random_dispatch.cpp has the dispatches.
#include "random_scope.hpp"

namespace pianola::test {

void RandomScope::add_command(uint32_t depth) {
  if (world_.left == 0) return;
  --world_.left;
  add_noise();
  const uint32_t kind = random().below(100);
  if (kind < 18) return add_fill();
  if (kind < 28) return add_update();
  if (kind < 46) return add_copy();
  if (kind < 49) return add_discard();
  if (kind < 62) return add_dispatch();
  if (kind < 74) return add_two_buffer_dispatch();
  if (kind < 82) return add_three_buffer_dispatch();
  if (kind < 92) return counts.empty() ? add_copy() : random().chance(50) ? add_counts() : add_indirect();
  return world_.options.nested && depth < 2 ? add_nested(depth) : add_fill();
}

RandomView RandomScope::pick_bytes() {
  const RandomView& view = views[random().below(views.size())];
  if (random().chance(15)) return view;
  const uint64_t at = random().below(view.size() + 1);
  const uint64_t most = view.size() - at;
  const uint64_t size = random().chance(10) ? 0 : random().below(std::min<uint64_t>(most, 90) + 1);
  return view.part(at, size);
}

/// A range that a kernel takes: at least `least` bytes, a multiple of 4, at an aligned offset.
RandomView RandomScope::pick_words(uint64_t least) {
  const uint64_t step = world_.options.dispatch_alignment;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const RandomView& view = views[random().below(views.size())];
    if (view.size() < least) continue;
    const uint64_t at = step * random().below((view.size() - least) / step + 1);
    const uint64_t words = (view.size() - at) / 4;
    const uint64_t fewest = (least + 3) / 4;
    return view.part(at, 4 * (fewest + random().below(words - fewest + 1)));
  }
  return views[0].part(0, 0);
}

/// A constant by value, or now and then a named one, which then has a value of its own.
Constants::Value RandomScope::pick_value(uint32_t value) {
  if (constants.empty() || !random().chance(20)) return value;
  return constants[random().below(constants.size())].first;
}

/// Puts what is needed before a command with these accesses, and notes them.
void RandomScope::order(const std::vector<RandomUse>& uses) {
  if (world_.options.synchronised) synchronise(uses);
  world_.hazards.tick();
  for (const RandomUse& use : uses) {
    log.push_back(use.view.access(use.writes));
    world_.hazards.apply(log.back());
  }
}

void RandomScope::synchronise(const std::vector<RandomUse>& uses) {
  ByteHazards& hazards = world_.hazards;
  const auto is_ordered = [&] {
    return std::none_of(uses.begin(), uses.end(),
                        [&](const RandomUse& use) { return hazards.conflicts(use.view.access(use.writes)); });
  };
  if (is_ordered()) return;
  const uint32_t way = random().below(3);
  if (way == 0 && !signals_.empty()) {
    const auto& [event, time] = signals_[random().below(signals_.size())];
    rec.wait_event(event);
    hazards.seal_all(time);
    if (is_ordered()) return;
  }
  const bool is_plain = std::none_of(uses.begin(), uses.end(), [](const RandomUse& use) { return use.view.may_alias; });
  if (way == 1 && is_plain) {
    std::vector<BufferRef> ranges;
    for (const RandomUse& use : uses) {
      ranges.push_back(use.view.ref);
      hazards.seal(use.view.access(true), hazards.now());
    }
    rec.barrier(ranges);
    return;
  }
  rec.barrier();
  hazards.seal_all(hazards.now());
}

/// Barriers, events and debug groups that nobody needs.
void RandomScope::add_noise() {
  if (random().chance(6)) {
    rec.barrier();
    world_.hazards.seal_all(world_.hazards.now());
  }
  if (random().chance(10)) {
    const bool reuse = !signals_.empty() && random().chance(40);
    const EventRef event = reuse ? signals_[0].first : rec.event();
    rec.signal_event(event);
    if (reuse) {
      signals_[0].second = world_.hazards.now();
    } else {
      signals_.emplace_back(event, world_.hazards.now());
    }
  }
  if (random().chance(4)) rec.begin_debug_group("group").end_debug_group();
  if (signals_.size() > 1 && random().chance(5)) {
    rec.reset_event(signals_.back().first);
    signals_.pop_back();
  }
}

void RandomScope::add_fill() {
  RandomView target = pick_bytes();
  const uint32_t pattern = 1U << random().below(5);
  target = target.part(0, target.size() / pattern * pattern);
  const Bytes bytes = pattern_bytes(pattern, random().below(50));
  order({{target, true}});
  rec.fill(target.ref, Pattern::from_bytes(bytes));
  if (!random().chance(25)) return;
  // A neighbour that may be merged with it.
  const uint64_t end = target.ref.offset + target.size();
  for (const RandomView& view : views) {
    if (view.ref.slot != target.ref.slot || end + pattern > view.ref.offset + view.size()) continue;
    if (end < view.ref.offset) continue;
    const RandomView next = view.part(end - view.ref.offset, pattern);
    order({{next, true}});
    rec.fill(next.ref, Pattern::from_bytes(bytes));
    return;
  }
}

void RandomScope::add_update() {
  const RandomView target = pick_bytes();
  order({{target, true}});
  rec.update(target.ref, pattern_bytes(target.size(), random().below(1000)));
}

void RandomScope::add_copy() {
  const RandomView a = pick_bytes();
  const RandomView b = pick_bytes();
  const uint64_t size = std::min(a.size(), b.size());
  const RandomView target = a.part(0, size);
  const RandomView source = b.part(0, size);
  const bool same_memory = target.memory == source.memory;
  const uint64_t distance =
      target.offset > source.offset ? target.offset - source.offset : source.offset - target.offset;
  if (same_memory && distance < size) return add_update();
  order({{target, true}, {source, false}});
  rec.copy(target.ref, source.ref);
}

/// Contents are undefined after a discard, so it is filled again.
void RandomScope::add_discard() {
  const RandomView target = pick_bytes();
  order({{target, true}});
  rec.discard(target.ref).barrier();
  world_.hazards.seal_all(world_.hazards.now());
  order({{target, true}});
  rec.fill(target.ref, static_cast<uint8_t>(random().below(256)));
}

void RandomScope::add_nested(uint32_t depth) {
  RandomScope inner(world_);
  ExecuteArguments arguments;
  const uint32_t count = 1 + random().below(std::min<uint64_t>(views.size(), 3));
  const uint32_t first = random().below(views.size());
  for (uint32_t i = 0; i < count; ++i) {
    const RandomView& outer = views[(first + i) % views.size()];
    const uint64_t step = world_.options.dispatch_alignment;
    const uint64_t at = outer.size() > 2 * step && random().chance(50) ? step : 0;
    RandomView view = outer.part(at, outer.size() - at);
    const SlotOptions slot{.alignment = static_cast<uint32_t>(std::min<uint64_t>(step, default_slot_alignment)),
                           .may_alias = outer.may_alias};
    arguments.bindings.push_back({SlotId{i}, view.ref});
    view.ref = inner.rec.buffer("inner" + std::to_string(i), view.size(), slot);
    inner.views.push_back(view);
  }
  const auto& [outer_constant, value] = constants[random().below(constants.size())];
  inner.constants.emplace_back(inner.rec.constant("inner", 4), value);
  const bool by_name = random().chance(50);
  arguments.constants.push_back({ConstantId{0}, by_name ? Constants::Value(outer_constant) : Constants::Value(value)});

  const uint32_t commands = 1 + random().below(6);
  for (uint32_t i = 0; i < commands; ++i) inner.add_command(depth + 1);
  const Result<CommandBuffer> recorded = inner.rec.finish();
  if (!recorded) {
    rec.execute(CommandBuffer());  // makes the whole list fail
    return;
  }
  rec.execute(*recorded, arguments);
  log.insert(log.end(), inner.log.begin(), inner.log.end());
  if (!random().chance(30)) return;
  if (world_.options.synchronised) {
    rec.barrier();
    world_.hazards.seal_all(world_.hazards.now());
  }
  rec.execute(*recorded, arguments);
  world_.hazards.tick();
  for (const ByteAccess& access : inner.log) world_.hazards.apply(access);
  log.insert(log.end(), inner.log.begin(), inner.log.end());
}

}  // namespace pianola::test

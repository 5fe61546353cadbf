// SPDX-License-Identifier: Apache-2.0
#include "reference_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reference_run.hpp"

namespace pianola::reference {
namespace {

std::vector<Work> works_of(const Plan& plan) {
  std::vector<Work> works;
  for (const PlanNode& node : plan.data()->nodes) works.push_back(read_node(plan.command_buffer(), *node.command));
  return works;
}

/// The bytes that these commands read or write, as a sorted list of disjoint ranges.
std::vector<Access> footprint(std::span<const Work* const> works, bool writes) {
  std::vector<Access> all;
  for (const Work* work : works) {
    for (const Access& access : work->accesses) {
      if (access.writes == writes && access.begin < access.end) all.push_back(access);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Access& a, const Access& b) { return std::pair(a.slot, a.begin) < std::pair(b.slot, b.begin); });
  std::vector<Access> joined;
  for (const Access& access : all) {
    if (joined.empty() || joined.back().slot != access.slot || joined.back().end < access.begin) {
      joined.push_back(access);
    } else {
      joined.back().end = std::max(joined.back().end, access.end);
    }
  }
  return joined;
}

/// A node may stand for several commands if it touches the same bytes and does the same, whichever runs first.
bool stands_for(const List& list, const Work& node, std::span<const Work* const> works) {
  if (works.size() == 1) return node == *works[0];
  for (const Work* work : works) {
    if (work->op != node.op) return false;
  }
  if (node.op != Op::fill && node.op != Op::update && node.op != Op::copy) return false;
  const Work* const alone[] = {&node};
  for (const bool writes : {true, false}) {
    if (footprint(alone, writes) != footprint(works, writes)) return false;
  }
  const Memory wanted = run_in_order(list, 5, alone);
  std::vector<const Work*> reversed(works.rbegin(), works.rend());
  return run_in_order(list, 5, works) == wanted && run_in_order(list, 5, reversed) == wanted;
}

/// Finds which steps each node stands for, trying shorter runs first.
class Matcher {
 public:
  Matcher(const List& list, const Plan& plan) : list_(list), plan_(*plan.data()), nodes_(works_of(plan)) {
    cover_.resize(list.steps.size());
  }

  std::optional<Cover> run() {
    if (!match_from(0, 0)) return std::nullopt;
    return cover_;
  }

 private:
  bool match_from(size_t step, size_t node) {
    while (step < list_.steps.size() && list_.steps[step].work.does_nothing()) ++step;
    if (node == nodes_.size()) return step == list_.steps.size();
    if (failed_.count({step, node}) != 0) return false;
    std::vector<const Work*> works;
    for (size_t end = step; end < list_.steps.size(); ++end) {
      const Work& work = list_.steps[end].work;
      if (work.does_nothing()) continue;
      if (work.op != nodes_[node].op) break;
      works.push_back(&work);
      cover_[end] = static_cast<uint32_t>(node);
      const bool source_fits = list_.steps[step].source == plan_.nodes[node].source;
      if (source_fits && stands_for(list_, nodes_[node], works) && match_from(end + 1, node + 1)) return true;
    }
    failed_[{step, node}] = true;
    return false;
  }

  const List& list_;
  const Plan::Data& plan_;
  std::vector<Work> nodes_;
  Cover cover_;
  std::map<std::pair<size_t, size_t>, bool> failed_;
};

/// Sync points between the two nodes' waves must lead from the first one's kind of work to the second one's, directly
/// or through kinds that wait for each other in turn. Only those count that hold the memory in question.
template <class Holds>
bool leads(const Plan::Data& plan, uint32_t from, uint32_t to, Holds holds) {
  const PlanNode& first = plan.nodes[from];
  const PlanNode& second = plan.nodes[to];
  uint8_t done =
      static_cast<uint8_t>(first.kind);  // work of these kinds that was before a sync point follows the first
  uint8_t after = 0;                     // work of these kinds that comes now follows it
  for (uint32_t wave = first.chain; wave < second.chain; ++wave) {
    const SyncPoint& sync = plan.syncs[wave];
    if ((sync.source_kinds & done) == 0 || !(sync.all_memory || holds(wave))) continue;
    after = static_cast<uint8_t>(after | sync.destination_kinds);
    done = static_cast<uint8_t>(done | after);
  }
  return (after & static_cast<uint8_t>(second.kind)) != 0;
}

std::span<const Range> ranges_of(const Plan::Data& plan, uint32_t sync) {
  const uint32_t first = plan.syncs[sync].first_range;
  return std::span(plan.sync_ranges).subspan(first, plan.syncs[sync + 1].first_range - first);
}

/// The first byte from `begin` on where a range of these sync points begins or ends; at most the access's end.
uint64_t next_change(const Plan::Data& plan, uint32_t from, uint32_t to, const Access& access, uint64_t begin) {
  uint64_t next = access.end;
  for (uint32_t wave = plan.nodes[from].chain; wave < plan.nodes[to].chain; ++wave) {
    for (const Range& range : ranges_of(plan, wave)) {
      if (static_cast<uint32_t>(range.slot) != access.slot) continue;
      if (range.offset > begin) next = std::min(next, range.offset);
      if (range.offset + range.size > begin) next = std::min(next, range.offset + range.size);
    }
  }
  return next;
}

/// Every byte that must be in order is, through sync points whose ranges have that byte.
bool is_synchronised(const Plan::Data& plan, uint32_t from, uint32_t to, const NeededOrder& needed) {
  if (needed.all && !leads(plan, from, to, [](uint32_t) { return false; })) return false;
  for (const Access& access : needed.ranges) {
    for (uint64_t byte = access.begin; byte < access.end; byte = next_change(plan, from, to, access, byte)) {
      const auto has_byte = [&](const Range& range) {
        return static_cast<uint32_t>(range.slot) == access.slot && range.offset <= byte &&
               byte < range.offset + range.size;
      };
      if (!leads(plan, from, to, [&](uint32_t wave) { return std::ranges::any_of(ranges_of(plan, wave), has_byte); })) {
        return false;
      }
    }
  }
  return true;
}

std::optional<std::string> find_bad_wave(const Plan::Data& plan) {
  std::vector<bool> seen(plan.nodes.size());
  for (size_t wave = 0; wave + 1 < plan.first_in_wave.size(); ++wave) {
    for (const NodeId id : plan.wave(wave)) {
      const auto node = static_cast<uint32_t>(id);
      if (seen[node]) return fmt::format("node {} stands twice in the order", node);
      seen[node] = true;
      if (plan.nodes[node].chain != wave)
        return fmt::format("node {} is in wave {}, not {}", node, wave, plan.nodes[node].chain);
    }
  }
  for (size_t node = 0; node < seen.size(); ++node) {
    if (!seen[node]) return fmt::format("node {} is in no wave", node);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Cover> match(const List& list, const Plan& plan) {
  return Matcher(list, plan).run();
}

std::vector<std::vector<bool>> reachability(const Plan::Data& plan) {
  const size_t count = plan.nodes.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  for (size_t b = 0; b < count; ++b) {
    const auto add = [&](size_t a) {
      before[b][a] = true;
      for (size_t i = 0; i < count; ++i) before[b][i] = before[b][i] || before[a][i];
    };
    if (plan.form == PlanForm::waves) {
      for (size_t a = 0; a < count; ++a) before[b][a] = plan.nodes[a].chain < plan.nodes[b].chain;
      continue;
    }
    for (size_t a = 0; a < b; ++a) {
      if (plan.nodes[a].chain == plan.nodes[b].chain) add(a);
    }
    for (const NodeId dep : plan.deps_of(b)) add(static_cast<uint32_t>(dep));
  }
  return before;
}

std::optional<std::string> find_fault(const List& list, const Plan& plan, Ordering ordering) {
  const Plan::Data& data = *plan.data();
  const std::optional<Cover> cover = match(list, plan);
  if (!cover) return "the nodes are not those of the list:\n" + plan.to_string();
  if (data.form == PlanForm::waves) {
    if (auto fault = find_bad_wave(data)) return fault;
  }
  const auto before = reachability(data);
  for (size_t b = 0; b < list.steps.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (!must_precede(list, ordering, a, b)) continue;
      const uint32_t from = *(*cover)[a];
      const uint32_t to = *(*cover)[b];
      if (from == to) continue;
      if (!before[to][from])
        return fmt::format("step {} (node {}) does not precede step {} (node {})\n{}", a, from, b, to,
                           plan.to_string());
      if (data.form == PlanForm::waves && ordering != Ordering::serial &&
          !is_synchronised(data, from, to, needed_order(list, ordering, a, b))) {
        return fmt::format("the sync points do not order all that nodes {} and {} conflict on\n{}", from, to,
                           plan.to_string());
      }
    }
  }
  return std::nullopt;
}

}  // namespace pianola::reference

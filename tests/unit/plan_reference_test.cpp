// SPDX-License-Identifier: Apache-2.0
// Random lists of every shape, planned in both forms and all orderings, judged by the independent reference.
#include "support/plan_script.hpp"
#include "support/random_list.hpp"
#include "support/reference_plan.hpp"

namespace pianola::reference {
namespace {

using test::make_random_list;
using test::RandomList;
using test::RandomListOptions;

constexpr uint64_t lists = 1500;  ///< a test

const KernelLibrary& kernels() {
  static const KernelLibrary library = [] {
    auto loaded = KernelLibrary::load(PIANOLA_TEST_KERNELS);
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
    return loaded ? *loaded : KernelLibrary();
  }();
  return library;
}

struct Way {
  DeviceProfile profile;
  PlanOptions options;
};

/// Forms, lanes, merging and costs, taken in turn.
Way way_of(uint64_t seed, Ordering ordering) {
  Way way;
  way.options.ordering = ordering;
  way.options.form = seed % 2 == 0 ? PlanForm::lanes : PlanForm::waves;
  way.options.merge = seed % 3 != 0;
  const uint32_t lane_counts[] = {4, 1, 2, 32, 3, 16};
  way.options.lanes = lane_counts[seed % 6];
  if (seed % 4 >= 2) way.profile.fill_kernel.fixed_us = 0.1;  // fills become compute work
  if (seed % 8 >= 4) way.profile.copy_kernel.fixed_us = 0.1;
  return way;
}

/// The list, with slots that alias where the generator put them.
List placed(const RandomList& random) {
  List list = read_list(random.commands);
  for (size_t i = 0; i < random.slots.size(); ++i) {
    list.places[i] = {random.slots[i].memory, random.slots[i].offset, random.slots[i].size};
  }
  return list;
}

void judge(const RandomListOptions& options, Ordering ordering) {
  const auto list = make_random_list(kernels(), options);
  ASSERT_TRUE(list.has_value()) << to_string(list.error());
  const Way way = way_of(options.seed, ordering);
  const auto plan = make_plan(list->commands, way.profile, way.options);
  ASSERT_TRUE(plan.has_value()) << to_string(plan.error());
  const List meaning = placed(*list);
  const auto fault = find_fault(meaning, *plan, ordering);
  ASSERT_FALSE(fault.has_value()) << *fault << "\nlist " << options.seed << "\n" << list->commands.to_string();
  if (ordering == Ordering::barriers && !options.synchronised) return;  // its result is open
  const auto wrong = find_wrong_order(meaning, *plan, options.seed);
  ASSERT_FALSE(wrong.has_value()) << *wrong << "\nlist " << options.seed << "\n"
                                  << list->commands.to_string() << plan->to_string();
}

void judge_many(uint64_t first, bool synchronised, Ordering ordering) {
  for (uint64_t seed = first; seed < first + lists; ++seed) {
    RandomListOptions options{.seed = seed, .synchronised = synchronised};
    options.commands = seed % 3 == 0 ? 3 + static_cast<uint32_t>(seed % 5) : 5 + static_cast<uint32_t>(seed % 40);
    ASSERT_NO_FATAL_FAILURE(judge(options, ordering));
  }
}

TEST(PlanReference, SynchronisedListsKeepEveryOrderTheirBarriersPromise) {
  judge_many(1000000, true, Ordering::barriers);
}

TEST(PlanReference, BarriersOfUnsynchronisedListsAreKeptToo) {
  judge_many(2000000, false, Ordering::barriers);
}

TEST(PlanReference, InferredPlansOrderEveryConflict) {
  judge_many(3000000, false, Ordering::inferred);
}

TEST(PlanReference, InferredPlansOfSynchronisedListsOrderEveryConflict) {
  judge_many(4000000, true, Ordering::inferred);
}

TEST(PlanReference, SerialPlansOrderEverything) {
  judge_many(5000000, false, Ordering::serial);
}

// The judge itself: what it must find.

struct Planted {
  List meaning;
  std::shared_ptr<Plan::Data> data;
};

/// The plan as data that can be damaged.
std::shared_ptr<Plan::Data> damageable(const Plan& plan) {
  const Plan::Data& from = *plan.data();
  auto data = std::make_shared<Plan::Data>();
  data->commands = from.commands;
  data->form = from.form;
  data->nodes = from.nodes;
  data->groups = from.groups;
  data->first_dep = from.first_dep;
  data->deps = from.deps;
  data->order = from.order;
  data->first_in_wave = from.first_in_wave;
  data->syncs = from.syncs;
  data->sync_ranges = from.sync_ranges;
  // Merged and remapped commands live in the first plan.
  static std::vector<Plan> keep;
  keep.push_back(plan);
  return data;
}

/// Of a synchronised list.
Planted plant(uint64_t seed, PlanForm form) {
  const auto list = make_random_list(kernels(), {.seed = seed, .commands = 20});
  EXPECT_TRUE(list.has_value());
  PlanOptions options;
  options.form = form;
  const auto plan = make_plan(list->commands, {}, options);
  EXPECT_TRUE(plan.has_value());
  return {placed(*list), damageable(*plan)};
}

/// In both forms, with few lanes and nothing merged.
void judge_script(Script& script) {
  const CommandBuffer commands = script.finish();
  const List meaning = read_list(commands);
  for (const PlanForm form : {PlanForm::lanes, PlanForm::waves}) {
    const auto plan = make_plan(commands, {.form = form, .lanes = 4}, {.merge = false});
    ASSERT_TRUE(plan.has_value()) << to_string(plan.error());
    const auto fault = find_fault(meaning, *plan, Ordering::barriers);
    EXPECT_FALSE(fault.has_value()) << *fault;
  }
}

TEST(PlanReference, AnAccessOverManyNarrowedBarriersKeepsTheOrderOfAll) {
  Script script;
  const BufferRef x = script.buffer("x", 1024);
  for (uint32_t i = 0; i < 64; ++i) script.write(x.view(4 * i, 4));
  for (uint32_t i = 1; i < 64; ++i) {
    script.barrier({x.view(4 * i, 4)});
    script.write(script.buffer("other" + std::to_string(i), 4));
  }
  script.read(x.view(0, 256));
  judge_script(script);
}

TEST(PlanReference, AWaitForAnEarlyEventKeepsItsOrderBehindManyReads) {
  for (const size_t waited : {0, 5, 50}) {
    Script script;
    const BufferRef x = script.buffer("x", 64);
    std::vector<EventRef> events;
    for (int round = 0; round < 80; ++round) {
      for (int i = 0; i < 6; ++i) script.read(x);
      events.push_back(script.rec.event());
      script.rec.signal_event(events.back());
    }
    script.rec.wait_event(events[waited]);
    script.write(x);
    judge_script(script);
  }
}

TEST(PlanReference, FindsAMissingEdge) {
  uint32_t planted = 0;
  uint32_t found = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Planted good = plant(seed, PlanForm::lanes);
    ASSERT_FALSE(find_fault(good.meaning, Plan(good.data), Ordering::barriers).has_value()) << seed;
    for (size_t node = 0; node < good.data->nodes.size(); ++node) {
      if (good.data->deps_of(node).empty()) continue;
      Planted bad = plant(seed, PlanForm::lanes);
      const uint32_t at = bad.data->first_dep[node];
      bad.data->deps.erase(bad.data->deps.begin() + at);
      for (size_t i = node + 1; i < bad.data->first_dep.size(); ++i) --bad.data->first_dep[i];
      ++planted;
      const bool is_found = find_fault(bad.meaning, Plan(bad.data), Ordering::barriers).has_value();
      found += is_found ? 1 : 0;
    }
  }
  EXPECT_GT(planted, 100U);
  // A plan may wait for a little more than it must, so that a few can be missed without harm.
  EXPECT_GE(found * 100, planted * 95) << found << " of " << planted << " found";
}

TEST(PlanReference, FindsALostCommand) {
  Planted bad = plant(3, PlanForm::waves);
  bad.data->nodes.erase(bad.data->nodes.begin() + 2);
  EXPECT_TRUE(find_fault(bad.meaning, Plan(bad.data), Ordering::barriers).has_value());
}

TEST(PlanReference, FindsANodeThatComesAWaveTooEarly) {
  uint32_t planted = 0;
  uint32_t found = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Planted bad = plant(seed, PlanForm::waves);
    if (bad.data->first_in_wave.size() < 3) continue;
    const auto node = static_cast<size_t>(bad.data->wave(1)[0]);
    bad.data->nodes[node].chain = 0;
    ++planted;
    found += find_fault(bad.meaning, Plan(bad.data), Ordering::barriers).has_value() ? 1 : 0;
  }
  EXPECT_GT(planted, 10U);
  EXPECT_EQ(found, planted);
}

TEST(PlanReference, FindsASyncPointWithoutItsKinds) {
  uint32_t planted = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Planted bad = plant(seed, PlanForm::waves);
    if (bad.data->first_in_wave.size() < 3) continue;
    bad.data->syncs[0].source_kinds = 0;
    ++planted;
    EXPECT_TRUE(find_fault(bad.meaning, Plan(bad.data), Ordering::barriers).has_value()) << seed;
  }
  EXPECT_GT(planted, 10U);
}

TEST(PlanReference, FindsAByteThatASyncPointLeavesOut) {
  // The last of the three conflicts with the first on "y", two waves away.
  Script script;
  const BufferRef x = script.buffer("x", 64);
  const BufferRef y = script.buffer("y", 64);
  script.work({{x, pianola::Access::out}, {y, pianola::Access::out}});
  script.barrier();
  script.work({{x, pianola::Access::inout}});
  script.barrier();
  script.work({{x.view(16, 8), pianola::Access::in},
               {x.view(40, 8), pianola::Access::in},
               {y.view(8, 8), pianola::Access::in}});
  const CommandBuffer commands = script.finish();
  const List meaning = read_list(commands);
  const auto plan = make_plan(commands, {.form = PlanForm::waves});
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->data()->sync_ranges.size(), 4U);
  ASSERT_FALSE(find_fault(meaning, *plan, Ordering::barriers).has_value());
  for (size_t i = 0; i < 4; ++i) {
    auto last = damageable(*plan);
    --last->sync_ranges[i].size;
    EXPECT_TRUE(find_fault(meaning, Plan(last), Ordering::barriers).has_value()) << i;
    auto first = damageable(*plan);
    ++first->sync_ranges[i].offset;
    --first->sync_ranges[i].size;
    EXPECT_TRUE(find_fault(meaning, Plan(first), Ordering::barriers).has_value()) << i;
  }
}

TEST(PlanReference, FindsAnOrderWithAnotherResult) {
  uint32_t found = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Planted bad = plant(seed, PlanForm::lanes);
    for (uint32_t i = 0; i < bad.data->nodes.size(); ++i) bad.data->nodes[i].chain = i;  // nothing is ordered
    bad.data->deps.clear();
    bad.data->first_dep.assign(bad.data->nodes.size() + 1, 0);
    found += find_wrong_order(bad.meaning, Plan(bad.data), seed).has_value() ? 1 : 0;
  }
  EXPECT_GE(found, 25U);
}

}  // namespace
}  // namespace pianola::reference

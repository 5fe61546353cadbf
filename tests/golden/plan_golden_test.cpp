// SPDX-License-Identifier: Apache-2.0
// Typical lists and their plans: a script here, the plan as text and as a dot file in plans/.
#include <array>
#include <functional>

#include "../support/plan_script.hpp"
#include "golden.hpp"
#include "pianola/plan.hpp"

namespace pianola {
namespace {

struct Case {
  const char* name;
  void (*record)(Script&);
  DeviceProfile profile;
  PlanOptions options;
};

void chain(Script& s) {
  const BufferRef x = s.buffer("x", 1024);
  const BufferRef y = s.buffer("y", 1024);
  s.rec.fill(x, 1.0F).barrier();
  s.rec.dispatch(s.kernels.move(), {.groups = {4, 2}, .bindings = {x, y}})
      .barrier()
      .copy(x.view(0, 16), y.view(32, 16));
}

// Two groups of six, the second reads what the first wrote in another order.
void groups(Script& s) {
  const BufferRef x = s.buffer("x", 96);
  const BufferRef y = s.buffer("y", 96);
  for (uint64_t i = 0; i < 6; ++i) s.write(x.view(16 * i, 16));
  s.barrier();
  for (uint64_t i = 0; i < 6; ++i) s.work({{x.view(16 * (5 - i), 16), Access::in}, {y.view(16 * i, 16), Access::out}});
  s.barrier();
  s.read(y);
}

void barriers(Script& s) {
  const BufferRef x = s.buffer("x");
  const BufferRef unrelated = s.buffer("unrelated");
  s.rec.barrier().fill(x, 1U).barrier().barrier().fill(unrelated, 2U).barrier();
  s.read(x);
  s.barrier();
}

void narrowed(Script& s) {
  const BufferRef x = s.buffer("x");
  s.write(x);
  s.barrier({x.view(0, 16)});
  s.read(x.view(0, 16));
  s.read(x.view(16, 16));
  s.barrier();
  s.write(x.view(0, 32));
}

void event(Script& s) {
  const BufferRef x = s.buffer("x");
  const EventRef event = s.rec.event();
  s.write(x.view(0, 32));
  s.rec.signal_event(event);
  s.write(x.view(32, 32));
  s.rec.wait_event(event);
  s.read(x.view(0, 32));
  s.read(x.view(32, 32));
}

void nested(Script& s) {
  Script inner;
  const BufferRef a = inner.buffer("a", 32);
  const ConstantRef n = inner.rec.constant("n", 4);
  inner.rec.begin_debug_group("inner");
  inner.fill(a, 9);
  inner.barrier();
  inner.rec.dispatch(inner.kernels.work(), {.groups = {n}, .uses = {{a, Access::inout}}});
  inner.rec.end_debug_group();
  const CommandBuffer list = inner.finish();
  const BufferRef x = s.buffer("x", 1024);
  const ConstantRef count = s.rec.constant("count", 4);
  s.rec.begin_debug_group("outer");
  s.rec.execute(list, {.bindings = {{a.slot, x.view(0, 256)}}, .constants = {{n.id, 12U}}});
  s.rec.execute(list, {.bindings = {{a.slot, x.view(256, 256)}}, .constants = {{n.id, count}}});
  s.rec.end_debug_group();
  s.read(x);
}

void merged(Script& s) {
  const BufferRef x = s.buffer("x");
  const BufferRef y = s.buffer("y");
  s.rec.fill(x.view(0, 16), 3U).fill(x.view(16, 16), 3U).fill(x.view(0, 16), 3U);
  s.rec.update(x.view(32, 4), std::array<uint8_t, 4>{1, 2, 3, 4}).update(x.view(36, 4), std::array<uint8_t, 4>{});
  s.rec.copy(y.view(0, 8), x.view(40, 8)).copy(y.view(8, 8), x.view(48, 8)).fill(y.view(60, 0), 1U);
}

void indirect(Script& s) {
  const BufferRef counts = s.buffer("counts", 12);
  const BufferRef x = s.buffer("x");
  s.write(counts);
  s.barrier();
  s.rec.dispatch_indirect(s.kernels.add(), counts, {.bindings = {x.view(0, 32), x.view(32, 32)}});
  s.barrier();
  s.fill(counts);
}

void inferred(Script& s) {
  const BufferRef x = s.buffer("x");
  const BufferRef y = s.buffer("y");
  s.fill(x, 1);
  s.fill(y, 2);
  s.rec.dispatch(s.kernels.add(), {.bindings = {x, y}});
  s.rec.dispatch(s.kernels.add(), {.bindings = {y, x}});
  s.rec.discard(y);
  s.fill(y, 4);
}

void opaque_and_aliases(Script& s) {
  const BufferRef a = s.buffer("a", 64, true);
  const BufferRef b = s.buffer("b", 64, true);
  const BufferRef x = s.buffer("x");
  s.write(a.view(0, 8));
  s.write(x);
  s.barrier();
  s.read(b.view(32, 8));
  s.opaque();
}

void collectives(Script& s) {
  const ChannelRef ring = s.rec.channel("ring");
  const BufferRef x = s.buffer("x", 1024);
  const auto reduce = [&](uint64_t at) {
    s.rec.collective({.channel = ring, .send = x.view(at, 256), .receive = x.view(at + 256, 256), .count = 64});
  };
  s.fill(x, 1);
  s.barrier();
  reduce(0);
  reduce(512);
  s.barrier();
  s.read(x.view(256, 256));
}

const DeviceProfile waves = {.name = "waves", .form = PlanForm::waves};
const DeviceProfile kernel_fills = {.name = "kernel fills", .fill_kernel = {0.5, 0.2}};

const std::array cases = {
    Case{"chain", chain},
    Case{"chain_waves", chain, waves},
    Case{"groups", groups},
    Case{"groups_one_lane", groups, {}, {.lanes = 1}},
    Case{"groups_waves", groups, waves},
    Case{"barriers", barriers},
    Case{"narrowed", narrowed},
    Case{"event", event},
    Case{"nested", nested},
    Case{"nested_waves", nested, waves},
    Case{"merged", merged},
    Case{"unmerged", merged, {}, {.merge = false}},
    Case{"indirect", indirect},
    Case{"inferred", inferred, {}, {.ordering = Ordering::inferred}},
    Case{"serial_waves", inferred, waves, {.ordering = Ordering::serial}},
    Case{"kernel_fills", inferred, kernel_fills, {.ordering = Ordering::inferred}},
    Case{"opaque_and_aliases", opaque_and_aliases},
    Case{"opaque_and_aliases_waves", opaque_and_aliases, waves},
    Case{"collectives", collectives},
    Case{"collectives_waves", collectives, waves},
};

class GoldenPlan : public testing::TestWithParam<Case> {};

TEST_P(GoldenPlan, PrintsAsInItsFiles) {
  const Case& c = GetParam();
  Script script;
  c.record(script);
  auto plan = make_plan(script.finish(), c.profile, c.options);
  ASSERT_TRUE(plan) << to_string(plan.error());
  golden::expect_file(std::string("plans/") + c.name + ".txt", plan->to_string());
  golden::expect_file(std::string("plans/") + c.name + ".dot", plan->to_graphviz());
}

INSTANTIATE_TEST_SUITE_P(Plans, GoldenPlan, testing::ValuesIn(cases),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace pianola

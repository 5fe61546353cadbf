// SPDX-License-Identifier: Apache-2.0
#include "list_case.hpp"

#include <algorithm>
#include <utility>

namespace pianola::conformance {

BufferRef ListCase::buffer(std::string name, Bytes contents, MemoryKind kind) {
  Slot slot{.name = std::move(name), .kind = kind, .before = contents, .after = std::move(contents)};
  if (run_options().mode.direct) {
    Result<GuardedBuffer> memory = GuardedBuffer::make(device(), slot.before.size(), kind);
    EXPECT_TRUE(succeeded(memory));
    if (!memory) return {};
    slot.ref = record.buffer(memory->view());
    direct_.push_back(*memory);
  } else {
    slot.ref = record.buffer(slot.name, slot.before.size(), {.kind = kind});
  }
  slots_.push_back(std::move(slot));
  return slots_.back().ref;
}

ConstantRef ListCase::constant_bytes(std::string name, Bytes value) {
  constants_.push_back({std::move(name), std::move(value)});
  return record.constant(constants_.back().name, static_cast<uint32_t>(constants_.back().value.size()));
}

void ListCase::expect(const BufferRef& slot, Bytes contents) {
  for (Slot& known : slots_) {
    if (known.ref.slot != slot.slot) continue;
    ASSERT_EQ(contents.size(), known.before.size());
    known.after = std::move(contents);
    return;
  }
  FAIL() << "not a slot of this list";
}

void ListCase::run() {
  const CommandBuffer commands = must_finish(record);
  if (!commands) return;
  const Mode& mode = run_options().mode;
  switch (mode.strategy) {
    case Strategy::first: return run_replays(commands, 1);
    case Strategy::replay: return run_replays(commands, run_options().quick ? std::min(launches_, 3U) : launches_);
    case Strategy::rebound: return run_rebound(commands);
    case Strategy::oneshot: return run_oneshot(commands);
  }
}

ListCase::Memory ListCase::make_memory(uint64_t lead) const {
  Memory memory;
  for (const Slot& slot : slots_) {
    Result<GuardedBuffer> one = GuardedBuffer::make(device(), slot.before.size(), slot.kind, lead);
    EXPECT_TRUE(succeeded(one));
    memory.push_back(one ? *one : GuardedBuffer());
  }
  return memory;
}

std::vector<SlotBinding> ListCase::bind(const Memory& memory) const {
  std::vector<SlotBinding> bindings;
  for (size_t i = 0; i < slots_.size(); ++i) bindings.push_back({slots_[i].ref, memory[i].view()});
  return bindings;
}

std::vector<ConstantBinding> ListCase::bind_constants(bool zeros) const {
  std::vector<ConstantBinding> bindings;
  for (const Constant& constant : constants_) {
    const Bytes value = zeros ? Bytes(constant.value.size()) : constant.value;
    bindings.emplace_back(ConstantKey(constant.name), std::span<const std::byte>(value));
  }
  return bindings;
}

InstantiateOptions ListCase::instantiate_options() const {
  InstantiateOptions options;
  options.plan = run_options().mode.plan;
  options.native_graph = run_options().mode.native_graph;
  return options;
}

void ListCase::reset(Memory& memory) const {
  for (size_t i = 0; i < slots_.size(); ++i) EXPECT_TRUE(succeeded(memory[i].reset(slots_[i].before)));
}

void ListCase::check(const Memory& memory, bool ran, std::string_view when) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    EXPECT_TRUE(memory[i].holds(ran ? slots_[i].after : slots_[i].before, slots_[i].name)) << when;
  }
}

bool ListCase::launch(const Graph& graph, const SubmitInfo& info, std::string_view when) const {
  const Result<Submission> submission = device().queue().submit(graph, info);
  EXPECT_TRUE(succeeded(submission)) << when;
  if (!submission) return false;
  const Result<> done = submission->wait();
  EXPECT_TRUE(succeeded(done)) << when;
  return done.has_value();
}

void ListCase::run_replays(const CommandBuffer& commands, uint32_t launches) {
  const bool direct = run_options().mode.direct;
  Memory memory = direct ? direct_ : make_memory(256);
  InstantiateOptions options = instantiate_options();
  if (!direct) options.bindings = bind(memory);
  options.constants = bind_constants();
  const Graph graph = must_instantiate(commands, options);
  if (!graph) return;
  for (uint32_t launch_number = 1; launch_number <= launches; ++launch_number) {
    const bool checked = launch_number <= 2 || launch_number == launches;
    const std::string when = "launch " + std::to_string(launch_number);
    if (checked) {
      EXPECT_TRUE(succeeded(device().queue().wait_idle()));
      reset(memory);
      if (!launch(graph, {}, when)) return;
      check(memory, true, when);
    } else {
      EXPECT_TRUE(succeeded(device().queue().submit(graph))) << when;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

void ListCase::run_rebound(const CommandBuffer& commands) {
  Memory first = make_memory(256);
  Memory second = make_memory(512);
  InstantiateOptions options = instantiate_options();
  options.bindings = bind(first);
  options.constants = bind_constants(true);
  const Graph graph = must_instantiate(commands, options);
  if (!graph) return;

  const std::vector<ConstantBinding> constants = bind_constants();
  for (int round = 0; round < 3; ++round) {
    const bool use_second = round != 1;
    reset(first);
    reset(second);
    const SubmitInfo info{.bindings = use_second ? bind(second) : bind(first), .constants = constants};
    if (!launch(graph, info, "rebound")) return;
    check(first, !use_second, "first set after a rebind");
    check(second, use_second, "second set after a rebind");
  }

  // Both sets in flight together: each submission keeps what it was given.
  reset(first);
  reset(second);
  const auto one = device().queue().submit(graph, {.bindings = bind(second), .constants = constants});
  const auto two = device().queue().submit(graph, {.constants = constants});
  ASSERT_TRUE(succeeded(one) && succeeded(two));
  EXPECT_TRUE(succeeded(one->wait()) && succeeded(two->wait()));
  check(first, true, "first set, both in flight");
  check(second, true, "second set, both in flight");
  check_mixed(graph, first, second);
}

void ListCase::check_mixed(const Graph& graph, Memory& first, Memory& second) const {
  for (size_t changed = 0; changed < slots_.size() && changed < 4; ++changed) {
    reset(first);
    reset(second);
    const SubmitInfo info{.bindings = {{slots_[changed].ref, second[changed].view()}}, .constants = bind_constants()};
    if (!launch(graph, info, "one slot rebound")) return;
    Memory used = first;
    used[changed] = second[changed];
    Memory unused = second;
    unused[changed] = first[changed];
    check(used, true, "one slot rebound: used memory");
    check(unused, false, "one slot rebound: memory that is not bound");
  }
}

void ListCase::run_oneshot(const CommandBuffer& commands) {
  Memory memory = make_memory(256);
  for (int round = 0; round < 2; ++round) {
    reset(memory);
    const auto submission = device().queue().run(commands, {.bindings = bind(memory), .constants = bind_constants()});
    ASSERT_TRUE(succeeded(submission));
    ASSERT_TRUE(succeeded(submission->wait()));
    check(memory, true, "one-shot");
  }
}

Dispatch slow_copy(const BufferRef& source, const BufferRef& result) {
  constexpr uint32_t rounds = 2000;
  return {.constants = {rounds, static_cast<uint32_t>(source.size / 4)}, .bindings = {source, result}};
}

}  // namespace pianola::conformance

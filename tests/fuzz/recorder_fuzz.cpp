// SPDX-License-Identifier: Apache-2.0
// Any sequence of recorder calls with any numbers: finish() gives an error, or a recording that every ordering
// and form can plan and print.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "pianola/pianola.hpp"

namespace {

using namespace pianola;

/// Takes numbers from the input; zeros once it is used up.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool is_empty() const { return bytes_.empty(); }
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  /// Mostly small, now and then huge.
  uint64_t number() {
    const uint8_t first = byte();
    if (first < 240) return first;
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
};

class Script {
 public:
  explicit Script(Input& input) : input_(input) {
    for (const char* name : {"a", "b", "c"}) slots_.push_back(rec_.buffer(name, 64 + input_.byte(), {.alignment = 4}));
    slots_.push_back(rec_.buffer("alias", 128, {.alignment = 16, .may_alias = true}));
    for (int i = 0; i < 3; ++i) events_.push_back(rec_.event());
  }

  void step() {
    switch (input_.byte() % 12) {
      case 0: rec_.fill(range(), Pattern::from_bytes(std::span(bytes_).first(input_.byte() % 18))); break;
      case 1: rec_.update(range(), std::span(bytes_).first(input_.byte())); break;
      case 2: {
        const BufferRef source = range();
        rec_.copy(range(), source);
        break;
      }
      case 3: rec_.barrier(); break;
      case 4: rec_.barrier({range(), range()}); break;
      case 5: rec_.signal_event(event()); break;
      case 6: rec_.wait_event(event()); break;
      case 7: rec_.reset_event(event()); break;
      case 8: rec_.discard(range()); break;
      case 9: rec_.begin_debug_group("group"); break;
      case 10: rec_.end_debug_group(); break;
      default: rec_.push_constants(static_cast<uint32_t>(input_.number()), std::span(bytes_).first(input_.byte()));
    }
  }

  Result<CommandBuffer> finish() { return rec_.finish(); }

 private:
  BufferRef range() {
    const BufferRef& slot = slots_[input_.byte() % slots_.size()];
    const uint64_t offset = input_.number();
    const uint64_t size = input_.number();
    return size == 239 ? slot.view(offset) : slot.view(offset, size);
  }
  EventRef event() { return events_[input_.byte() % events_.size()]; }

  Input& input_;
  Recorder rec_;
  std::vector<BufferRef> slots_;
  std::vector<EventRef> events_;
  std::array<std::byte, 256> bytes_{};
};

void plan_all(const CommandBuffer& commands) {
  for (const Ordering ordering : {Ordering::barriers, Ordering::inferred, Ordering::serial}) {
    for (const PlanForm form : {PlanForm::lanes, PlanForm::waves}) {
      PlanOptions options;
      options.ordering = ordering;
      options.form = form;
      const auto plan = make_plan(commands, {}, options);
      if (!plan || plan->to_string().empty() || plan->to_graphviz().empty()) __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(std::span(data, size));
  Script script(input);
  while (!input.is_empty()) script.step();
  const auto commands = script.finish();
  if (!commands) {
    if (commands.error().message.empty()) __builtin_trap();
    return 0;
  }
  plan_all(*commands);
  Recorder outer;
  ExecuteArguments arguments;
  for (uint32_t i = 0; i < commands->slots().size(); ++i) {
    const auto& slot = commands->slots()[i];
    arguments.bindings.push_back({SlotId{i}, outer.buffer(slot.name, slot.size, {.may_alias = slot.may_alias})});
  }
  const auto nested = outer.execute(*commands, arguments).barrier().execute(*commands, arguments).finish();
  if (!nested) __builtin_trap();
  plan_all(*nested);
  return 0;
}

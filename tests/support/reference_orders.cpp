// SPDX-License-Identifier: Apache-2.0
// All orders that a plan allows, or some of them, carried out and compared with the list's own order.
#include <fmt/format.h>

#include "random.hpp"
#include "reference_plan.hpp"
#include "reference_run.hpp"

namespace pianola::reference {
namespace {

constexpr size_t most_exhaustive = 7;
constexpr int sampled_orders = 20;

class Orders {
 public:
  Orders(const List& list, const Plan& plan, uint32_t seed)
      : list_(list), before_(reachability(*plan.data())), seed_(seed), wanted_(list, seed) {
    for (const PlanNode& node : plan.data()->nodes) works_.push_back(read_node(plan.command_buffer(), *node.command));
    for (const Step& step : list.steps) wanted_.run(step.work);
    done_.resize(works_.size());
  }

  std::optional<std::string> try_all(const Memory& memory) {
    if (order_.size() == works_.size()) return judge(memory);
    for (size_t node = 0; node < works_.size(); ++node) {
      if (!is_ready(node)) continue;
      Memory next = memory;
      run(node, next);
      const auto fault = try_all(next);
      done_[node] = false;
      order_.pop_back();
      if (fault) return fault;
    }
    return std::nullopt;
  }

  std::optional<std::string> try_one(test::Random& random) {
    Memory memory(list_, seed_);
    done_.assign(works_.size(), false);
    order_.clear();
    while (order_.size() < works_.size()) {
      std::vector<size_t> ready;
      for (size_t node = 0; node < works_.size(); ++node) {
        if (is_ready(node)) ready.push_back(node);
      }
      if (ready.empty()) return "the plan has a cycle";
      run(ready[random.below(ready.size())], memory);
    }
    return judge(memory);
  }

  size_t size() const { return works_.size(); }

 private:
  bool is_ready(size_t node) const {
    if (done_[node]) return false;
    for (size_t other = 0; other < works_.size(); ++other) {
      if (before_[node][other] && !done_[other]) return false;
    }
    return true;
  }
  void run(size_t node, Memory& memory) {
    memory.run(works_[node]);
    done_[node] = true;
    order_.push_back(node);
  }
  std::optional<std::string> judge(const Memory& memory) const {
    if (memory == wanted_) return std::nullopt;
    return fmt::format("another result from the order {}", fmt::join(order_, " "));
  }

  const List& list_;
  std::vector<std::vector<bool>> before_;
  uint32_t seed_;
  Memory wanted_;
  std::vector<Work> works_;
  std::vector<bool> done_;
  std::vector<size_t> order_;
};

}  // namespace

std::optional<std::string> find_wrong_order(const List& list, const Plan& plan, uint64_t seed) {
  const auto contents = static_cast<uint32_t>(seed % 1000);
  Orders orders(list, plan, contents);
  if (orders.size() <= most_exhaustive) return orders.try_all(Memory(list, contents));
  test::Random random(seed);
  for (int i = 0; i < sampled_orders; ++i) {
    if (auto fault = orders.try_one(random)) return fault;
  }
  return std::nullopt;
}

}  // namespace pianola::reference

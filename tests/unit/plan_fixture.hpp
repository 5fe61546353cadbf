// SPDX-License-Identifier: Apache-2.0
// Short scripts for tests of plans, and the questions that they ask.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "format/kernel_library_data.hpp"
#include "pianola/plan.hpp"
#include "pianola/recorder.hpp"
#include "plan/plan_data.hpp"

namespace pianola {

/// Kernels that can be recorded and planned but not run.
class PaperKernels {
 public:
  PaperKernels() {
    auto data = std::make_shared<KernelLibrary::Data>();
    data->name = "paper";
    data->kernels.push_back({.name = "work"});
    data->kernels.push_back({.name = "opaque", .opaque = true});
    data->kernels.push_back({.name = "move",
                             .bindings = {{.name = "from", .binding = 0, .access = Access::in},
                                          {.name = "to", .binding = 1, .access = Access::out}}});
    data->kernels.push_back({.name = "add",
                             .bindings = {{.name = "by", .binding = 0, .access = Access::in},
                                          {.name = "to", .binding = 1, .access = Access::inout}}});
    library_ = KernelLibrary(std::move(data));
  }
  Kernel work() const { return {library_, 0, ""}; }    ///< touches what `.uses` says
  Kernel opaque() const { return {library_, 1, ""}; }  ///< touches anything
  Kernel move() const { return {library_, 2, ""}; }    ///< reads its first binding, writes its second
  Kernel add() const { return {library_, 3, ""}; }     ///< reads its first binding, changes its second

 private:
  KernelLibrary library_;
};

/// A list under construction. Each verb gives the index of its command.
class Script {
 public:
  Recorder rec;
  PaperKernels kernels;

  BufferRef buffer(const std::string& name, uint64_t size = 64, bool may_alias = false) {
    return rec.buffer(name, size, {.may_alias = may_alias});
  }
  uint32_t read(BufferRef range) { return work({{range, Access::in}}); }
  uint32_t write(BufferRef range) { return work({{range, Access::out}}); }
  uint32_t work(std::vector<Use> uses) {
    rec.dispatch(kernels.work(), {.uses = std::move(uses)});
    return next_++;
  }
  uint32_t opaque() {
    rec.dispatch(kernels.opaque(), {});
    return next_++;
  }
  uint32_t fill(BufferRef range, uint32_t value = 0) {
    rec.fill(range, value);
    return next_++;
  }
  uint32_t barrier() {
    rec.barrier();
    return next_++;
  }
  uint32_t barrier(std::initializer_list<BufferRef> ranges) {
    rec.barrier(ranges);
    return next_++;
  }
  /// Any other verb, called on `rec`, is counted by this.
  uint32_t count() { return next_++; }

  CommandBuffer finish() {
    auto commands = rec.finish();
    EXPECT_TRUE(commands) << to_string(commands.error());
    return commands ? *commands : CommandBuffer();
  }

 private:
  uint32_t next_ = 0;
};

/// Edges that cost nothing, and many lanes: nodes share a lane only if one waits for the other.
inline DeviceProfile wide_profile(PlanForm form) {
  return {.form = form, .lanes = 32, .edge_us = 0};
}

/// A list planned in both forms, with questions about its order. Nodes are named by their command's index.
class Planned {
 public:
  explicit Planned(const CommandBuffer& commands, PlanOptions options = {}) {
    for (const PlanForm form : {PlanForm::lanes, PlanForm::waves}) {
      auto plan = make_plan(commands, wide_profile(form), options);
      EXPECT_TRUE(plan) << to_string(plan.error());
      if (plan) plans_.push_back(*plan);
    }
  }

  const Plan& lanes() const { return plans_.front(); }
  const Plan& waves() const { return plans_.back(); }

  /// Both plans make `second` wait for `first`.
  bool orders(uint32_t first, uint32_t second) const {
    return reaches(find(lanes(), first), find(lanes(), second)) && wave_of(first) < wave_of(second);
  }
  /// The lanes make `second` wait for nothing that leads to `first`. (Waves order more than they must.)
  bool leaves(uint32_t first, uint32_t second) const { return !reaches(find(lanes(), first), find(lanes(), second)); }

 private:
  static uint32_t find(const Plan& plan, uint32_t command) {
    const auto& nodes = plan.data()->nodes;
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.source == command; });
    EXPECT_NE(found, nodes.end()) << "no node for command " << command;
    return static_cast<uint32_t>(found - nodes.begin());
  }
  uint32_t wave_of(uint32_t command) const { return waves().data()->nodes[find(waves(), command)].chain; }

  bool reaches(uint32_t first, uint32_t second) const {
    const Plan::Data& data = *lanes().data();
    std::vector<char> reached(data.nodes.size());
    std::vector<uint32_t> tails(32, UINT32_MAX);
    for (uint32_t node = 0; node <= second && node < data.nodes.size(); ++node) {
      uint32_t& tail = tails[data.nodes[node].chain];
      reached[node] = node == first || (tail != UINT32_MAX && reached[tail] != 0);
      for (const NodeId dep : data.deps_of(node)) reached[node] |= reached[static_cast<uint32_t>(dep)];
      tail = node;
    }
    return first != second && reached[second] != 0;
  }

  std::vector<Plan> plans_;
};

}  // namespace pianola

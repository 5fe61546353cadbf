// SPDX-License-Identifier: Apache-2.0
// A plan says what really has to wait for what. It is made from the whole list, knows no device, and is
// deterministic for the same input and profile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pianola/command_buffer.hpp"
#include "pianola/error.hpp"

namespace pianola {

enum class Ordering : uint8_t {
  barriers,  ///< barriers are the promise; the part of one that no conflicting access needs may be dropped
  inferred,  ///< order follows from the accesses; barriers and events that are there still count
  serial,    ///< one after another
};

enum class PlanForm : uint8_t {
  lanes,  ///< chains with edges between them, for graphs, streams and the CPU
  waves,  ///< one linear order cut by sync points, for Metal and Vulkan
};

/// The price of one command done one way: fixed_us + bytes * us_per_mib / 2^20.
struct NodeCost {
  double fixed_us = 1.0;
  double us_per_mib = 0.0;
};

/// What a device's replay costs. Data, not code; one that wasn't measured says so.
struct DeviceProfile {
  std::string name = "unmeasured";
  bool measured = false;
  PlanForm form = PlanForm::lanes;
  uint32_t lanes = 4;  ///< most chains a plan may use, 1 to 32
  NodeCost fill_native, fill_kernel;
  NodeCost copy_native, copy_kernel;
  NodeCost update_native, update_kernel;
  NodeCost dispatch;            ///< of a dispatch that states no time; bytes are those it is bound to
  double edge_us = 0.5;         ///< one edge between lanes
  double sync_us = 1.0;         ///< one sync point between waves
  double kind_switch_us = 1.0;  ///< from transfer to compute work or back, within a wave
};

struct PlanOptions {
  Ordering ordering = Ordering::barriers;
  std::optional<PlanForm> form;   ///< instead of the profile's
  std::optional<uint32_t> lanes;  ///< instead of the profile's
  bool merge = true;              ///< join neighbouring fills, updates and copies where the result is the same
};

/// Sizes of a plan, as shown by the tool and by benchmarks.
struct PlanStats {
  uint32_t commands = 0;           ///< after nested command buffers are inlined
  uint32_t nodes = 0;              ///< commands that do work, after merging and eliding
  uint32_t merged = 0;             ///< commands that were joined to a neighbour
  uint32_t elided = 0;             ///< commands of zero size
  uint32_t barriers_recorded = 0;  ///< barriers, and waits for events
  uint32_t edges = 0;              ///< edges between lanes
  uint32_t lanes = 0;              ///< chains used
  uint32_t sync_points = 0;        ///< waves form: sync points
  uint32_t kind_switches = 0;      ///< waves form: changes between transfer and compute work
};

/// A handle; copies share the plan. Safe to use from any thread.
class Plan {
 public:
  Plan() = default;
  explicit operator bool() const { return data_ != nullptr; }

  PlanForm form() const;                        ///< precondition: not empty
  const PlanStats& stats() const;               ///< precondition: not empty
  const CommandBuffer& command_buffer() const;  ///< precondition: not empty

  std::string to_string() const;    ///< one line a node
  std::string to_graphviz() const;  ///< the same as a dot file

  struct Data;
  explicit Plan(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const std::shared_ptr<const Data>& data() const { return data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// Works out the order of a recording's commands for a device of this profile.
/// O(n log n) time, O(n * lanes) memory. Errors: invalid_argument (an empty handle, lanes of 0 or over 32),
/// limit_exceeded (too many commands after inlining, or edges), out_of_memory.
Result<Plan> make_plan(const CommandBuffer& commands, const DeviceProfile& profile = {},
                       const PlanOptions& options = {});

}  // namespace pianola

// SPDX-License-Identifier: Apache-2.0
// What a recording means, worked out the slow and plain way: which pairs of its commands must stay in order.
// It reads recordings and plans as data, and shares no code with src/plan.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan_data.hpp"

namespace pianola::reference {

/// Bytes [begin, end) of a slot of the outermost command buffer.
struct Access {
  uint32_t slot = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writes = false;
  bool operator==(const Access&) const = default;
};

/// A number that is known, or a named constant of the outermost command buffer.
struct Number {
  std::optional<uint32_t> constant;
  uint32_t value = 0;
  bool operator==(const Number&) const = default;
};

/// One command with everything resolved, so that two of them can be compared.
struct Work {
  Op op = Op::barrier;
  std::vector<Access> accesses;
  std::vector<std::byte> payload;  ///< pattern, bytes or constants
  std::string kernel;
  std::array<Number, 3> groups{};
  std::vector<std::pair<uint32_t, uint32_t>> named;  ///< (offset in the payload, constant)
  std::optional<std::string> channel;
  bool opaque = false;
  bool operator==(const Work&) const = default;

  /// No bytes, or a grid that is empty whatever is given later. A discard does nothing either.
  bool does_nothing() const;
};

struct Step {
  Work work;
  uint32_t source = 0;  ///< index of the top-level command
};

/// A barrier, or an event's wait. Positions count the steps before it.
struct Sync {
  enum class Kind : uint8_t { whole, narrowed, wait };
  Kind kind = Kind::whole;
  size_t position = 0;
  size_t signal = 0;  ///< wait: position of the signal
  std::vector<Access> ranges;
};

/// Where a slot's bytes lie when commands are carried out.
struct Place {
  size_t memory = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct List {
  std::vector<Step> steps;
  std::vector<Sync> syncs;
  std::vector<bool> may_alias;  ///< one a slot
  std::vector<Place> places;    ///< one a slot; each its own memory unless the caller says otherwise
};

/// Nested command buffers stand in their places, with slots and constants mapped.
List read_list(const CommandBuffer& commands);

/// A node's command, as it stands in a plan of this command buffer.
Work read_node(const CommandBuffer& commands, const CommandHeader& command);

/// True if two commands touch the same bytes and one of them writes, or might.
bool conflict(const List& list, const Work& a, const Work& b);

/// True if step a, the earlier one, must be done before step b starts.
bool must_precede(const List& list, Ordering ordering, size_t a, size_t b);

/// The memory on which two steps must be in order: what a plan in waves has to name between them.
struct NeededOrder {
  bool all = false;            ///< no ranges tell it: opaque kernels, slots that alias, collectives of one channel
  std::vector<Access> ranges;  ///< may overlap one another
};

/// Precondition: must_precede(list, ordering, a, b), and not serial.
NeededOrder needed_order(const List& list, Ordering ordering, size_t a, size_t b);

}  // namespace pianola::reference

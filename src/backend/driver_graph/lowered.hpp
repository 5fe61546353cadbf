// SPDX-License-Identifier: Apache-2.0
// A plan as driver operations: what to launch, on which slots, after what. It holds no address of a slot, so one
// serves every binding, as a graph and on streams.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/backend.hpp"
#include "backend/driver_graph/driver.hpp"
#include "backend/driver_graph/kernels.hpp"

namespace pianola::driver_graph {

enum class OperationKind : uint8_t {
  kernel,
  indirect,  ///< a kernel whose counts are read by the host
  fill,
  copy,
  // Built-in kernels; their arguments follow from the addresses.
  builtin_fill,
  builtin_copy,
  builtin_update,
};
constexpr bool is_kernel(OperationKind kind) {
  return kind != OperationKind::fill && kind != OperationKind::copy;
}

/// A byte of a slot.
struct Address {
  SlotId slot{};
  uint64_t offset = 0;
};

struct Operation {
  OperationKind kind = OperationKind::kernel;
  uint8_t group_is_constant = 0;  ///< bits of DispatchCommand::group_is_constant
  uint8_t element = 1;            ///< fill: bytes of one element
  bool is_upload = false;         ///< copies: from memory that the executable owns
  uint32_t source = 0;            ///< index of the recorded command
  uint32_t node = 0;              ///< of the plan
  uint32_t lane = 0;
  uint32_t group = 0;   ///< debug group of the plan
  uint32_t kernel = 0;  ///< builtin_copy: the kernel for ranges that lie alike, and the next for others
  /// Into addresses. Kernel: its bindings; indirect: the counts, then its bindings; copies but uploads:
  /// destination, source; the others: the destination.
  uint32_t first_address = 0;
  uint32_t first_constant = 0;  ///< into constants: the kernel's block, a built-in's pattern or bytes
  uint32_t first_named = 0;
  uint32_t named_count = 0;
  uint32_t value = 0;  ///< fill: the element's value; builtin_fill: bytes of the pattern
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint64_t size = 0;    ///< transfers: bytes
  uint64_t upload = 0;  ///< uploads: where the bytes are in the owned memory
};

struct LoadedKernel {
  Function function = nullptr;
  const KernelInfo* info = nullptr;
};

/// Operations [begin, end): one graph, or indirect dispatches, which no driver takes into a graph. Pieces run one
/// after another.
struct Piece {
  bool is_indirect = false;
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct Lowered {
  DriverRef driver;
  Plan plan;
  std::vector<Operation> operations;  ///< in an order that every dependency respects
  std::vector<uint32_t> first_dep;    ///< operations.size() + 1 entries
  std::vector<uint32_t> deps;         ///< increasing for each; the one before in the same lane is among them
  uint32_t lanes = 1;
  std::vector<Piece> pieces;
  std::vector<Address> addresses;
  std::vector<std::byte> constants;
  std::vector<NamedConstant> named;
  std::vector<LoadedKernel> kernels;
  std::vector<std::shared_ptr<LoadedLibrary>> libraries;
  std::vector<std::byte> upload_bytes;
  UniqueHostMemory uploads;  ///< pinned copy of upload_bytes
  /// Which operations a slot or named constant touches: [first[i], first[i + 1]) of the lists.
  std::vector<uint32_t> first_of_slot, operations_of_slot;
  std::vector<uint32_t> first_of_constant, operations_of_constant;

  std::span<const uint32_t> deps_of(uint32_t operation) const {
    return std::span(deps).subspan(first_dep[operation], first_dep[operation + 1] - first_dep[operation]);
  }
  std::span<const NamedConstant> named_of(const Operation& operation) const {
    return std::span(named).subspan(operation.first_named, operation.named_count);
  }
  bool has_indirect() const { return std::ranges::any_of(pieces, &Piece::is_indirect); }
};

/// Loads the kernels that the plan needs and lowers its nodes.
/// Errors: missing_kernel, unsupported, out_of_memory, device_lost.
Result<std::shared_ptr<const Lowered>> lower(const DriverRef& driver, LibraryCache& libraries, const Plan& plan,
                                             uint32_t lanes);

/// Number of addresses an operation has.
uint32_t address_count(const Lowered& lowered, const Operation& operation);

}  // namespace pianola::driver_graph

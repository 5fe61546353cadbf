// SPDX-License-Identifier: Apache-2.0
// Plan nodes to operations.
#include <algorithm>
#include <cstring>
#include <map>

#include "backend/driver_graph/lowered.hpp"
#include "backend/driver_graph/native_fill.hpp"
#include "backend/driver_graph/order.hpp"
#include "format/builtin_kernels.hpp"

namespace pianola::driver_graph {
namespace {

constexpr uint32_t none = UINT32_MAX;

class Lowering {
 public:
  Lowering(Lowered& out, LibraryCache& cache) : out_(out), cache_(cache), data_(*out.plan.data()) {}

  Result<> run(uint32_t lanes);

 private:
  Result<> add(uint32_t index, uint32_t lane);
  Result<> add_fill(const Fill& fill, Operation operation, bool as_kernel);
  Result<> add_update(const Update& update, Operation operation, bool as_kernel);
  Result<> add_copy(const Copy& copy, Operation operation, bool as_kernel);
  /// A native copy, or the built-in kernel where one is asked for or the driver's own is of no use.
  Result<> choose_copy(Operation& operation, bool as_kernel);
  Result<> add_dispatch(const DispatchCommand& dispatch, Operation operation);
  Result<uint32_t> builtin(std::string_view name);
  Result<std::optional<uint32_t>> builtin_if_any(std::string_view name);
  void add_transfer(Operation operation, const Range& destination, const Range* source);
  uint32_t keep(std::span<const std::byte> bytes);
  Result<uint32_t> kernel(const KernelLibrary& library, uint32_t entry);
  uint32_t address(const Range& range, uint64_t further = 0);
  uint32_t alignment_of(const Range& range) const;
  void add_deps(const Order& order, size_t position);
  void cut();
  void index();

  Lowered& out_;
  LibraryCache& cache_;
  const Plan::Data& data_;
  std::map<std::pair<const KernelLibrary::Data*, uint32_t>, uint32_t> known_;
  std::map<const KernelLibrary::Data*, std::shared_ptr<LoadedLibrary>> loaded_;
  std::vector<uint32_t> operation_of_;                  // by position; none for a node without work
  std::map<size_t, std::vector<uint32_t>> stands_for_;  // what a node without work waited for
};

uint32_t Lowering::address(const Range& range, uint64_t further) {
  out_.addresses.push_back({range.slot, range.offset + further});
  return static_cast<uint32_t>(out_.addresses.size() - 1);
}

uint32_t Lowering::alignment_of(const Range& range) const {
  const CommandBuffer::Data& commands = *data_.commands.data();
  const uint64_t bits = commands.slots[static_cast<uint32_t>(range.slot)].alignment | range.offset | 256U;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

Result<uint32_t> Lowering::kernel(const KernelLibrary& library, uint32_t entry) {
  const auto key = std::pair(library.data(), entry);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  std::shared_ptr<LoadedLibrary>& loaded = loaded_[library.data()];
  if (loaded == nullptr) {
    loaded = cache_.get(library);
    out_.libraries.push_back(loaded);
  }
  Result<Function> function = loaded->function(entry);
  if (!function) return function.error();
  out_.kernels.push_back({*function, &loaded->library().kernels()[entry]});
  const auto made = static_cast<uint32_t>(out_.kernels.size() - 1);
  known_[key] = made;
  return made;
}

Result<uint32_t> Lowering::builtin(std::string_view name) {
  const KernelLibrary& library = builtin_kernels();
  const std::optional<uint32_t> entry = library.find(name);
  if (!entry) return Error{Errc::missing_kernel, "no built-in kernel '" + std::string(name) + "'", {}, {}, 0};
  return kernel(library, *entry);
}

/// Nothing if the device has no code for it; where there is a native form too, that one serves.
Result<std::optional<uint32_t>> Lowering::builtin_if_any(std::string_view name) {
  Result<uint32_t> found = builtin(name);
  if (found) return std::optional(*found);
  if (found.error().code == Errc::missing_kernel) return std::optional<uint32_t>();
  return found.error();
}

/// One operation, or several where a built-in kernel cannot cover the range at once.
void Lowering::add_transfer(Operation operation, const Range& destination, const Range* source) {
  const bool is_builtin = is_kernel(operation.kind);
  for (uint64_t done = 0; done < destination.size; done += operation.size) {
    const uint64_t left = destination.size - done;
    operation.size = is_builtin ? std::min(left, max_builtin_bytes) : left;
    operation.first_address = address(destination, done);
    if (source != nullptr) address(*source, done);
    out_.operations.push_back(operation);
    operation.upload += operation.size;
  }
}

uint32_t Lowering::keep(std::span<const std::byte> bytes) {
  const auto first = static_cast<uint32_t>(out_.constants.size());
  out_.constants.insert(out_.constants.end(), bytes.begin(), bytes.end());
  return first;
}

Result<> Lowering::add_fill(const Fill& fill, Operation operation, bool as_kernel) {
  const std::span<const std::byte> pattern(fill.pattern.data(), fill.destination.tag);
  const NativeFill native = native_fill(pattern, alignment_of(fill.destination), fill.destination.size);
  if (as_kernel || native.element == 0) {
    Result<std::optional<uint32_t>> found = builtin_if_any("pianola_fill");
    if (!found) return found.error();
    if (!*found && native.element == 0) return builtin("pianola_fill").error();
    if (*found) {
      operation.kind = OperationKind::builtin_fill;
      operation.kernel = **found;
      operation.value = fill.destination.tag;
      operation.first_constant = keep(pattern);
      add_transfer(operation, fill.destination, nullptr);
      return {};
    }
  }
  operation.kind = OperationKind::fill;
  operation.element = native.element;
  operation.value = native.value;
  add_transfer(operation, fill.destination, nullptr);
  return {};
}

Result<> Lowering::add_update(const Update& update, Operation operation, bool as_kernel) {
  if (as_kernel && update.destination.size <= max_builtin_update_bytes) {
    Result<std::optional<uint32_t>> found = builtin_if_any("pianola_update");
    if (!found) return found.error();
    if (*found) {
      operation.kind = OperationKind::builtin_update;
      operation.kernel = **found;
      operation.first_constant = keep(update.bytes());
      add_transfer(operation, update.destination, nullptr);
      return {};
    }
  }
  operation.is_upload = true;
  // Pieces begin at multiples of 16, so that copies can be wide.
  out_.upload_bytes.resize((out_.upload_bytes.size() + 15) / 16 * 16);
  operation.upload = out_.upload_bytes.size();
  out_.upload_bytes.insert(out_.upload_bytes.end(), update.bytes().begin(), update.bytes().end());
  Result<> done = choose_copy(operation, false);
  if (done) add_transfer(operation, update.destination, nullptr);
  return done;
}

Result<> Lowering::add_copy(const Copy& copy, Operation operation, bool as_kernel) {
  Result<> done = choose_copy(operation, as_kernel);
  if (done) add_transfer(operation, copy.destination, &copy.source);
  return done;
}

Result<> Lowering::choose_copy(Operation& operation, bool as_kernel) {
  operation.kind = OperationKind::copy;
  if (!as_kernel && out_.driver->table().quirks.copy_nodes) return {};
  // Which of the two is used follows from the addresses.
  Result<std::optional<uint32_t>> blocks = builtin_if_any("pianola_copy_blocks");
  if (!blocks) return blocks.error();
  Result<std::optional<uint32_t>> words = builtin_if_any("pianola_copy_words");
  if (!words) return words.error();
  if (*blocks && *words && **words == **blocks + 1) {
    operation.kind = OperationKind::builtin_copy;
    operation.kernel = **blocks;
  }
  return {};
}

Result<> Lowering::add_dispatch(const DispatchCommand& dispatch, Operation operation) {
  const KernelLibrary& library = data_.commands.data()->libraries[dispatch.library];
  Result<uint32_t> found = kernel(library, dispatch.entry);
  if (!found) return found.error();
  operation.kind = dispatch.is_indirect() ? OperationKind::indirect : OperationKind::kernel;
  operation.kernel = *found;
  operation.groups = dispatch.groups;
  for (const uint8_t bit : DispatchCommand::group_is_constant) {
    operation.group_is_constant |= static_cast<uint8_t>(dispatch.header.flags & bit);
  }
  operation.first_address = static_cast<uint32_t>(out_.addresses.size());
  if (dispatch.is_indirect()) address(dispatch.counts());
  for (const Range& range : dispatch.bindings()) address(range);
  operation.first_constant = keep(dispatch.constants());
  operation.first_named = static_cast<uint32_t>(out_.named.size());
  operation.named_count = dispatch.named_count;
  out_.named.insert(out_.named.end(), dispatch.named().begin(), dispatch.named().end());
  out_.operations.push_back(operation);
  return {};
}

/// Adds the node's operations; none for one that does no work.
Result<> Lowering::add(uint32_t index, uint32_t lane) {
  const PlanNode& node = data_.nodes[index];
  const CommandHeader& command = *node.command;
  Operation operation;
  operation.node = index;
  operation.source = node.source;
  operation.group = node.group;
  operation.lane = lane;
  switch (command.op) {
    case Op::fill: return add_fill(as<Fill>(command), operation, node.as_kernel);
    case Op::update: return add_update(as<Update>(command), operation, node.as_kernel);
    case Op::copy: return add_copy(as<Copy>(command), operation, node.as_kernel);
    case Op::dispatch:
    case Op::dispatch_indirect: return add_dispatch(as<DispatchCommand>(command), operation);
    case Op::collective:
      return Error{Errc::unsupported, "collectives are not available on this backend yet", node.source, {}, 0};
    default: return {};
  }
}

void Lowering::add_deps(const Order& order, size_t position) {
  std::vector<uint32_t> found;
  for (uint32_t i = order.first_dep[position]; i < order.first_dep[position + 1]; ++i) {
    const uint32_t dep = order.deps[i];
    if (operation_of_[dep] != none) {
      found.push_back(operation_of_[dep]);
    } else {
      const std::vector<uint32_t>& instead = stands_for_[dep];
      found.insert(found.end(), instead.begin(), instead.end());
    }
  }
  // Both drivers refuse a dependency that is named twice.
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (operation_of_[position] == none) {
    stands_for_[position] = std::move(found);
    return;
  }
  out_.first_dep.push_back(static_cast<uint32_t>(out_.deps.size()));
  out_.deps.insert(out_.deps.end(), found.begin(), found.end());
  // The further parts of one command stand in a row behind the first.
  for (auto i = static_cast<uint32_t>(out_.first_dep.size()); i <= operation_of_[position]; ++i) {
    out_.first_dep.push_back(static_cast<uint32_t>(out_.deps.size()));
    out_.deps.push_back(i - 1);
  }
}

/// Pieces: a run of indirect dispatches that do not wait for one another is one, and what stands between two is, if the
/// driver takes graphs of that size.
void Lowering::cut() {
  const uint32_t most = out_.driver->table().quirks.most_nodes;
  const auto count = static_cast<uint32_t>(out_.operations.size());
  for (uint32_t i = 0; i < count; ++i) {
    const bool is_indirect = out_.operations[i].kind == OperationKind::indirect;
    bool begins =
        out_.pieces.empty() || out_.pieces.back().is_indirect != is_indirect || i - out_.pieces.back().begin == most;
    if (!begins && is_indirect) {
      const std::span<const uint32_t> deps = out_.deps_of(i);
      begins = !deps.empty() && deps.back() >= out_.pieces.back().begin;
    }
    if (begins) out_.pieces.push_back({is_indirect, i, i});
    out_.pieces.back().end = i + 1;
  }
}

void Lowering::index() {
  const CommandBuffer::Data& commands = *data_.commands.data();
  std::vector<std::pair<uint32_t, uint32_t>> slots;
  std::vector<std::pair<uint32_t, uint32_t>> constants;
  for (uint32_t i = 0; i < out_.operations.size(); ++i) {
    const Operation& operation = out_.operations[i];
    for (uint32_t a = 0; a < address_count(out_, operation); ++a) {
      slots.emplace_back(static_cast<uint32_t>(out_.addresses[operation.first_address + a].slot), i);
    }
    for (const NamedConstant& named : out_.named_of(operation)) {
      constants.emplace_back(static_cast<uint32_t>(named.constant), i);
    }
    for (size_t d = 0; d < 3; ++d) {
      if ((operation.group_is_constant & DispatchCommand::group_is_constant[d]) != 0) {
        constants.emplace_back(operation.groups[d], i);
      }
    }
  }
  const auto fill_lists = [](auto& pairs, size_t count, auto& first, auto& list) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    first.assign(count + 1, 0);
    for (const auto& [key, operation] : pairs) {
      ++first[key + 1];
      list.push_back(operation);
    }
    for (size_t i = 0; i < count; ++i) first[i + 1] += first[i];
  };
  fill_lists(slots, commands.slots.size(), out_.first_of_slot, out_.operations_of_slot);
  fill_lists(constants, commands.constants.size(), out_.first_of_constant, out_.operations_of_constant);
}

Result<> Lowering::run(uint32_t lanes) {
  const Order order = make_order(data_, lanes);
  out_.lanes = order.lanes;
  out_.operations.reserve(order.nodes.size());
  for (size_t position = 0; position < order.nodes.size(); ++position) {
    const size_t before = out_.operations.size();
    Result<> added = add(order.nodes[position], order.lane[position]);
    if (!added) {
      if (!added.error().command) added.error().command = data_.nodes[order.nodes[position]].source;
      return added;
    }
    const size_t after = out_.operations.size();
    operation_of_.push_back(after == before ? none : static_cast<uint32_t>(after - 1));
    add_deps(order, position);
  }
  out_.first_dep.push_back(static_cast<uint32_t>(out_.deps.size()));
  cut();
  index();
  return {};
}

Result<> pin_uploads(Lowered& lowered) {
  if (lowered.upload_bytes.empty()) return {};
  const DriverTable& table = lowered.driver->table();
  const ContextScope scope(*lowered.driver);
  if (!scope.status()) return scope.status().error();
  Result<void*> block = table.allocate_host(table.api, lowered.upload_bytes.size());
  if (!block) return lowered.driver->note(std::move(block.error()));
  lowered.uploads = UniqueHostMemory(lowered.driver, *block);
  std::memcpy(*block, lowered.upload_bytes.data(), lowered.upload_bytes.size());
  lowered.upload_bytes = {};
  return {};
}

}  // namespace

uint32_t address_count(const Lowered& lowered, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::fill:
    case OperationKind::builtin_fill:
    case OperationKind::builtin_update: return 1;
    case OperationKind::copy:
    case OperationKind::builtin_copy: return operation.is_upload ? 1 : 2;
    case OperationKind::kernel: return static_cast<uint32_t>(lowered.kernels[operation.kernel].info->bindings.size());
    case OperationKind::indirect:
      return 1 + static_cast<uint32_t>(lowered.kernels[operation.kernel].info->bindings.size());
  }
  return 0;
}

Result<std::shared_ptr<const Lowered>> lower(const DriverRef& driver, LibraryCache& libraries, const Plan& plan,
                                             uint32_t lanes) {
  auto lowered = std::make_shared<Lowered>();
  lowered->driver = driver;
  lowered->plan = plan;
  Result<> done = Lowering(*lowered, libraries).run(lanes);
  if (done) done = pin_uploads(*lowered);
  if (!done) return done.error();
  return std::shared_ptr<const Lowered>(std::move(lowered));
}

}  // namespace pianola::driver_graph

// SPDX-License-Identifier: Apache-2.0
// What HIP does in its own way: devices in place of contexts, copies that are told where memory is.
#include "backend/driver_graph/vendor_table.hpp"
#include "backend/hip/facts.hpp"

namespace pianola::hip {
namespace {

using namespace driver_graph;  // NOLINT: the neutral names
using Table = VendorTable<Vendor>;

CopyKind kind_of(const CopyCall& call) {
  if (call.source_on_host) return call.destination_on_host ? CopyKind::host_to_host : CopyKind::host_to_device;
  return call.destination_on_host ? CopyKind::device_to_host : CopyKind::device_to_device;
}

/// Contexts are device numbers plus one, since null means none.
Context context_of(int device) {
  return reinterpret_cast<Context>(static_cast<uintptr_t>(device) + 1);  // NOLINT(performance-no-int-to-ptr)
}
int device_of(Context context) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(context) - 1);
}

void add_context_and_memory(DriverTable& table) {
  table.swap_context = [](const void* self, Context context) -> Result<Context> {
    const Api& api = Table::api_of(self);
    Result<int> before = api.make(api.f.get_device);
    if (!before) return before.error();
    Result<> done;
    if (*before != device_of(context)) done = api.call(api.f.set_device, device_of(context));
    if (!done) return done.error();
    return context_of(*before);
  };
  table.release_context = [](const void*, Context) -> Result<> { return {}; };
  table.stream_copy = [](const void* self, Stream stream, const CopyCall& call) {
    const Api& api = Table::api_of(self);
    return api.call(api.f.copy, call.destination, call.source, call.size, kind_of(call), stream);
  };
  table.module_load = [](const void* self, std::span<const std::byte> image, ObjectFormat) -> Result<Module> {
    const Api& api = Table::api_of(self);
    Result<> sound = check_image(image);
    if (!sound) return sound.error();
    return api.make(api.f.module_load, image.data());
  };
  table.pointer_facts = [](const void* self, void* pointer) -> Result<PointerFacts> {
    const Api& api = Table::api_of(self);
    // Refuses memory that the runtime does not know, in every version.
    void* begin = nullptr;
    size_t size = 0;
    PointerFacts facts;
    Result<> done = api.call(api.f.address_range, &begin, &size, pointer);
    if (!done) return done.error();
    facts.size = size;
    Result<PointerAttributes> attributes = api.make(api.f.pointer_attributes, pointer);
    if (!attributes) return attributes.error();
    facts.begin = reinterpret_cast<uintptr_t>(begin);
    facts.device = attributes->device;
    facts.on_host = attributes->host_pointer != nullptr || attributes->is_managed != 0;
    return facts;
  };
}

void add_nodes(DriverTable& table) {
  table.add_fill = [](const void* self, GraphObject graph, std::span<const Node> after, const FillCall& call) {
    const Api& api = Table::api_of(self);
    const MemsetNodeParams params = Table::params_of(call);
    const std::lock_guard lock(api.launch_mutex);
    return api.make(api.f.graph_add_memset, graph, after.data(), after.size(), &params);
  };
  table.add_copy = [](const void* self, GraphObject graph, std::span<const Node> after, const CopyCall& call) {
    const Api& api = Table::api_of(self);
    const std::lock_guard lock(api.launch_mutex);
    return api.make(api.f.graph_add_copy, graph, after.data(), after.size(), call.destination, call.source, call.size,
                    kind_of(call));
  };
  table.set_fill = [](const void* self, Exec exec, Node node, const FillCall& call) {
    const Api& api = Table::api_of(self);
    const MemsetNodeParams params = Table::params_of(call);
    return api.call(api.f.exec_set_memset, exec, node, &params);
  };
  table.set_copy = [](const void* self, Exec exec, Node node, const CopyCall& call) {
    const Api& api = Table::api_of(self);
    return api.call(api.f.exec_set_copy, exec, node, call.destination, call.source, call.size, kind_of(call));
  };
}

}  // namespace

Result<DriverTable> Vendor::make_table(const Api& api, int ordinal) {
  DriverTable table;
  Result<DeviceFacts> facts = read_facts(api, ordinal);
  if (!facts) return facts.error();
  table.facts = std::move(*facts);
  table.context = context_of(ordinal);
  table.device = ordinal;
  table.code_rank = code_rank;
  table.quirks = quirks_of(api.version);
  Table::fill_in(table, api);
  add_context_and_memory(table);
  add_nodes(table);
  return table;
}

}  // namespace pianola::hip

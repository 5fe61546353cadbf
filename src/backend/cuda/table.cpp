// SPDX-License-Identifier: Apache-2.0
// What CUDA does in its own way: contexts, copies, and nodes that want their context by name.
#include "backend/cuda/facts.hpp"
#include "backend/driver_graph/vendor_table.hpp"

namespace pianola::cuda {
namespace {

using namespace driver_graph;  // NOLINT: the neutral names
using Table = VendorTable<Vendor>;

/// The driver has no one-dimensional copy node. Unified: it finds out from the address where memory is.
Memcpy3D params_of(const CopyCall& call) {
  Memcpy3D params{};
  params.source_type = memory_unified;
  params.source_device = call.source;
  params.destination_type = memory_unified;
  params.destination_device = call.destination;
  params.width = call.size;
  params.height = 1;
  params.depth = 1;
  return params;
}

void add_context_and_memory(DriverTable& table) {
  table.swap_context = [](const void* self, Context context) -> Result<Context> {
    const Api& api = Table::api_of(self);
    Result<Context> before = api.make(api.f.context_get_current);
    if (!before || *before == context) return before;
    Result<> done = api.call(api.f.context_set_current, context);
    if (!done) return done.error();
    return before;
  };
  table.release_context = release;
  table.stream_copy = [](const void* self, Stream stream, const CopyCall& call) {
    const Api& api = Table::api_of(self);
    return api.call(api.f.copy, call.destination, call.source, call.size, stream);
  };
  table.module_load = [](const void* self, std::span<const std::byte> image, ObjectFormat format) -> Result<Module> {
    const Api& api = Table::api_of(self);
    Result<> sound = check_image(image, format);
    if (!sound) return sound.error();
    // PTX is text that ends with a zero; the file need not hold one.
    const std::string copy(reinterpret_cast<const char*>(image.data()), image.size());
    return api.make(api.f.module_load, copy.c_str());
  };
  table.allow_dynamic_shared = [](const void* self, Function function, uint32_t bytes) {
    const Api& api = Table::api_of(self);
    return api.call(api.f.function_set_attribute, function, FunctionAttribute::max_dynamic_shared,
                    static_cast<int>(bytes));
  };
  table.pointer_facts = [](const void* self, void* pointer) -> Result<PointerFacts> {
    const Api& api = Table::api_of(self);
    constexpr std::array wanted = {PointerAttribute::memory_type, PointerAttribute::is_managed,
                                   PointerAttribute::device_ordinal, PointerAttribute::range_start,
                                   PointerAttribute::range_size};
    PointerFacts facts;
    unsigned type = 0;
    unsigned is_managed = 0;
    std::array<void*, wanted.size()> values = {&type, &is_managed, &facts.device, &facts.begin, &facts.size};
    Result<> done =
        api.call(api.f.pointer_attributes, static_cast<unsigned>(wanted.size()), wanted.data(), values.data(), pointer);
    if (!done) return done.error();
    if (type == 0) return Error{Errc::invalid_argument, "the driver does not know this memory", {}, {}, 0};
    facts.on_host = type == memory_host || is_managed != 0;
    return facts;
  };
}

void add_nodes(DriverTable& table) {
  table.add_fill = [](const void* self, GraphObject graph, std::span<const Node> after,
                      const FillCall& call) -> Result<Node> {
    const Api& api = Table::api_of(self);
    const MemsetNodeParams params = Table::params_of(call);
    Result<Context> context = api.make(api.f.context_get_current);
    if (!context) return context.error();
    return api.make(api.f.graph_add_memset, graph, after.data(), after.size(), &params, *context);
  };
  table.add_copy = [](const void* self, GraphObject graph, std::span<const Node> after,
                      const CopyCall& call) -> Result<Node> {
    const Api& api = Table::api_of(self);
    const Memcpy3D params = params_of(call);
    Result<Context> context = api.make(api.f.context_get_current);
    if (!context) return context.error();
    return api.make(api.f.graph_add_memcpy, graph, after.data(), after.size(), &params, *context);
  };
  table.set_fill = [](const void* self, Exec exec, Node node, const FillCall& call) -> Result<> {
    const Api& api = Table::api_of(self);
    const MemsetNodeParams params = Table::params_of(call);
    Result<Context> context = api.make(api.f.context_get_current);
    if (!context) return context.error();
    return api.call(api.f.exec_set_memset, exec, node, &params, *context);
  };
  table.set_copy = [](const void* self, Exec exec, Node node, const CopyCall& call) -> Result<> {
    const Api& api = Table::api_of(self);
    const Memcpy3D params = params_of(call);
    Result<Context> context = api.make(api.f.context_get_current);
    if (!context) return context.error();
    return api.call(api.f.exec_set_memcpy, exec, node, &params, *context);
  };
}

}  // namespace

Result<DriverTable> Vendor::make_table(const Api& api, int ordinal) {
  DriverTable table;
  Result<Retained> retained = retain(api, ordinal);
  if (!retained) return retained.error();
  table.context = retained->context;
  table.device = ordinal;
  table.facts = std::move(retained->facts);
  table.code_rank = code_rank;
  // cuGraphExecKernelNodeSetParams: "already enqueued or running launches are not affected".
  table.quirks.update_in_flight = true;
  Table::fill_in(table, api);
  add_context_and_memory(table);
  add_nodes(table);
  return table;
}

}  // namespace pianola::cuda

// SPDX-License-Identifier: Apache-2.0
// The neutral driver calls that graphs, streams and memory are written against. hip/ and cuda/ fill the table;
// nothing else here knows a vendor.
//
// Every call but swap_context() acts on the current context; ContextScope sets it. Calls return the driver's
// error with its name and number in the Error. Errc::execution_failed means that the context is lost: everything
// after it fails too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backend/driver_graph/markers.hpp"
#include "pianola/device.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::driver_graph {

using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using GraphObject = struct GraphTag*;
using Node = struct NodeTag*;
using Exec = struct ExecTag*;

struct KernelCall {
  Function function = nullptr;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  void** arguments = nullptr;  ///< one pointer an argument; values are copied by the call
};

struct FillCall {
  void* destination = nullptr;
  uint32_t value = 0;
  uint32_t element = 1;  ///< 1, 2 or 4 bytes; destination is a multiple of it
  uint64_t count = 0;    ///< elements, not 0
};

/// Host memory in graphs is pinned and is read or written at every launch.
struct CopyCall {
  void* destination = nullptr;
  const void* source = nullptr;
  uint64_t size = 0;  ///< not 0
  bool destination_on_host = false;
  bool source_on_host = false;
};

/// What the driver knows of an address.
struct PointerFacts {
  int device = 0;        ///< number of the device it belongs to
  bool on_host = false;  ///< the host reaches it at this address
  uintptr_t begin = 0;   ///< of its allocation
  uint64_t size = 0;     ///< of its allocation, or 0 if the driver does not say
};

/// Called when everything before it on the stream is done, or has failed with `status`. It may not call the driver.
using StreamCallback = void (*)(void* stream, int status, void* data);

/// What the driver says of one device.
struct DeviceFacts {
  std::string name;
  std::string arch;        ///< "sm_90", "gfx90a"
  std::string features;    ///< HIP: ":sramecc+:xnack-"
  int driver_version = 0;  ///< as the driver counts
  DeviceLimits limits;
};

/// What a driver version is known to do wrong, and what replaces it.
struct Quirks {
  bool graphs = true;             ///< false: replay on streams instead
  bool update_in_flight = false;  ///< an executable graph may be updated while an earlier launch of it runs
  bool update = true;             ///< false: a rebind makes a fresh executable
  bool copy_nodes = true;         ///< false: copies are kernels, since the driver leaks what its own hold
  bool edges = true;              ///< false: a graph is a chain in the plan's order, since the driver loses edges
  uint32_t most_lanes =
      UINT32_MAX;  ///< a graph of more lanes is a chain too, since the driver loses edges of wide fans
  uint32_t most_nodes = UINT32_MAX;  ///< longer plans become several graphs, one after another
};

struct DriverTable {
  const void* api = nullptr;  ///< first argument of every call
  DeviceFacts facts;
  Quirks quirks;
  Markers markers;
  Context context = nullptr;
  int device = 0;  ///< its number

  Result<Context> (*swap_context)(const void* api, Context context) = nullptr;  ///< gives the one before
  Result<> (*release_context)(const void* api, Context context) = nullptr;
  /// How well an object suits the device: the highest wins, 0 does not run.
  int (*code_rank)(const DeviceFacts& facts, const CodeObject& object) = nullptr;

  Result<void*> (*allocate)(const void* api, uint64_t size) = nullptr;
  Result<> (*free)(const void* api, void* pointer) = nullptr;
  Result<void*> (*allocate_host)(const void* api, uint64_t size) = nullptr;  ///< pinned, same address on the device
  Result<> (*free_host)(const void* api, void* pointer) = nullptr;
  /// Errors: invalid_argument (not memory of this driver).
  Result<PointerFacts> (*pointer_facts)(const void* api, void* pointer) = nullptr;

  Result<Stream> (*stream_create)(const void* api) = nullptr;
  Result<> (*stream_destroy)(const void* api, Stream stream) = nullptr;
  Result<> (*stream_synchronize)(const void* api, Stream stream) = nullptr;
  Result<> (*stream_wait)(const void* api, Stream stream, Event event) = nullptr;
  Result<> (*stream_callback)(const void* api, Stream stream, StreamCallback callback, void* data) = nullptr;
  Result<> (*stream_kernel)(const void* api, Stream stream, const KernelCall& call) = nullptr;
  Result<> (*stream_fill)(const void* api, Stream stream, const FillCall& call) = nullptr;
  Result<> (*stream_copy)(const void* api, Stream stream, const CopyCall& call) = nullptr;

  Result<Event> (*event_create)(const void* api, bool timed) = nullptr;
  Result<> (*event_destroy)(const void* api, Event event) = nullptr;
  Result<> (*event_record)(const void* api, Event event, Stream stream) = nullptr;
  Result<bool> (*event_is_done)(const void* api, Event event) = nullptr;
  Result<> (*event_synchronize)(const void* api, Event event) = nullptr;
  Result<float> (*event_elapsed_ms)(const void* api, Event first, Event second) = nullptr;

  Result<Module> (*module_load)(const void* api, std::span<const std::byte> image, ObjectFormat format) = nullptr;
  Result<> (*module_unload)(const void* api, Module module) = nullptr;
  Result<Function> (*module_function)(const void* api, Module module, const std::string& name) = nullptr;
  /// Makes launches with that much dynamic workgroup memory possible. Null: they are, up to the limit.
  Result<> (*allow_dynamic_shared)(const void* api, Function function, uint32_t bytes) = nullptr;

  Result<GraphObject> (*graph_create)(const void* api) = nullptr;
  Result<> (*graph_destroy)(const void* api, GraphObject graph) = nullptr;
  Result<Node> (*add_kernel)(const void* api, GraphObject graph, std::span<const Node> after,
                             const KernelCall& call) = nullptr;
  Result<Node> (*add_fill)(const void* api, GraphObject graph, std::span<const Node> after,
                           const FillCall& call) = nullptr;
  Result<Node> (*add_copy)(const void* api, GraphObject graph, std::span<const Node> after,
                           const CopyCall& call) = nullptr;
  Result<Exec> (*instantiate)(const void* api, GraphObject graph) = nullptr;
  Result<> (*exec_destroy)(const void* api, Exec exec) = nullptr;
  Result<> (*exec_launch)(const void* api, Exec exec, Stream stream) = nullptr;
  Result<> (*set_kernel)(const void* api, Exec exec, Node node, const KernelCall& call) = nullptr;
  Result<> (*set_fill)(const void* api, Exec exec, Node node, const FillCall& call) = nullptr;
  Result<> (*set_copy)(const void* api, Exec exec, Node node, const CopyCall& call) = nullptr;
  Result<> (*graph_dot)(const void* api, GraphObject graph, const std::string& path) = nullptr;  ///< null: not offered
};

}  // namespace pianola::driver_graph

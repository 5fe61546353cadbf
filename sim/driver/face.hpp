// SPDX-License-Identifier: Apache-2.0
// What both faces do alike, so that a vendor's function is its name and its arguments. `name` is what the vendor's
// documentation calls the function; failures on request are reported under it. All give the vendor's status number.
#pragma once

#include "backend/driver_graph/abi.hpp"
#include "world.hpp"

namespace sim {

namespace abi = pianola::driver_graph::abi;

extern const int device_at_first;  ///< of a thread that has chosen none; -1: it must choose one. Each face has its own
extern thread_local int current;   ///< device of this thread
extern thread_local bool context_call_failed;  ///< the last call that asked for it or set it did so on request

int convert(Status status);
/// Ok if a device is current and not lost.
Status usable(World& world);

/// Runs `body(world, lock)` as the driver call `name`, under the lock, with the failure that a test asked for.
template <class Body>
int call(const char* name, Body body) {
  World& world = World::instance();
  std::unique_lock lock(world.mutex);
  if (const auto failure = world.enter(name)) return *failure;
  return convert(body(world, lock));
}

/// The same for a call that releases something: it does so even when it reports a failure.
template <class Body>
int release_call(const char* name, Body body) {
  World& world = World::instance();
  std::unique_lock lock(world.mutex);
  const auto failure = world.enter(name);
  const Status status = body(world, lock);
  return failure.value_or(convert(status));
}

/// The handle's object if it is alive and of the device that is current; else an error in `status`.
template <class T>
std::shared_ptr<T> get(World& world, const void* handle, Status& status) {
  status = world.device_status(current);
  auto object = world.find<T>(handle);
  if (object == nullptr) {
    status = world.complain("handle is not alive, or of another kind", Status::invalid_handle);
  } else if (object->device != current) {
    status = world.complain("object of device " + std::to_string(object->device) + " while device " +
                                std::to_string(current) + " is current",
                            Status::invalid_context);
  }
  return status == Status::ok ? object : nullptr;
}

int init(const char* name, unsigned flags);
int driver_version(const char* name, int* version, int ours);
int count_devices(const char* name, int* count);
int total_memory(const char* name, size_t* bytes);
int allocate(const char* name, void** pointer, size_t size, bool on_host);
int free(const char* name, void* pointer, bool on_host);

int create_stream(const char* name, void** stream);
int synchronize_stream(const char* name, void* stream);
int wait_for_event(const char* name, void* stream, void* event);
int add_callback(const char* name, void* stream, Callback callback, void* data);
int copy(const char* name, void* to, const void* from, size_t size, void* stream);
int fill(const char* name, void* to, uint32_t value, uint32_t element, size_t count, void* stream);
int create_event(const char* name, void** event, unsigned flags);
int record_event(const char* name, void* event, void* stream);
int query_event(const char* name, void* event);
int synchronize_event(const char* name, void* event);
int elapsed(const char* name, float* milliseconds, void* first, void* second);
/// Of a stream, an event, a module, a graph, an executable.
int release(const char* name, void* handle);

int load_module(const char* name, void** module, const void* image);
int get_function(const char* name, void** function, void* module, const char* kernel);
int set_dynamic_shared(const char* name, void* function, int bytes);
int launch(const char* name, const KernelArguments& arguments, void* stream);
int create_graph(const char* name, void** graph);
int instantiate(const char* name, void** exec, void* graph);
int launch_graph(const char* name, void* exec, void* stream);
int print_graph(const char* name, void* graph, const char* path);

template <class Params>
KernelArguments arguments_of(const Params& params) {
  KernelArguments result;
  result.function = reinterpret_cast<const Function*>(params.function);
  std::copy(std::begin(params.grid), std::end(params.grid), result.grid);
  std::copy(std::begin(params.block), std::end(params.block), result.block);
  result.shared_bytes = params.shared_bytes;
  result.arguments = params.arguments;
  return result;
}

/// Adds the node that `make(world, &work)` describes.
template <class Make>
int add_node(const char* name, void** node, void* graph_handle, void* const* dependencies, size_t count, Make make) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto graph = get<Graph>(world, graph_handle, status);
    WorkRef work;
    if (graph == nullptr) return status;
    status = make(world, &work);
    if (status != Status::ok) return status;
    const auto* first = reinterpret_cast<const Node* const*>(dependencies);
    Node* made = nullptr;
    status = world.add_node(graph.get(), {first, count}, std::move(work), &made);
    *node = made;
    return status;
  });
}

template <class Make>
int set_node(const char* name, void* exec_handle, void* node, Make make) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto exec = get<Exec>(world, exec_handle, status);
    WorkRef work;
    if (exec == nullptr) return status;
    status = make(world, &work);
    return status == Status::ok ? world.set_node(*exec, static_cast<const Node*>(node), std::move(work)) : status;
  });
}

}  // namespace sim

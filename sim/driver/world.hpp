// SPDX-License-Identifier: Apache-2.0
// The software driver: devices, memory, objects and the work in flight. Both faces call these functions with
// the world's lock held. Device memory is host memory; kernels are host functions found by name.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernel.hpp"

namespace sim {

enum class Status {
  ok,
  invalid_value,
  out_of_memory,
  not_initialized,
  invalid_device,
  invalid_image,
  invalid_context,
  no_binary,
  invalid_handle,
  not_found,
  not_ready,
  illegal_address,
  not_supported,
};

inline constexpr int device_count = 2;
inline constexpr uint64_t memory_per_device = uint64_t{8} << 30;
inline constexpr uint32_t default_shared = 48 * 1024;
inline constexpr uint32_t most_shared = 227 * 1024;  ///< what NVIDIA's functions can ask for
inline constexpr uint32_t amd_shared = 64 * 1024;

struct Object {
  explicit Object(int on_device) : device(on_device) {}
  virtual ~Object() = default;
  int device;
};

struct Module : Object {
  using Object::Object;
  ~Module() override;
  std::unordered_set<std::string> names;
  std::unordered_map<std::string, std::unique_ptr<struct Function>> functions;
};

struct Function : Object {
  using Object::Object;
  std::shared_ptr<const Kernel> kernel;
  uint32_t shared_limit = default_shared;  ///< static and dynamic together
};

/// One thing a device does. Arguments are copied when it is made; copies read their source when they run.
struct Work {
  enum class Kind { kernel, fill, copy } kind = Kind::kernel;
  KernelRun call;
  std::byte* destination = nullptr;
  const std::byte* source = nullptr;
  uint64_t size = 0;  ///< bytes
  uint32_t value = 0;
  uint32_t element = 1;
};
using WorkRef = std::shared_ptr<const Work>;

/// Work under way: it runs as several pieces, so that independent work can come between.
std::string describe(const Work& work);

struct Active {
  WorkRef work;
  uint32_t node = 0;
  uint32_t pieces = 0;  ///< 0: not started
  uint32_t next = 0;
};

struct Event : Object {
  Event(int on_device, bool timed) : Object(on_device), is_timed(timed) {}
  bool is_timed;
  uint64_t recorded = 0;
  uint64_t done = 0;
  double microseconds = 0;
};

struct Graph;
struct Node {
  Graph* graph = nullptr;
  uint32_t index = 0;
  WorkRef work;
  std::vector<uint32_t> dependencies;
};

struct Graph : Object {
  using Object::Object;
  ~Graph() override;
  std::deque<Node> nodes;
};

struct Exec : Object {
  using Object::Object;
  std::vector<WorkRef> works;
  std::vector<std::vector<uint32_t>> children;
  std::vector<uint32_t> dependency_count;
  std::unordered_map<const Node*, uint32_t> node_index;
  bool running = false;
};

/// One launch: it keeps the arguments the executable had when it was launched.
struct GraphRun {
  std::shared_ptr<Exec> exec;
  std::vector<WorkRef> works;
  std::vector<uint32_t> remaining;
  std::vector<Active> ready;
  size_t left = 0;
  bool started = false;
};

using Callback = void (*)(void* stream, int status, void* data);

/// A call that a stream makes when it gets there.
struct Notice {
  Callback callback = nullptr;
  void* stream = nullptr;
  void* data = nullptr;
};

struct StreamOp {
  Active active;  ///< with work: plain work
  std::shared_ptr<Event> event;
  bool is_wait = false;  ///< of the event's value; else a record
  uint64_t value = 0;
  std::unique_ptr<GraphRun> run;
  Notice notice;
};

struct Stream : Object {
  using Object::Object;
  std::deque<StreamOp> ops;
};

struct KernelArguments {
  const Function* function = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  void** arguments = nullptr;
};

class World {
 public:
  static World& instance();

  std::mutex mutex;
  std::condition_variable changed;  ///< something finished
  std::condition_variable arrived;  ///< something was added
  bool amd = false;                 ///< AMD's rules where the two differ
  bool initialized = false;
  int version = 0;  ///< 0: the face chooses
  std::mt19937_64 random{1};

  // Calls and faults.
  std::optional<int> enter(const char* call);
  Status complain(const std::string& text, Status status = Status::invalid_value);
  Status device_status(int device) const;

  // Objects. A handle is the object's address.
  template <class T>
  T* add(std::shared_ptr<T> object) {
    T* handle = object.get();
    live[handle] = std::move(object);
    return handle;
  }
  template <class T>
  std::shared_ptr<T> find(const void* handle) {
    auto at = live.find(handle);
    return at == live.end() ? nullptr : std::dynamic_pointer_cast<T>(at->second);
  }
  Status release(const void* handle);

  // Memory.
  struct Allocation {
    uintptr_t begin = 0;
    uint64_t size = 0;
    int device = 0;
    bool on_host = false;
  };
  Status allocate(uint64_t size, int device, bool on_host, void** pointer);
  bool is_used(const Allocation& block) const;
  Status free(void* pointer, bool on_host, std::unique_lock<std::mutex>& lock);
  bool contains(const void* pointer, uint64_t size) const;
  const Allocation* allocation_of(const void* pointer) const;  ///< null if there is none
  uint64_t room_at(const void* pointer) const;  ///< bytes up to the end of its allocation, 0 if there is none
  int memory_kind(const void* pointer) const;   ///< 0 plain host memory, 1 pinned, 2 device

  // Modules.
  Status load_module(const void* image, int device, Module** module);
  Status get_function(Module* module, const char* name, Function** function);
  Status set_dynamic_shared(void* function, int bytes);

  // Work. These check the rules that the drivers state.
  Status make_kernel(const KernelArguments& call, int device, WorkRef* work);
  Status make_fill(void* destination, uint32_t value, uint32_t element, uint64_t count, WorkRef* work);
  Status make_copy(void* destination, const void* source, uint64_t size, bool in_graph, WorkRef* work);

  // Graphs.
  Status add_node(Graph* graph, std::span<const Node* const> dependencies, WorkRef work, Node** node);
  Status instantiate(const Graph& graph, Exec** exec);
  bool is_launched(const Exec& exec) const;
  Status set_node(Exec& exec, const Node* node, WorkRef work);

  // Streams.
  Stream* create_stream(int device);
  void push(Stream& stream, StreamOp op);
  bool is_held(const StreamOp& op) const;
  Status launch(Stream& stream, const std::shared_ptr<Exec>& exec);
  Status synchronize(const std::shared_ptr<Stream>& stream, std::unique_lock<std::mutex>& lock);
  Status synchronize(const std::shared_ptr<Event>& event, std::unique_lock<std::mutex>& lock);

  std::vector<Notice> failed_notices;  ///< of lost devices
  std::unordered_map<const void*, std::shared_ptr<Object>> live;
  std::unordered_set<const void*> live_nodes;
  std::unordered_set<const void*> live_functions;
  std::vector<std::shared_ptr<Stream>> streams;  ///< by age; those destroyed with work left included
  std::map<uintptr_t, Allocation> memory;
  uint64_t used[device_count] = {};
  int contexts[device_count] = {};
  bool lost[device_count] = {};
  std::map<std::string, std::shared_ptr<const Kernel>> kernels;
  std::vector<std::string> complaints;
  std::map<std::string, int64_t> counts;
  int64_t calls = 0;
  std::vector<uint64_t> sites;
  bool gathers_sites = false;
  uint64_t fail_site = 0;  ///< 0: any
  int64_t fail_after = -1;
  int fail_status = 0;
  int64_t fault_after = -1;
  std::string failed_call;
  std::string held_kernel;

 private:
  World();
  void run();
  bool step(std::unique_lock<std::mutex>& lock);
  bool can_run(const Stream& stream) const;
  void run_piece(Active& active, int device, std::unique_lock<std::mutex>& lock);
  void advance(Stream& stream, std::unique_lock<std::mutex>& lock);
  void make_failed_calls(std::unique_lock<std::mutex>& lock);
  void advance_graph(Stream& stream, std::unique_lock<std::mutex>& lock);
  bool is_legal(const Work& work, int device) const;
  void fault(int device, const std::string& why);
  bool is_idle(int device);
};

}  // namespace sim

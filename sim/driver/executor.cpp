// SPDX-License-Identifier: Apache-2.0
// Runs the work of all streams on one thread, a piece at a time, in a seeded order that only streams, events and
// edges constrain. Pieces of independent work interleave, so that a missing edge shows in the bytes.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "world.hpp"

namespace sim {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Elements that can be done apart: workgroups, or elements of a fill or copy.
uint64_t units(const Work& work) {
  return work.kind == Work::Kind::kernel ? work.call.group_count() : work.size / work.element;
}

void run_fill(const Work& work, uint64_t begin, uint64_t end) {
  const auto put = [&]<class T>(T value) {
    T* at = reinterpret_cast<T*>(work.destination);  // aligned to its element
    std::fill(at + begin, at + end, value);
  };
  switch (work.element) {
    case 1: return put(static_cast<uint8_t>(work.value));
    case 2: return put(static_cast<uint16_t>(work.value));
    default: return put(work.value);
  }
}

constexpr int illegal_address = 700;

}  // namespace

std::string describe(const Work& work) {
  switch (work.kind) {
    case Work::Kind::kernel: return work.call.kernel->name;
    case Work::Kind::fill: return "fill of " + std::to_string(work.size) + " bytes";
    case Work::Kind::copy: return "copy of " + std::to_string(work.size) + " bytes";
  }
  return {};
}

Stream* World::create_stream(int device) {
  streams.push_back(std::make_shared<Stream>(device));
  return add(streams.back());
}

void World::push(Stream& stream, StreamOp op) {
  stream.ops.push_back(std::move(op));
  arrived.notify_all();
}

Status World::launch(Stream& stream, const std::shared_ptr<Exec>& exec) {
  auto made = std::make_unique<GraphRun>();
  made->exec = exec;
  made->works = exec->works;
  made->remaining = exec->dependency_count;
  made->left = made->works.size();
  StreamOp op;
  op.run = std::move(made);
  push(stream, std::move(op));
  return Status::ok;
}

Status World::synchronize(const std::shared_ptr<Stream>& stream, std::unique_lock<std::mutex>& lock) {
  changed.wait(lock, [&] { return lost[stream->device] || stream->ops.empty(); });
  return device_status(stream->device);
}

Status World::synchronize(const std::shared_ptr<Event>& event, std::unique_lock<std::mutex>& lock) {
  const uint64_t wanted = event->recorded;
  changed.wait(lock, [&] { return lost[event->device] || event->done >= wanted; });
  return device_status(event->device);
}

void World::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    make_failed_calls(lock);
    if (!step(lock) && failed_notices.empty()) arrived.wait(lock);
  }
}

/// What streams of lost devices still had to call, they call with the error.
void World::make_failed_calls(std::unique_lock<std::mutex>& lock) {
  if (failed_notices.empty()) return;
  const std::vector<Notice> notices = std::exchange(failed_notices, {});
  lock.unlock();
  for (const Notice& notice : notices) notice.callback(notice.stream, illegal_address, notice.data);
  lock.lock();
}

bool World::is_held(const StreamOp& op) const {
  const Work* work = op.active.work.get();
  return work != nullptr && work->kind == Work::Kind::kernel && work->call.kernel->name == held_kernel;
}

bool World::can_run(const Stream& stream) const {
  if (stream.ops.empty() || lost[stream.device]) return false;
  const StreamOp& op = stream.ops.front();
  if (op.event != nullptr && op.is_wait) return op.event->done >= op.value;
  if (is_held(op)) return false;
  // One executable graph never runs beside itself.
  if (op.run != nullptr && !op.run->started) return !op.run->exec->running;
  return true;
}

bool World::step(std::unique_lock<std::mutex>& lock) {
  std::vector<std::shared_ptr<Stream>> able;
  std::erase_if(streams, [&](const auto& stream) { return stream->ops.empty() && live.count(stream.get()) == 0; });
  for (const auto& stream : streams) {
    if (can_run(*stream)) able.push_back(stream);
  }
  if (able.empty()) return false;
  const auto stream = able[random() % able.size()];
  // Several pieces before the streams are looked at again: graphs are long and streams are many.
  for (int i = 0; i < 16 && can_run(*stream); ++i) advance(*stream, lock);
  return true;
}

void World::advance(Stream& stream, std::unique_lock<std::mutex>& lock) {
  StreamOp& op = stream.ops.front();
  if (op.run != nullptr) {
    advance_graph(stream, lock);
    return;
  }
  if (op.notice.callback != nullptr) {
    const Notice notice = op.notice;
    stream.ops.pop_front();
    lock.unlock();
    notice.callback(notice.stream, 0, notice.data);
    lock.lock();
    changed.notify_all();
    return;
  }
  if (op.event != nullptr) {
    if (!op.is_wait) {
      op.event->done = std::max(op.event->done, op.value);
      op.event->microseconds = now_us();
    }
  } else {
    run_piece(op.active, stream.device, lock);
    if (lost[stream.device] || op.active.next < op.active.pieces) return;
  }
  stream.ops.pop_front();
  changed.notify_all();
}

void World::advance_graph(Stream& stream, std::unique_lock<std::mutex>& lock) {
  GraphRun& launch = *stream.ops.front().run;
  if (!launch.started) {
    launch.started = true;
    launch.exec->running = true;
    for (uint32_t i = 0; i < launch.works.size(); ++i) {
      if (launch.remaining[i] == 0) launch.ready.push_back({.work = launch.works[i], .node = i});
    }
  }
  if (launch.left != 0) {
    const size_t chosen = random() % launch.ready.size();
    run_piece(launch.ready[chosen], stream.device, lock);
    if (lost[stream.device]) return;
    const Active active = launch.ready[chosen];
    if (active.next < active.pieces) return;
    launch.ready[chosen] = launch.ready.back();
    launch.ready.pop_back();
    --launch.left;
    for (const uint32_t child : launch.exec->children[active.node]) {
      if (--launch.remaining[child] == 0) launch.ready.push_back({.work = launch.works[child], .node = child});
    }
  }
  if (launch.left != 0) return;
  launch.exec->running = false;
  stream.ops.pop_front();
  changed.notify_all();
}

bool World::is_legal(const Work& work, int device) const {
  // Nobody asked for access to another device's memory; only copies reach it without.
  const auto reaches = [&](const void* at) {
    const Allocation* block = allocation_of(at);
    return block != nullptr && (block->on_host || block->device == device);
  };
  if (work.kind == Work::Kind::kernel) {
    // A built-in kernel's second view of a range may begin up to 16 bytes behind it.
    return std::all_of(work.call.buffers.begin(), work.call.buffers.end(),
                       [&](const void* at) { return reaches(at) || reaches(static_cast<const std::byte*>(at) - 16); });
  }
  if (work.kind == Work::Kind::fill && !reaches(work.destination)) return false;
  // A range that begins in no allocation is plain host memory, which a stream copy may use.
  const bool source = work.kind == Work::Kind::fill || room_at(work.source) == 0 || contains(work.source, work.size);
  const bool to_host = work.kind == Work::Kind::copy && room_at(work.destination) == 0;
  return source && (to_host || contains(work.destination, work.size));
}

void World::run_piece(Active& active, int device, std::unique_lock<std::mutex>& lock) {
  const Work& work = *active.work;
  if (active.pieces == 0) active.pieces = static_cast<uint32_t>(std::min<uint64_t>(1 + random() % 3, units(work)));
  if (fault_after >= 0 && fault_after-- == 0) {
    fault(device, "");
    return;
  }
  if (!is_legal(work, device)) {
    fault(device,
          "work reaches memory that is not its device's: " + (work.call.kernel ? work.call.kernel->name : "transfer"));
    return;
  }
  const uint64_t begin = units(work) * active.next / active.pieces;
  const uint64_t end = units(work) * (active.next + 1) / active.pieces;
  ++active.next;
  const WorkRef keep = active.work;
  lock.unlock();
  switch (keep->kind) {
    case Work::Kind::kernel: keep->call.run(begin, end); break;
    case Work::Kind::fill: run_fill(*keep, begin, end); break;
    case Work::Kind::copy: std::memmove(keep->destination + begin, keep->source + begin, end - begin); break;
  }
  lock.lock();
}

void World::fault(int device, const std::string& why) {
  if (!why.empty()) complain(why);
  lost[device] = true;
  for (const auto& stream : streams) {
    if (stream->device != device) continue;
    for (StreamOp& op : stream->ops) {
      if (op.run != nullptr) op.run->exec->running = false;
      if (op.notice.callback != nullptr) failed_notices.push_back(std::exchange(op.notice, {}));
    }
  }
  changed.notify_all();
}

}  // namespace sim

// SPDX-License-Identifier: Apache-2.0
#include "queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "control.hpp"
#include "hazards.hpp"
#include "kernel_run.hpp"

namespace sim_metal {
namespace {

std::atomic<uint32_t> next_queue{1};
std::atomic<uint64_t> next_encoder{1};
constexpr int64_t invalid_resource = 9;  ///< MTLCommandBufferErrorInvalidResource

/// Commands that nothing in their encoder orders: they run in any order.
bool same_phase(const Command& a, const Command& b) {
  return a.encoder && a.encoder == b.encoder && a.encoder->concurrent && a.barriers && b.barriers &&
         *a.barriers == *b.barriers;
}

/// True if all is there that the command needs.
bool check_lifetimes(const Command& command, CommandBuffer& buffer) {
  const char* freed = freed_part(command);
  if (freed == nullptr) return true;
  const std::string text = std::string(freed) + " of " + describe(command) + " was freed before the device was done";
  report("lifetime", "%s", text.c_str());
  buffer.fail(invalid_resource, text);
  return false;
}

void run_blit(Command& command) {
  const auto a = command.a.get();
  const auto b = command.kind == Command::Kind::copy ? command.b.get() : a;
  if (!a || !b) return;  // freed at this moment: found when the command buffer is over
  if (command.kind == Command::Kind::fill) {
    touch({command, *a, command.a_offset, command.size, true, false, 0});
    std::memset(a->base() + command.a_offset, command.value, command.size);
    return;
  }
  touch({command, *a, command.a_offset, command.size, false, false, 0});
  touch({command, *b, command.b_offset, command.size, true, false, 0});
  std::memmove(b->base() + command.b_offset, a->base() + command.a_offset, command.size);
}

void wait_for_event(Event& event, Command& command, CommandBuffer& buffer) {
  const auto timeout = std::chrono::milliseconds(settings().event_timeout_ms);
  Clock known;
  if (!event.wait(command.event_value, timeout, known)) {
    const std::string text = "timed out waiting for event value " + std::to_string(command.event_value);
    report("deadlock", "%s", text.c_str());
    return buffer.fail(2, text);
  }
  buffer.known.join(known);
}

void signal_event(Event& event, const Command& command, CommandBuffer& buffer, uint32_t queue) {
  Clock known = buffer.known;
  known.reach(queue, buffer.last_encoder);
  event.signal(command.event_value, known);
}

void run_fence(Fence& fence, Command& command) {
  auto& fenced = command.encoder->fenced;
  if (command.kind == Command::Kind::wait_fence) {
    fenced.insert(fenced.end(), fence.encoders.begin(), fence.encoders.end());
    return;
  }
  fence.encoders = fenced;
  fence.encoders.push_back(command.encoder->serial);
}

void run_work(Command& command, CommandBuffer& buffer) {
  const std::lock_guard lock(device_lock());
  command.encoder->known = buffer.known;
  buffer.last_encoder = std::max(buffer.last_encoder, command.encoder->serial);
  switch (command.kind) {
    case Command::Kind::update_fence:
    case Command::Kind::wait_fence:
      if (const auto fence = command.fence.get()) run_fence(*fence, command);
      break;
    case Command::Kind::dispatch:
      begin_command(command);
      run_dispatch(command, buffer);
      break;
    case Command::Kind::fill:
    case Command::Kind::copy:
      begin_command(command);
      run_blit(command);
      break;
    case Command::Kind::signal:
    case Command::Kind::wait: break;
  }
}

void run_command(Command& command, CommandBuffer& buffer, uint32_t queue) {
  if (!check_lifetimes(command, buffer)) return;
  const auto event = command.event.get();
  if (event && command.kind == Command::Kind::signal) return signal_event(*event, command, buffer, queue);
  if (event) return wait_for_event(*event, command, buffer);
  if (command.encoder) run_work(command, buffer);
}

void run_buffer(CommandBuffer& buffer, uint32_t queue) {
  std::mt19937 random(settings().seed);
  auto& commands = buffer.commands;
  for (size_t begin = 0; begin < commands.size() && buffer.error.empty();) {
    size_t end = begin + 1;
    while (end < commands.size() && same_phase(commands[begin], commands[end])) ++end;
    std::vector<size_t> order(end - begin);
    std::iota(order.begin(), order.end(), begin);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      if (buffer.error.empty()) run_command(commands[i], buffer, queue);
    }
    begin = end;
  }
  if (buffer.retained || buffer.error_code == invalid_resource) return;
  for (const Command& command : commands) {
    if (!check_lifetimes(command, buffer)) return;
  }
}

}  // namespace

Queue::Queue() : id_(next_queue++), thread_([shared = shared_, id = id_] { serve(shared, id); }) {}

Queue::~Queue() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->wake.notify_all();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Queue::commit(std::shared_ptr<CommandBuffer> buffer) {
  buffer->fault = command_buffer_fault();
  buffer->known = host_clock();
  {
    const std::lock_guard lock(shared_->mutex);
    for (const Command& command : buffer->commands) {
      if (command.encoder && command.encoder->serial == 0) command.encoder->serial = next_encoder++;
    }
    shared_->work.push_back(std::move(buffer));
  }
  shared_->wake.notify_all();
}

void Queue::serve(const std::shared_ptr<Shared>& shared, uint32_t id) {
  Clock waited;  // what the queue's command buffers have waited for: each comes after those before it
  uint64_t last_encoder = 0;
  for (;;) {
    std::shared_ptr<CommandBuffer> buffer;
    {
      std::unique_lock lock(shared->mutex);
      shared->wake.wait(lock, [&] { return shared->stop || !shared->work.empty(); });
      if (shared->work.empty()) return;
      buffer = std::move(shared->work.front());
      shared->work.pop_front();
    }
    buffer->scheduled();
    buffer->known.join(waited);
    buffer->last_encoder = last_encoder;
    if (buffer->fault) {
      buffer->fail(*buffer->fault, "fault asked for by the test");
    } else if (settings().execute) {
      run_buffer(*buffer, id);
    }
    waited = buffer->known;
    last_encoder = buffer->last_encoder;
    buffer->known.reach(id, last_encoder);
    auto completed = std::exchange(buffer->completed, nullptr);
    buffer.reset();
    completed();
  }
}

}  // namespace sim_metal

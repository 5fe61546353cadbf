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

/// Commands that nothing in their encoder orders: they run in any order.
bool same_phase(const Command& a, const Command& b) {
  return a.encoder && a.encoder == b.encoder && a.encoder->concurrent && a.barriers && b.barriers &&
         *a.barriers == *b.barriers;
}

void run_blit(Command& command, CommandBuffer& buffer) {
  const auto a = command.a.get();
  const auto b = command.kind == Command::Kind::copy ? command.b.get() : a;
  if (!a || !b) {
    const std::string text = "a buffer of " + describe(command) + " was freed before the device used it";
    report("lifetime", "%s", text.c_str());
    return buffer.fail(9, text);
  }
  if (command.kind == Command::Kind::fill) {
    touch({command, *a, command.a_offset, command.size, true, false, 0});
    std::memset(a->base() + command.a_offset, command.value, command.size);
    return;
  }
  touch({command, *a, command.a_offset, command.size, false, false, 0});
  touch({command, *b, command.b_offset, command.size, true, false, 0});
  std::memmove(b->base() + command.b_offset, a->base() + command.a_offset, command.size);
}

void wait_for_event(Command& command, CommandBuffer& buffer) {
  const auto timeout = std::chrono::milliseconds(settings().event_timeout_ms);
  Clock known;
  if (!command.event->wait(command.event_value, timeout, known)) {
    const std::string text = "timed out waiting for event value " + std::to_string(command.event_value);
    report("deadlock", "%s", text.c_str());
    return buffer.fail(2, text);
  }
  buffer.known.join(known);
}

void signal_event(const Command& command, CommandBuffer& buffer, uint32_t queue) {
  Clock known = buffer.known;
  known.reach(queue, buffer.last_encoder);
  command.event->signal(command.event_value, known);
}

void wait_for_fence(const Command& command) {
  auto& fenced = command.encoder->fenced;
  fenced.insert(fenced.end(), command.fence->encoders.begin(), command.fence->encoders.end());
}

void run_work(Command& command, CommandBuffer& buffer) {
  const std::lock_guard lock(device_lock());
  command.encoder->known = buffer.known;
  buffer.last_encoder = std::max(buffer.last_encoder, command.encoder->serial);
  switch (command.kind) {
    case Command::Kind::update_fence:
      command.fence->encoders = command.encoder->fenced;
      command.fence->encoders.push_back(command.encoder->serial);
      break;
    case Command::Kind::wait_fence: wait_for_fence(command); break;
    case Command::Kind::dispatch:
      begin_command(command);
      run_dispatch(command, buffer);
      break;
    case Command::Kind::fill:
    case Command::Kind::copy:
      begin_command(command);
      run_blit(command, buffer);
      break;
    case Command::Kind::signal:
    case Command::Kind::wait: break;
  }
}

void run_command(Command& command, CommandBuffer& buffer, uint32_t queue) {
  if (command.kind == Command::Kind::signal) return signal_event(command, buffer, queue);
  if (command.kind == Command::Kind::wait) return wait_for_event(command, buffer);
  run_work(command, buffer);
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

// SPDX-License-Identifier: Apache-2.0
// A queue of the software device: one thread that runs committed command buffers in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <thread>

#include "commands.hpp"

namespace sim_metal {

class Queue {
 public:
  Queue();
  ~Queue();  ///< runs what was committed first, unless it is called on the queue's own thread
  void commit(std::shared_ptr<CommandBuffer> buffer);
  uint32_t id() const { return id_; }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::shared_ptr<CommandBuffer>> work;
    bool stop = false;
  };
  static void serve(const std::shared_ptr<Shared>& shared, uint32_t id);

  uint32_t id_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

}  // namespace sim_metal

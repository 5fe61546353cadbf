// SPDX-License-Identifier: Apache-2.0
// Pianola beside code that uses CUDA already. Handles are the driver's own pointers, passed as void*, so that no vendor
// header is needed. Memory is imported with Buffer::import. Only in builds with CUDA.
#pragma once

#include <cstdint>
#include <vector>

#include "pianola/device.hpp"
#include "pianola/queue.hpp"

namespace pianola::interop::cuda {

/// The CUcontext, which is the device's primary one; null if the device is of another backend.
void* native_context(const Device& device);

/// The CUstream that the queue issues its work on; work and events put on it directly come in the order of the
/// calls. A submission whose semaphores are not reached yet is not on it yet.
/// Errors: invalid_argument (a queue of another backend), and those of making a stream.
Result<void*> native_stream(const Queue& queue);
/// A queue that issues its work on a CUstream of this device, which the caller keeps alive until the queue's last
/// submission has completed. Dropping the queue's last handle may wait for what is on the stream, never for a
/// semaphore: only waiting for the submissions tells that they have ended. Errors: invalid_argument (null, a device of
/// another backend), out_of_memory.
Result<Queue> import_queue(const Device& device, void* stream);

/// The CUgraph of each piece of the graph, as it was bound last: several where indirect dispatches cut it, none if
/// it is replayed on streams or is of another backend. They live until the graph is bound anew or let go of.
std::vector<void*> native_graphs(const Graph& graph);

/// The semaphore reaches `value` once everything that is on the CUstream now is done; if that fails, so does the
/// semaphore. Errors: invalid_argument (empty, null, a device of another backend), out_of_memory, device_lost.
Result<> signal_when(const Semaphore& semaphore, uint64_t value, const Device& device, void* stream);

}  // namespace pianola::interop::cuda

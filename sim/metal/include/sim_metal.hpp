// SPDX-License-Identifier: Apache-2.0
// How tests steer and question the software Metal: settings, findings, counts, faults.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sim_metal {

/// Blit offsets and sizes: multiples of 4 (Macs with AMD or Intel GPUs) or any byte (Apple GPUs).
enum class AlignmentRule : uint8_t { mac, apple };

/// The first use reads SIM_METAL_ALIGNMENT (mac, apple), SIM_METAL_MEMORY (unified, discrete), SIM_METAL_ADDRESSES
/// (none), SIM_METAL_SEED and SIM_METAL_STRICT (1: abort at the first finding) from the environment.
struct Settings {
  AlignmentRule alignment = AlignmentRule::mac;
  bool unified_memory = true;
  bool has_device = true;
  bool argument_buffers = true;  ///< of tier 2; else of tier 1
  bool metal3 = true;            ///< of the family Metal3; virtual GPUs are not, and have tier 2 all the same
  bool gpu_addresses = true;     ///< else gpuAddress is 0, as where a device tells none
  bool strict = false;
  bool execute = true;  ///< false: committed work completes without being run, for encoding benchmarks
  uint32_t seed = 1;    ///< orders whatever Metal leaves unordered
  uint32_t event_timeout_ms = 2000;
  uint32_t max_threads_per_pipeline = 1024;
  std::array<uint32_t, 3> max_threadgroup = {1024, 1024, 1024};
  uint32_t max_threadgroup_memory = 32768;
};
Settings settings();
void configure(const Settings& settings);

/// Findings so far, "rule: what happened"; emptied by the call.
std::vector<std::string> take_findings();

/// What was encoded since the last reset.
struct Counts {
  uint32_t command_buffers = 0;
  uint32_t blit_encoders = 0;
  uint32_t compute_encoders = 0;
  uint32_t concurrent_encoders = 0;  ///< among the compute encoders
  uint32_t empty_encoders = 0;
  uint32_t switches = 0;  ///< from a blit to a compute encoder of one command buffer, or back
  uint32_t barriers = 0;
  uint32_t scope_barriers = 0;  ///< among the barriers: of everything, not of named resources
  uint32_t used_to_read = 0;    ///< through useResource
  uint32_t used_to_write = 0;
  uint32_t events = 0;  ///< signals and waits
  uint32_t fences = 0;
  uint32_t fills = 0;
  uint32_t copies = 0;
  uint32_t dispatches = 0;
  uint64_t bytes_set = 0;     ///< through setBytes
  uint64_t bytes_staged = 0;  ///< through newBufferWithBytes
  bool operator==(const Counts&) const = default;
};
Counts counts();
void reset_counts();

/// Objective-C objects of the software device that are alive.
long live_objects();

/// Debug groups and command labels in the order in which they were encoded; emptied by the call.
std::vector<std::string> take_labels();

/// Calls that can fail: making buffers, libraries, functions, pipelines, queues, command buffers, encoders, events.
uint32_t fallible_calls();
/// The fallible call with this number, counted from now and from 0, fails once.
void fail_call(uint32_t number);
/// The command buffer with this number, counted from now and from 0, runs nothing and completes with this error.
void fail_command_buffer(uint32_t number, int64_t error_code);
void clear_faults();

}  // namespace sim_metal

// SPDX-License-Identifier: Apache-2.0
// Results and errors on their way to the terminal or to a machine.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pianola/device.hpp"
#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"
#include "pianola/plan.hpp"

namespace tool {

/// One line of `pianola bench`: nanoseconds for one command, medians.
struct BenchRow {
  std::string list;
  uint32_t commands = 0;
  double record_ns = 0;
  double plan_ns = 0;
  double instantiate_ns = 0;
  double replay_ns = 0;
};

/// When the commands of one replay ran.
struct TraceRow {
  std::string list;
  std::vector<pianola::CommandTime> times;
};

/// One line on standard error; returns the exit code that belongs to the error.
int report(const pianola::Error& error);

std::string devices_json(std::span<const pianola::DeviceDescription> devices);
/// For chrome://tracing and its like: a process a list, a row a lane.
std::string trace_json(std::span<const TraceRow> rows);
std::string bench_json(std::string_view device, std::span<const BenchRow> rows);
std::string kernel_library_json(const pianola::KernelLibrary& library);
std::string plan_json(std::string_view list, const pianola::Plan& plan);

}  // namespace tool

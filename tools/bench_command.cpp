// SPDX-License-Identifier: Apache-2.0
#include "bench_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <vector>

#include "bind_all.hpp"
#include "example_lists.hpp"
#include "exit_codes.hpp"
#include "pianola/device.hpp"
#include "report.hpp"

namespace tool {

namespace {

using Clock = std::chrono::steady_clock;
using pianola::Result;

constexpr uint32_t repeats_of_list = 100;  // the lists' own sizes are made for reading

// Median nanoseconds of `step`, which is run again and again for at least `budget`.
template <class Step>
Result<double> median_ns(std::chrono::milliseconds budget, const Step& step) {
  std::vector<double> samples;
  const Clock::time_point end = Clock::now() + budget;
  while (samples.size() < 5 || Clock::now() < end) {
    const Clock::time_point begin = Clock::now();
    if (Result<> done = step(); !done) return done.error();
    samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(samples, samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
  return samples[samples.size() / 2];
}

template <class Value>
Result<> outcome_of(const Result<Value>& result) {
  if (!result) return result.error();
  return {};
}

Result<BenchRow> measure(const ExampleList& list, const pianola::KernelLibrary& kernels, const pianola::Device& device,
                         std::chrono::milliseconds budget) {
  const uint32_t size = list.default_size * repeats_of_list;
  const auto commands = list.record(kernels, size);
  if (!commands) return commands.error();
  const auto bound = bind_all(device, *commands);
  if (!bound) return bound.error();
  const auto graph = device.instantiate(*commands, *bound);
  if (!graph) return graph.error();
  const pianola::Queue queue = device.queue();

  const auto record = median_ns(budget, [&] { return outcome_of(list.record(kernels, size)); });
  if (!record) return record.error();
  const auto plan = median_ns(budget, [&] { return outcome_of(pianola::make_plan(*commands, device.profile())); });
  if (!plan) return plan.error();
  const auto instantiate = median_ns(budget, [&] { return outcome_of(device.instantiate(*commands, *bound)); });
  if (!instantiate) return instantiate.error();
  const auto replay = median_ns(budget, [&]() -> Result<> {
    const auto submission = queue.submit(*graph);
    if (!submission) return submission.error();
    return submission->wait();
  });
  if (!replay) return replay.error();

  const double count = std::max(commands->command_count(), 1U);
  return BenchRow{.list = std::string(list.name),
                  .commands = commands->command_count(),
                  .record_ns = *record / count,
                  .plan_ns = *plan / count,
                  .instantiate_ns = *instantiate / count,
                  .replay_ns = *replay / count};
}

// One replay of the list at its own size, with every command timed.
Result<TraceRow> trace(const ExampleList& list, const pianola::KernelLibrary& kernels, const pianola::Device& device) {
  const auto commands = list.record(kernels, list.default_size);
  if (!commands) return commands.error();
  auto bound = bind_all(device, *commands);
  if (!bound) return bound.error();
  bound->timestamps = true;
  const auto graph = device.instantiate(*commands, *bound);
  if (!graph) return graph.error();
  TraceRow row{.list = std::string(list.name), .times = {}};
  // The second time, memory and code are where they shall be.
  for (int i = 0; i < 2; ++i) {
    const auto submission = device.queue().submit(*graph);
    if (!submission) return submission.error();
    if (Result<> done = submission->wait(); !done) return done.error();
    row.times = submission->times();
  }
  return row;
}

int write_trace(const BenchOptions& options, const std::vector<TraceRow>& rows) {
  std::ofstream file(options.trace);
  file << trace_json(rows) << "\n";
  file.close();
  if (file) return success;
  std::fprintf(stderr, "pianola: cannot write '%s'\n", options.trace.c_str());
  return failed;
}

void print(std::string_view device, const std::vector<BenchRow>& rows) {
  std::printf("%.*s: nanoseconds for one command, medians; instantiate includes planning\n",
              static_cast<int>(device.size()), device.data());
  std::printf("%-14s %9s %10s %10s %12s %10s\n", "list", "commands", "record", "plan", "instantiate", "replay");
  for (const BenchRow& row : rows) {
    std::printf("%-14s %9u %10.1f %10.1f %12.1f %10.1f\n", row.list.c_str(), row.commands, row.record_ns, row.plan_ns,
                row.instantiate_ns, row.replay_ns);
  }
}

}  // namespace

int run_bench(const BenchOptions& options) {
  const auto device = pianola::Device::open(options.device, {.driver_path = options.driver});
  if (!device) return report(device.error());
  if (!options.trace.empty() && !device->limits().timestamps) {
    const std::string message = "--trace: device " + std::string(device->spec()) + " does not time commands";
    return report({.code = pianola::Errc::unsupported, .message = message});
  }
  const auto kernels = example_kernels();
  if (!kernels) return report(kernels.error());

  const std::chrono::milliseconds budget(options.quick ? 20 : 200);
  std::vector<BenchRow> rows;
  std::vector<TraceRow> traces;
  for (const ExampleList& list : example_lists()) {
    const bool is_wanted = options.lists.empty() || std::ranges::count(options.lists, list.name) != 0;
    if (!is_wanted) continue;
    auto row = measure(list, *kernels, *device, budget);
    if (!row) return report(row.error());
    rows.push_back(std::move(*row));
    if (options.trace.empty()) continue;
    auto traced = trace(list, *kernels, *device);
    if (!traced) return report(traced.error());
    traces.push_back(std::move(*traced));
  }
  if (options.json) {
    std::puts(bench_json(device->spec(), rows).c_str());
  } else {
    print(device->spec(), rows);
  }
  return options.trace.empty() ? success : write_trace(options, traces);
}

}  // namespace tool

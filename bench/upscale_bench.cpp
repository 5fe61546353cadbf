// SPDX-License-Identifier: Apache-2.0
// The upscaling network: recorded and replayed, as plain loops, and as two processes side by side.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "data_folder.hpp"
#include "pianola/device.hpp"
#include "plain.hpp"
#include "upscaler.hpp"

namespace {

using upscale::Image;
using upscale::Network;
using upscale::PlainNetwork;
using upscale::Upscaler;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr uint32_t side = 256;

/// A picture with detail everywhere.
Image test_picture() {
  Image image(side, side);
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>(i * 2654435761U >> 13);
  return image;
}

/// The network and a device with it, or the reason why not.
struct Setup {
  Network network;
  std::unique_ptr<Upscaler> upscaler;
  std::string problem;
};

pianola::Result<> fill_setup(Setup& setup, const std::string& name, uint32_t threads) {
  const auto network = upscale::load_known_network(upscale::default_data_folder(), name);
  if (!network) return network.error();
  const auto device = pianola::Device::open("cpu", {.threads = threads});
  if (!device) return device.error();
  auto made = Upscaler::create(*device, *network, side, side);
  if (!made) return made.error();
  setup.network = *network;
  setup.upscaler = std::make_unique<Upscaler>(std::move(*made));
  const auto first = setup.upscaler->run(test_picture());
  if (!first) return first.error();
  return {};
}

Setup make_setup(const std::string& name, uint32_t threads) {
  Setup setup;
  const auto filled = fill_setup(setup, name, threads);
  if (!filled) setup.problem = pianola::to_string(filled.error());
  return setup;
}

void replay(benchmark::State& state, const std::string& network, uint32_t threads) {
  const Setup setup = make_setup(network, threads);
  if (!setup.problem.empty()) return state.SkipWithError(setup.problem.c_str());
  for (auto _ : state) {
    const auto done = setup.upscaler->replay();
    if (!done) return state.SkipWithError(pianola::to_string(done.error()).c_str());
  }
}

void plain(benchmark::State& state, const std::string& name) {
  const auto network = upscale::load_known_network(upscale::default_data_folder(), name);
  if (!network) return state.SkipWithError(pianola::to_string(network.error()).c_str());
  PlainNetwork plain_network(*network, side, side);
  plain_network.set_image(test_picture());
  for (auto _ : state) plain_network.run();
}

template <class Work>
double milliseconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return Milliseconds(std::chrono::steady_clock::now() - begin).count();
}

/// A failed replay is noted in the set-up.
double replay_milliseconds(Setup& setup) {
  return milliseconds([&] {
    const auto done = setup.upscaler->replay();
    if (!done) setup.problem = pianola::to_string(done.error());
  });
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// One thread against the plain loops, in turns, since the machine's speed changes with its load.
void against_plain(benchmark::State& state, const std::string& network) {
  Setup setup = make_setup(network, 1);
  if (!setup.problem.empty()) return state.SkipWithError(setup.problem.c_str());
  PlainNetwork plain_network(setup.network, side, side);
  plain_network.set_image(test_picture());
  std::vector<double> replays;
  std::vector<double> plains;
  for (auto _ : state) {
    for (int round = 0; round < 15; ++round) {
      replays.push_back(replay_milliseconds(setup));
      plains.push_back(milliseconds([&] { plain_network.run(); }));
    }
  }
  if (!setup.problem.empty()) return state.SkipWithError(setup.problem.c_str());
  state.counters["replay_ms"] = median(replays);
  state.counters["plain_ms"] = median(plains);
  state.counters["ratio"] = median(replays) / median(plains);
}

using Pipe = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// This program's one-thread benchmark of the network, begun in a process of its own.
Pipe begin_child(const std::string& network) {
  const std::string command = fmt::format(
      "exec \"$(readlink /proc/$PPID/exe)\" --benchmark_filter='^upscale/one_process/{}/' --benchmark_format=csv "
      "2>/dev/null",
      network);
  return {popen(command.c_str(), "r"), pclose};
}

/// Milliseconds a replay, out of the child's table; 0 if it has none.
double end_child(const Pipe& child) {
  std::array<char, 512> line{};
  double result = 0.0;
  while (std::fgets(line.data(), static_cast<int>(line.size()), child.get()) != nullptr) {
    const std::string text = line.data();
    const size_t name_end = text.find("\",");
    unsigned long long iterations = 0;
    if (text.rfind("\"upscale/", 0) == 0 && name_end != std::string::npos) {
      if (std::sscanf(text.c_str() + name_end + 2, "%llu,%lf", &iterations, &result) != 2) result = 0.0;
    }
  }
  return result;
}

/// Two threads against what two independent processes of one thread reach together, in turns.
void against_two_processes(benchmark::State& state, const std::string& network) {
  Setup setup = make_setup(network, 2);
  if (!setup.problem.empty()) return state.SkipWithError(setup.problem.c_str());
  std::vector<double> replays;
  std::vector<double> processes;
  for (auto _ : state) {
    for (int round = 0; round < 5; ++round) {
      const Pipe first = begin_child(network);
      const Pipe second = begin_child(network);
      const double a = end_child(first);
      const double b = end_child(second);
      if (a == 0.0 || b == 0.0) return state.SkipWithError("a process of its own gave no time");
      processes.push_back(1.0 / (1.0 / a + 1.0 / b));
      for (int i = 0; i < 60; ++i) {
        replays.push_back(replay_milliseconds(setup));
      }
    }
  }
  if (!setup.problem.empty()) return state.SkipWithError(setup.problem.c_str());
  state.counters["replay_ms"] = median(replays);
  state.counters["processes_ms"] = median(processes);
  state.counters["share"] = median(processes) / median(replays);
}

const bool registered = [] {
  for (const std::string network : {"s-an", "m-an", "l-an"}) {
    for (const uint32_t threads : {1U, 2U}) {
      const std::string name = fmt::format("upscale/{}/{}/threads:{}", network, side, threads);
      benchmark::RegisterBenchmark(name.c_str(), replay, network, threads)->Unit(benchmark::kMillisecond);
    }
    const std::string name = fmt::format("upscale/plain/{}/{}", network, side);
    benchmark::RegisterBenchmark(name.c_str(), plain, network)->Unit(benchmark::kMillisecond);
  }
  const std::string network = "l-an";
  benchmark::RegisterBenchmark("upscale/one_process/l-an", replay, network, 1)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("upscale/against_plain/l-an", against_plain, network)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("upscale/against_two_processes/l-an", against_two_processes, network)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace

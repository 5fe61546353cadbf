// SPDX-License-Identifier: Apache-2.0
// The program: reads a picture, replays the network over it, writes a picture of twice the size.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <pianola/pianola.hpp>

#include "evaluate.hpp"
#include "image.hpp"
#include "options.hpp"
#include "upscaler.hpp"

namespace {

using namespace upscale;
using pianola::Result;

/// Ends the program with one line on stderr.
struct Stop {
  Exit code;
  std::string message;
};

template <class T>
T value_or_stop(Result<T> result, Exit code) {
  if (!result) throw Stop{code, result.error().message};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Network load_network(const Options& options) {
  if (!options.weights.empty()) return value_or_stop(load_network_file(options.weights), Exit::weights);
  const auto known = network_names();
  const bool exists = std::find(known.begin(), known.end(), options.network) != known.end();
  return value_or_stop(load_known_network(options.data, options.network), exists ? Exit::weights : Exit::usage);
}

/// A line that grows with the tiles, if there are several and somebody looks.
Upscaler::Progress progress_line(const Options& options) {
  if (options.quiet || isatty(STDERR_FILENO) == 0) return {};
  return [](uint32_t done, uint32_t all) {
    if (all == 1) return;
    std::fprintf(stderr, "\rtile %u of %u%s", done, all, done == all ? "\n" : "");
    std::fflush(stderr);
  };
}

/// "640x416".
std::string size_of(const Image& image) {
  return fmt::format("{}x{}", image.width, image.height);
}

void print_replay(Upscaler& upscaler, const pianola::Device& device, const std::string& network) {
  // The first replays warm the caches.
  constexpr uint32_t replays = 21;
  const auto time = value_or_stop(upscaler.time_replay(replays), Exit::device);
  const pianola::PlanStats& stats = upscaler.graph().plan().stats();
  fmt::print("network   cnn-2x-{} on {} ({})\n", network, device.spec(), device.name());
  fmt::print("recorded  {} dispatches, {} barriers\n", upscaler.dispatch_count(), stats.barriers_recorded);
  fmt::print("planned   {} edges kept, {} lanes\n", stats.edges, stats.lanes);
  fmt::print("replay    {} us (the middle of {})\n",
             std::chrono::duration_cast<std::chrono::microseconds>(time).count(), replays);
}

Upscaler make_upscaler(const Options& options, const Network& network, const pianola::Device& device,
                       const Image& input) {
  Result<Upscaler> upscaler = Upscaler::create(device, network, input.width, input.height, options.tile);
  if (!upscaler) {
    const bool is_usage = upscaler.error().code == pianola::Errc::invalid_argument;
    throw Stop{is_usage ? Exit::usage : Exit::device, upscaler.error().message};
  }
  return std::move(*upscaler);
}

void evaluate(const Options& options, const Network& network, const pianola::Device& device, const Image& photo) {
  Evaluation evaluation =
      value_or_stop(prepare_evaluation(photo, options.crop_width, options.crop_height), Exit::usage);
  Upscaler upscaler = make_upscaler(options, network, device, evaluation.half);
  evaluation.result = value_or_stop(upscaler.run(evaluation.half, progress_line(options)), Exit::device);
  const Scores scores = score(evaluation);
  value_or_stop(write_png(options.output, evaluation.result), Exit::output);
  if (!options.side_by_side.empty()) {
    const Image picture = compare_by_eye(evaluation, network.name, scores);
    value_or_stop(write_png(options.side_by_side, picture), Exit::output);
  }
  if (options.quiet) return;
  fmt::print("picture   {}, halved to {}, upscaled to {}\n", size_of(evaluation.original), size_of(evaluation.half),
             size_of(evaluation.result));
  fmt::print("PSNR: {:.2f} dB\n", scores.network);
  fmt::print("bicubic: {:.2f} dB, bilinear: {:.2f} dB\n", scores.bicubic, scores.bilinear);
  print_replay(upscaler, device, network.name);
}

void enlarge(const Options& options, const Network& network, const pianola::Device& device, const Image& photo) {
  Upscaler upscaler = make_upscaler(options, network, device, photo);
  const Image result = value_or_stop(upscaler.run(photo, progress_line(options)), Exit::device);
  value_or_stop(write_png(options.output, result), Exit::output);
  if (options.quiet) return;
  fmt::print("picture   {}, upscaled to {} in {} tiles\n", size_of(photo), size_of(result), upscaler.tile_count());
  print_replay(upscaler, device, network.name);
}

Exit run(const Options& options) {
  const Network network = load_network(options);
  const Image photo = value_or_stop(read_image(options.input), Exit::photo);
  const auto device = value_or_stop(pianola::Device::open(options.device, {.threads = options.threads}), Exit::device);
  (options.evaluate ? evaluate : enlarge)(options, network, device, photo);
  return Exit::ok;
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::string message;
  Exit code = Exit::failed;
  try {
    const Parsed parsed = parse_options(argument_count, arguments);
    return static_cast<int>(parsed.options ? run(*parsed.options) : parsed.exit);
  } catch (const Stop& stop) {
    message = stop.message;
    code = stop.code;
  } catch (const std::bad_alloc&) {
    message = "out of memory";
  } catch (const std::exception& fault) {
    message = fault.what();
  }
  fmt::print(stderr, "upscale: {}\n", message);
  return static_cast<int>(code);
}

// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "data_folder.hpp"
#include "network.hpp"

namespace upscale {
namespace {

std::string known_networks() {
  std::string text;
  for (const std::string_view name : network_names()) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

constexpr const char* footer =
    "The second part of a network's name says what it was trained on: an animation, rl real life, 3d renderings.\n"
    "Weights and the photos of the demonstration are fetched by scripts/fetch-data.\n"
    "\n"
    "Exit codes: 0 done; 2 wrong options; 3 the photo is missing or isn't a picture; 4 the weights are missing or\n"
    "damaged; 5 the device is unknown, isn't there or failed; 6 the result could not be written; 7 anything else.\n"
    "Whatever fails, no half-written file is left.";

}  // namespace

Parsed parse_options(int argument_count, char** arguments) {
  Options options;
  options.data = default_data_folder();
  CLI::App app("Doubles a picture's size with a small convolutional network, recorded once and replayed.", "upscale");
  app.footer(footer);
  app.add_option("input", options.input, "A JPEG or PNG picture")->required();
  app.add_option("output", options.output, "The PNG to write")->required();
  app.add_option("--network", options.network, "One of " + known_networks())->capture_default_str();
  app.add_option("--weights", options.weights, "A weights file instead of a known network");
  app.add_option("--device", options.device, "cpu, or another that `pianola devices` lists")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads of the CPU device; 0 is one a core")->capture_default_str();
  app.add_option("--data", options.data, "The folder that scripts/fetch-data filled")->capture_default_str();
  app.add_option("--tile", options.tile, "Pixels of a tile's side; bigger pictures are cut")->capture_default_str();
  app.add_flag("--evaluate", options.evaluate,
               "Halve the picture first, then compare the result with the original (PSNR) and show figures");
  auto* width = app.add_option("--crop-width", options.crop_width, "With --evaluate: use this many columns");
  auto* height = app.add_option("--crop-height", options.crop_height, "With --evaluate: use this many rows");
  auto* side = app.add_option("--side-by-side", options.side_by_side,
                              "With --evaluate: also write a PNG of bicubic, network and original");
  app.add_flag("--quiet", options.quiet, "No progress and no figures");
  try {
    app.parse(argument_count, arguments);
    if (!options.evaluate && (width->count() != 0 || height->count() != 0 || side->count() != 0)) {
      throw CLI::ValidationError("--crop-width, --crop-height and --side-by-side need --evaluate");
    }
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, std::cout, std::cerr);
    return {std::nullopt, code == 0 ? Exit::ok : Exit::usage};
  }
  return {std::move(options), Exit::ok};
}

}  // namespace upscale

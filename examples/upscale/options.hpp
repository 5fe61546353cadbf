// SPDX-License-Identifier: Apache-2.0
// The command line, and what the program's exit codes mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace upscale {

/// The program's exit codes; --help shows them.
enum class Exit : int {
  ok = 0,
  usage = 2,    ///< unknown option, network or impossible value
  photo = 3,    ///< the input is missing or isn't a picture
  weights = 4,  ///< the weights are missing or damaged
  device = 5,   ///< the device is unknown, isn't there or failed
  output = 6,   ///< the result could not be written
  failed = 7,   ///< out of memory, or a fault of the program
};

struct Options {
  std::string input;
  std::string output;
  std::string network = "l-an";
  std::string weights;  ///< a file instead of a known network
  std::string device = "cpu";
  uint32_t threads = 0;
  std::string data;  ///< folder that scripts/fetch-data filled
  uint32_t tile = 512;
  bool evaluate = false;
  uint32_t crop_width = 0;   ///< 0: all, made even
  uint32_t crop_height = 0;  ///< 0: all, made even
  std::string side_by_side;
  bool quiet = false;
};

/// The options, or the code to exit with after a message or the help text was printed.
struct Parsed {
  std::optional<Options> options;
  Exit exit = Exit::ok;
};
Parsed parse_options(int argument_count, char** arguments);

}  // namespace upscale

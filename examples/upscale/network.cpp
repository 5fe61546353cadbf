// SPDX-License-Identifier: Apache-2.0
// Known networks, their files and checksums.
#include "network.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>

#include "image.hpp"

namespace upscale {
namespace {

using pianola::Errc;
using pianola::Error;
using pianola::Result;

struct Known {
  std::string_view name;
  uint64_t checksum;  // XXH3 of the file
};

constexpr std::array<Known, 9> known_networks = {{
    {"s-an", 0xd7e49758aa31688e},
    {"s-rl", 0xb9d3903479e4236e},
    {"s-3d", 0xc742e80cf1d3e761},
    {"m-an", 0x43942b5df01db95b},
    {"m-rl", 0x6d12d099bad68c46},
    {"m-3d", 0xefbbe2996e8b78ba},
    {"l-an", 0x016369daa40d0251},
    {"l-rl", 0x50f431d3015432ab},
    {"l-3d", 0xb43b303d0fd2ad2d},
}};

constexpr auto names = [] {
  std::array<std::string_view, known_networks.size()> result;
  for (size_t i = 0; i < result.size(); ++i) result[i] = known_networks[i].name;
  return result;
}();

}  // namespace

uint32_t Network::matrix(const Layer& layer, uint32_t input, bool negative, uint32_t tap) const {
  if (layer.takes_image) return tap;
  const uint32_t stage = input / branches;
  const uint32_t branch = input % branches;
  return ((2 * stage + (negative ? 1 : 0)) * branches + branch) * layer.taps + tap;
}

std::span<const std::string_view> network_names() {
  return names;
}

Result<Network> load_known_network(const std::string& data_folder, std::string_view name) {
  for (const Known& known : known_networks) {
    if (known.name != name) continue;
    const std::string path = fmt::format("{}/weights/cnn-2x-{}.json", data_folder, name);
    if (!std::filesystem::exists(path)) {
      return Error{Errc::io, "no weights at '" + path + "'; run scripts/fetch-data"};
    }
    const Result<std::string> text = read_file(path);
    if (!text) return text.error();
    const uint64_t checksum = XXH3_64bits(text->data(), text->size());
    if (checksum != known.checksum) {
      return Error{Errc::corrupt, fmt::format("weights '{}' are damaged: checksum {:016x}, expected {:016x}; run "
                                              "scripts/fetch-data",
                                              path, checksum, known.checksum)};
    }
    return parse_network(*text, std::string(name));
  }
  return Error{Errc::invalid_argument, fmt::format("no network '{}'; there are {}", name, fmt::join(names, ", "))};
}

Result<Network> load_network_file(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_network(*text, std::filesystem::path(path).stem().string());
}

}  // namespace upscale

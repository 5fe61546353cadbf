// SPDX-License-Identifier: Apache-2.0
// Reads a network's JSON form and checks that it is one of the shapes the program can run.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "network.hpp"

namespace upscale {
namespace {

using nlohmann::ordered_json;
using pianola::Errc;
using pianola::Error;
using pianola::Result;

/// What is wrong with a file; turned into an Error at the border of this source.
struct Problem {
  std::string text;
};

std::vector<float> read_numbers(const ordered_json& json, const std::string& layer) {
  if (!json.is_array()) throw Problem{"layer '" + layer + "' lacks a list of numbers"};
  std::vector<float> numbers;
  numbers.reserve(json.size());
  for (const ordered_json& value : json) {
    if (!value.is_number()) throw Problem{"layer '" + layer + "' holds something that is no number"};
    numbers.push_back(value.get<float>());
    if (!std::isfinite(numbers.back())) throw Problem{"layer '" + layer + "' holds a number that is not finite"};
  }
  return numbers;
}

using Tensors = std::map<std::string, uint32_t>;

void read_inputs(const ordered_json& inputs, const Tensors& tensors, Layer& layer) {
  if (!inputs.is_array() || inputs.empty()) throw Problem{"layer '" + layer.name + "' has no inputs"};
  layer.input_count = static_cast<uint32_t>(inputs.size());
  if (inputs[0] == "input_image") {
    if (inputs.size() != 1) throw Problem{"layer '" + layer.name + "' takes the picture and more"};
    layer.takes_image = true;
    return;
  }
  for (uint32_t i = 0; i < layer.input_count; ++i) {
    const auto found = inputs[i].is_string() ? tensors.find(inputs[i].get<std::string>()) : tensors.end();
    if (found == tensors.end()) throw Problem{"layer '" + layer.name + "' has an unknown input"};
    if (i == 0) layer.first_input = found->second;
    if (found->second != layer.first_input + i) {
      throw Problem{"layer '" + layer.name + "' has inputs that do not follow each other"};
    }
  }
}

Layer read_layer(const std::string& name, const ordered_json& json, const Tensors& tensors) {
  Layer layer;
  layer.name = name;
  read_inputs(json.at("inputs"), tensors, layer);
  layer.weights = read_numbers(json.at("weights"), name);
  const std::vector<float> bias = read_numbers(json.at("bias"), name);
  if (bias.size() != layer.bias.size())
    throw Problem{fmt::format("layer '{}' has {} biases, not 4", name, bias.size())};
  std::copy(bias.begin(), bias.end(), layer.bias.begin());
  const size_t matrices = (layer.takes_image ? 1 : 2) * size_t{layer.input_count};
  layer.taps = layer.weights.size() == 16 * matrices ? 1 : 9;
  if (layer.weights.size() != 16 * matrices * layer.taps) {
    throw Problem{fmt::format("layer '{}' has {} weights, not {} or {}", name, layer.weights.size(), 16 * matrices,
                              16 * matrices * 9)};
  }
  return layer;
}

/// Which tensors are added to the colours: three, or one for all.
std::array<uint32_t, 3> read_residuals(const ordered_json& json, const Tensors& tensors) {
  Layer last;
  last.name = "pixel_shuffle";
  read_inputs(json.at("inputs"), tensors, last);
  if (last.takes_image || (last.input_count != 1 && last.input_count != 3)) {
    throw Problem{fmt::format("layer 'pixel_shuffle' has {} inputs, not 1 or 3", last.input_count)};
  }
  const uint32_t step = last.input_count == 3 ? 1 : 0;
  return {last.first_input, last.first_input + step, last.first_input + 2 * step};
}

Network read_network(const ordered_json& json, const std::string& name) {
  Network network;
  network.name = name;
  network.branches = 0;
  Tensors tensors;
  bool has_end = false;
  for (const auto& [key, value] : json.at("layers").items()) {
    if (has_end) throw Problem{"layer '" + key + "' follows the last one"};
    if (value.at("type") == "pixel_shuffle") {
      network.residuals = read_residuals(value, tensors);
      has_end = true;
      continue;
    }
    Layer layer = read_layer(key, value, tensors);
    if (layer.takes_image) ++network.branches;
    tensors[key] = static_cast<uint32_t>(network.layers.size());
    network.layers.push_back(std::move(layer));
  }
  if (!has_end) throw Problem{"there is no layer 'pixel_shuffle'"};
  for (const Layer& layer : network.layers) {
    if (!layer.takes_image && layer.input_count % network.branches != 0) {
      throw Problem{fmt::format("layer '{}' has {} inputs, not a multiple of {}", layer.name, layer.input_count,
                                network.branches)};
    }
  }
  return network;
}

}  // namespace

Result<Network> parse_network(std::string_view text, const std::string& name) {
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  std::string problem = "it is not JSON";
  try {
    if (!json.is_discarded()) return read_network(json, name);
  } catch (const Problem& found) {
    problem = found.text;
  } catch (const nlohmann::json::exception& found) {
    problem = std::string("something is missing or of the wrong kind: ") + found.what();
  }
  return Error{Errc::corrupt, "network '" + name + "' is damaged: " + problem};
}

}  // namespace upscale

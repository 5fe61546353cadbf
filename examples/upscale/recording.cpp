// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <pianola/recorder.hpp>

namespace upscale {
namespace {

using pianola::BufferRef;
using pianola::Recorder;
using pianola::Result;

// Ranges start at multiples of this many floats, which every device accepts.
constexpr size_t range_floats = 64;

const char* kernel_of(const Layer& layer) {
  if (layer.takes_image) return "conv_image";
  return layer.taps == 9 ? "conv_3x3" : "conv_1x1";
}

struct Slots {
  BufferRef image, tensors, weights, result;
};

/// Layers of one stage do not read each other and need no barrier between them.
void record_layers(Recorder& recorder, const Network& network, const pianola::KernelLibrary& kernels,
                   const Geometry& geometry, const Slots& slots, std::span<const BufferRef> weights) {
  const uint64_t tensor_bytes = geometry.tensor_bytes();
  uint32_t stage_begin = 0;
  for (uint32_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (!layer.takes_image && layer.first_input + layer.input_count > stage_begin) {
      recorder.barrier();
      stage_begin = i;
    }
    const BufferRef input =
        layer.takes_image ? slots.image
                          : slots.tensors.view(layer.first_input * tensor_bytes, layer.input_count * tensor_bytes);
    recorder.dispatch(kernels[kernel_of(layer)],
                      {.groups = {geometry.groups, geometry.height},
                       .constants = {geometry.width, geometry.stride, geometry.plane, 4 * layer.input_count},
                       .bindings = {input, weights[i], slots.tensors.view(i * tensor_bytes, tensor_bytes)}});
  }
}

void record_enlarge(Recorder& recorder, const Network& network, const pianola::KernelLibrary& kernels,
                    const Geometry& geometry, const Slots& slots) {
  const uint64_t tensor_bytes = geometry.tensor_bytes();
  const auto residual = [&](size_t colour) {
    return slots.tensors.view(network.residuals[colour] * tensor_bytes, tensor_bytes);
  };
  recorder.barrier().dispatch(kernels["enlarge"],
                              {.groups = {geometry.groups, geometry.height},
                               .constants = {geometry.width, geometry.height, geometry.stride, geometry.plane},
                               .bindings = {slots.image, residual(0), residual(1), residual(2), slots.result}});
}

}  // namespace

std::vector<float> pack_weights(const Network& network, const Layer& layer) {
  std::vector<float> packed(layer.bias.begin(), layer.bias.end());
  const auto append_column = [&](uint32_t matrix, uint32_t column) {
    const auto first = layer.weights.begin() + 16 * size_t{matrix} + 4 * size_t{column};
    packed.insert(packed.end(), first, first + 4);
  };
  for (uint32_t plane = 0; plane < 4 * layer.input_count; ++plane) {
    for (uint32_t tap = 0; tap < layer.taps; ++tap) {
      append_column(network.matrix(layer, plane / 4, false, tap), plane % 4);
      if (!layer.takes_image) append_column(network.matrix(layer, plane / 4, true, tap), plane % 4);
    }
  }
  return packed;
}

Result<Recording> record(const Network& network, const pianola::KernelLibrary& kernels, const Geometry& geometry) {
  Recording recording;
  recording.tensors_bytes = network.layers.size() * geometry.tensor_bytes();
  std::vector<std::pair<size_t, size_t>> pieces;  // offset and size in floats
  for (const Layer& layer : network.layers) {
    const std::vector<float> packed = pack_weights(network, layer);
    recording.weights.resize((recording.weights.size() + range_floats - 1) / range_floats * range_floats);
    pieces.emplace_back(recording.weights.size(), packed.size());
    recording.weights.insert(recording.weights.end(), packed.begin(), packed.end());
  }

  Recorder recorder;
  const Slots slots = {.image = recorder.buffer("image", geometry.tensor_bytes()),
                       .tensors = recorder.buffer("tensors", recording.tensors_bytes),
                       .weights = recorder.buffer("weights", recording.weights.size() * sizeof(float)),
                       .result = recorder.buffer("result", geometry.result_bytes())};
  std::vector<BufferRef> weights;
  for (const auto& [offset, size] : pieces) {
    weights.push_back(slots.weights.view(offset * sizeof(float), size * sizeof(float)));
  }
  recorder.begin_debug_group(network.name);
  record_layers(recorder, network, kernels, geometry, slots, weights);
  record_enlarge(recorder, network, kernels, geometry, slots);
  recorder.end_debug_group();
  Result<pianola::CommandBuffer> commands = recorder.finish();
  if (!commands) return commands.error();
  recording.commands = *commands;
  return recording;
}

}  // namespace upscale

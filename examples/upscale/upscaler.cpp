// SPDX-License-Identifier: Apache-2.0
#include "upscaler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace upscale {
namespace {

using pianola::Buffer;
using pianola::Device;
using pianola::Errc;
using pianola::Error;
using pianola::MemoryKind;
using pianola::Result;

/// Where tiles of `tile` pixels begin so that their inner parts, without a halo at inner edges, cover `size`.
std::vector<uint32_t> tile_starts(uint32_t size, uint32_t tile, uint32_t halo) {
  std::vector<uint32_t> starts = {0};
  while (starts.back() + tile < size) starts.push_back(std::min(starts.back() + tile - 2 * halo, size - tile));
  return starts;
}

/// Half-open range of a tile's own pixels that are right: all but the halo at edges inside the picture.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};
Span valid_part(uint32_t start, uint32_t tile, uint32_t size, uint32_t halo) {
  return {start == 0 ? 0 : halo, start + tile == size ? tile : tile - halo};
}

Result<Buffer> zeroed(const Device& device, uint64_t size, MemoryKind kind) {
  Result<Buffer> buffer = device.allocate(size, kind);
  if (!buffer) return buffer;
  const std::vector<std::byte> zeros(std::min<uint64_t>(size, uint64_t{1} << 20));
  for (uint64_t offset = 0; offset < size; offset += zeros.size()) {
    const std::span<const std::byte> piece = std::span(zeros).first(std::min<uint64_t>(zeros.size(), size - offset));
    const Result<> written = buffer->write(offset, piece);
    if (!written) return written.error();
  }
  return buffer;
}

}  // namespace

uint32_t Upscaler::reach(const Network& network) {
  uint32_t reach = 1;  // of the bilinear enlargement
  std::vector<uint32_t> of_tensor;
  for (const Layer& layer : network.layers) {
    uint32_t input = 0;
    if (!layer.takes_image) {
      for (uint32_t i = 0; i < layer.input_count; ++i) input = std::max(input, of_tensor[layer.first_input + i]);
    }
    of_tensor.push_back(input + (layer.taps == 9 ? 1 : 0));
    reach = std::max(reach, of_tensor.back());
  }
  return reach;
}

Upscaler::Upscaler(const Network& network, uint32_t width, uint32_t height, uint32_t tile)
    : width_(width),
      height_(height),
      halo_(reach(network)),
      dispatch_count_(static_cast<uint32_t>(network.layers.size()) + 1),
      geometry_(std::min(width, tile), std::min(height, tile)),
      staging_(geometry_.tensor_bytes() / sizeof(float)),
      pixels_(geometry_.result_bytes() / sizeof(uint32_t)) {}

Result<Upscaler> Upscaler::create(const Device& device, const Network& network, uint32_t width, uint32_t height,
                                  uint32_t tile) {
  if (width == 0 || height == 0) return Error{Errc::invalid_argument, "a picture without pixels cannot be enlarged"};
  const uint32_t least = 2 * reach(network) + 1;
  if (tile < least || tile > max_tile) {
    return Error{Errc::invalid_argument, fmt::format("a tile of {} pixels; {} to {} are possible for network '{}'",
                                                     tile, least, max_tile, network.name)};
  }
  Upscaler upscaler(network, width, height, tile);
  const Result<pianola::KernelLibrary> kernels = load_kernels();
  if (!kernels) return kernels.error();
  const Result<Recording> recording = record(network, *kernels, upscaler.geometry_);
  if (!recording) return recording.error();
  const Result<> made = upscaler.make_buffers(device, *recording);
  if (!made) return made.error();
  Result<pianola::Graph> graph = device.instantiate(recording->commands, {.bindings = {{"image", upscaler.image_},
                                                                                       {"tensors", upscaler.tensors_},
                                                                                       {"weights", upscaler.weights_},
                                                                                       {"result", upscaler.result_}}});
  if (!graph) return graph.error();
  upscaler.graph_ = *graph;
  upscaler.queue_ = device.queue();
  return upscaler;
}

Result<> Upscaler::make_buffers(const Device& device, const Recording& recording) {
  struct Wanted {
    Buffer& buffer;
    uint64_t size;
    MemoryKind kind;
  };
  const Wanted all[] = {{image_, geometry_.tensor_bytes(), MemoryKind::device},
                        {tensors_, recording.tensors_bytes, MemoryKind::device},
                        {weights_, recording.weights.size() * sizeof(float), MemoryKind::device},
                        {result_, geometry_.result_bytes(), MemoryKind::readback}};
  for (const Wanted& wanted : all) {
    const Result<Buffer> buffer = zeroed(device, wanted.size, wanted.kind);
    if (!buffer) return buffer.error();
    wanted.buffer = *buffer;
  }
  return weights_.write(0, recording.weights);
}

uint32_t Upscaler::tile_count() const {
  return static_cast<uint32_t>(tile_starts(width_, geometry_.width, halo_).size() *
                               tile_starts(height_, geometry_.height, halo_).size());
}

Result<Image> Upscaler::run(const Image& image, const Progress& progress) {
  Image result(2 * width_, 2 * height_);
  const std::vector<uint32_t> columns = tile_starts(width_, geometry_.width, halo_);
  const std::vector<uint32_t> rows = tile_starts(height_, geometry_.height, halo_);
  uint32_t done = 0;
  for (const uint32_t top : rows) {
    for (const uint32_t left : columns) {
      Result<> step = upload(image, left, top);
      if (step) step = replay();
      if (step) step = download(result, left, top);
      if (!step) return step.error();
      if (progress) progress(++done, tile_count());
    }
  }
  return result;
}

Result<> Upscaler::upload(const Image& image, uint32_t left, uint32_t top) {
  constexpr float opaque = 255.0f;
  for (uint32_t y = 0; y < geometry_.height; ++y) {
    const uint8_t* rgb = image.pixel(left, top + y);
    float* row = staging_.data() + geometry_.index(0, y);
    for (uint32_t x = 0; x < geometry_.width; ++x) {
      for (size_t c = 0; c < 3; ++c) row[c * geometry_.plane + x] = static_cast<float>(rgb[3 * x + c]) / opaque;
      row[size_t{3} * geometry_.plane + x] = 1.0f;
    }
  }
  return image_.write(0, staging_);
}

Result<> Upscaler::download(Image& target, uint32_t left, uint32_t top) {
  const Result<> read = result_.read(0, pixels_);
  if (!read) return read;
  const Span columns = valid_part(left, geometry_.width, width_, halo_);
  const Span rows = valid_part(top, geometry_.height, height_, halo_);
  for (uint32_t y = 2 * rows.begin; y < 2 * rows.end; ++y) {
    const uint32_t* from = pixels_.data() + size_t{2} * geometry_.width * y;
    uint8_t* to = target.pixel(2 * left, 2 * top + y);
    for (uint32_t x = 2 * columns.begin; x < 2 * columns.end; ++x) {
      for (uint32_t c = 0; c < 3; ++c) to[3 * x + c] = static_cast<uint8_t>(from[x] >> (8 * c));
    }
  }
  return {};
}

Result<> Upscaler::replay() {
  const Result<pianola::Submission> submission = queue_.submit(graph_);
  if (!submission) return submission.error();
  return submission->wait();
}

Result<std::chrono::nanoseconds> Upscaler::time_replay(uint32_t count) {
  std::vector<std::chrono::nanoseconds> times;
  for (uint32_t i = 0; i < std::max(count, 1u); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Result<> done = replay();
    if (!done) return done.error();
    times.push_back(std::chrono::steady_clock::now() - begin);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

}  // namespace upscale

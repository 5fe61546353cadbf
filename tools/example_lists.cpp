// SPDX-License-Identifier: Apache-2.0
#include "example_lists.hpp"

#include <array>
#include <string>
#include <vector>

#include "pianola/recorder.hpp"

namespace tool {

namespace {

using pianola::BufferRef;
using pianola::CommandBuffer;
using pianola::KernelLibrary;
using pianola::Recorder;
using pianola::Result;

constexpr uint32_t row = 256;  // elements of the small vectors
constexpr uint64_t row_bytes = row * sizeof(float);
constexpr uint64_t matrix_bytes = row * row_bytes;

std::string numbered(const char* name, uint32_t index) {
  return std::string(name) + std::to_string(index);
}

// One source, `size` branches, one join at a time.
Result<CommandBuffer> diamond(const KernelLibrary& kernels, uint32_t size) {
  Recorder rec;
  const BufferRef source = rec.buffer("source", row_bytes);
  const BufferRef sum = rec.buffer("sum", row_bytes);
  std::vector<BufferRef> branches;
  branches.reserve(size);
  for (uint32_t i = 0; i < size; ++i) {
    branches.push_back(rec.buffer(numbered("branch", i), row_bytes));
  }
  rec.fill(source, 1.0F).fill(sum, 0.0F).barrier();
  for (const BufferRef& branch : branches) {
    rec.dispatch(kernels["scale"], {.groups = {1U}, .constants = {2.0F, row}, .bindings = {source, branch}});
  }
  for (const BufferRef& branch : branches) {
    rec.barrier().dispatch(kernels["accumulate"], {.groups = {1U}, .constants = {row}, .bindings = {branch, sum}});
  }
  return rec.finish();
}

// Fills of one range with a barrier after each: nothing may run beside anything.
Result<CommandBuffer> fill_barrier(const KernelLibrary&, uint32_t size) {
  Recorder rec;
  const BufferRef buffer = rec.buffer("buffer", 64);
  for (uint32_t i = 0; i < size; ++i) {
    rec.fill(buffer, i).barrier();
  }
  return rec.finish();
}

// Chains that never meet, recorded as most programs do: all first steps, a barrier, all second steps.
Result<CommandBuffer> independent(const KernelLibrary& kernels, uint32_t size) {
  constexpr uint32_t chains = 8;
  Recorder rec;
  std::vector<BufferRef> buffers;
  buffers.reserve(chains);
  for (uint32_t i = 0; i < chains; ++i) {
    buffers.push_back(rec.buffer(numbered("chain", i), row_bytes));
  }
  for (uint32_t step = 0; step < size; ++step) {
    for (const BufferRef& buffer : buffers) {
      rec.dispatch(kernels["increment"], {.groups = {1U}, .constants = {row}, .bindings = {buffer}});
    }
    rec.barrier();
  }
  return rec.finish();
}

struct DecodeBuffers {
  BufferRef x, normed, q, k, v, attended, gate, up;
};

// One layer of a decoder: three projections side by side, the cache, attention, a gated feed-forward part.
void decode_layer(Recorder& rec, const KernelLibrary& kernels, const DecodeBuffers& b, pianola::ConstantRef position,
                  uint32_t layer) {
  const BufferRef weights = rec.buffer(numbered("weights", layer), 7 * matrix_bytes);
  const BufferRef cache = rec.buffer(numbered("cache", layer), 128 * row_bytes);
  const auto multiply = [&](const BufferRef& in, const BufferRef& out, uint32_t matrix) {
    rec.dispatch(kernels["matvec"], {.groups = {row / 64},
                                     .constants = {row},
                                     .bindings = {weights.view(matrix * matrix_bytes, matrix_bytes), in, out}});
  };
  rec.begin_debug_group(numbered("layer ", layer));
  rec.dispatch(kernels["scale"], {.groups = {1U}, .constants = {0.5F, row}, .bindings = {b.x, b.normed}}).barrier();
  multiply(b.normed, b.q, 0);
  multiply(b.normed, b.k, 1);
  multiply(b.normed, b.v, 2);
  rec.barrier();
  rec.dispatch(kernels["append"], {.groups = {1U}, .constants = {row, position}, .bindings = {b.k, b.v, cache}});
  rec.barrier();
  rec.dispatch(kernels["attend"], {.groups = {1U}, .constants = {row, position}, .bindings = {b.q, cache, b.attended}});
  rec.barrier();
  multiply(b.attended, b.x, 3);
  rec.barrier();
  multiply(b.x, b.gate, 4);
  multiply(b.x, b.up, 5);
  rec.barrier();
  rec.dispatch(kernels["accumulate"], {.groups = {1U}, .constants = {row}, .bindings = {b.gate, b.up}}).barrier();
  multiply(b.up, b.x, 6);
  rec.barrier().end_debug_group();
}

// One token of a language model: tiny kernels in a long chain, with a position given at each submit.
Result<CommandBuffer> decode(const KernelLibrary& kernels, uint32_t size) {
  Recorder rec;
  const auto vector = [&rec](const char* name) { return rec.buffer(name, row_bytes); };
  const DecodeBuffers buffers = {.x = vector("x"),
                                 .normed = vector("normed"),
                                 .q = vector("q"),
                                 .k = vector("k"),
                                 .v = vector("v"),
                                 .attended = vector("attended"),
                                 .gate = vector("gate"),
                                 .up = vector("up")};
  const pianola::ConstantRef position = rec.constant("position", 4);
  for (uint32_t layer = 0; layer < size; ++layer) {
    decode_layer(rec, kernels, buffers, position, layer);
  }
  return rec.finish();
}

// A picture network of two branches that read both results of the stage before.
Result<CommandBuffer> upscale(const KernelLibrary& kernels, uint32_t size) {
  constexpr uint64_t plane = uint64_t{64} * 64 * sizeof(float);
  Recorder rec;
  const BufferRef picture = rec.buffer("picture", plane);
  const BufferRef output = rec.buffer("output", plane);
  std::vector<std::array<BufferRef, 2>> stages;
  for (uint32_t i = 0; i <= size; ++i) {
    stages.push_back({rec.buffer(numbered("left", i), plane), rec.buffer(numbered("right", i), plane)});
  }
  const auto convolve = [&](const BufferRef& a, const BufferRef& b, const BufferRef& out) {
    rec.dispatch(kernels["convolve"], {.groups = {16U}, .constants = {64U}, .bindings = {a, b, out}});
  };
  for (uint32_t i = 0; i <= size; ++i) {
    const BufferRef& a = i == 0 ? picture : stages[i - 1][0];
    const BufferRef& b = i == 0 ? picture : stages[i - 1][1];
    convolve(a, b, stages[i][0]);
    convolve(a, b, stages[i][1]);
    rec.barrier();
  }
  convolve(stages.back()[0], stages.back()[1], output);
  return rec.finish();
}

constexpr std::array lists = {
    ExampleList{"diamond", "one source, branches, a join", 4, diamond},
    ExampleList{"fill-barrier", "64-byte fills of one range, a barrier after each", 16, fill_barrier},
    ExampleList{"independent", "eight chains of dispatches that never meet, a barrier after each step", 4, independent},
    ExampleList{"decode", "one token of a language model, layer by layer", 2, decode},
    ExampleList{"upscale", "a picture network of two branches", 6, upscale},
};

}  // namespace

std::span<const ExampleList> example_lists() {
  return lists;
}

const ExampleList* find_example_list(std::string_view name) {
  for (const ExampleList& list : lists) {
    if (list.name == name) return &list;
  }
  return nullptr;
}

}  // namespace tool

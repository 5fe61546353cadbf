// SPDX-License-Identifier: Apache-2.0
// A kernel library of Metal code, made in memory, for tests of the Metal backend.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "format/kernel_library_writer.hpp"
#include "pianola/pianola.hpp"

namespace pianola::metal_test {

inline std::vector<std::byte> bytes_of_text(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// `to[i] = from[i] + addend`, for i < n.
inline KernelInfo add_info(const std::string& name, uint32_t threads) {
  KernelInfo info{.name = name, .constant_bytes = 8, .workgroup = {threads, 1, 1}};
  info.bindings = {{.name = "from", .binding = 0, .access = Access::in, .element_size = 4},
                   {.name = "to", .binding = 1, .access = Access::out, .element_size = 4}};
  info.constants = {{"addend", 0, 4}, {"n", 4, 4}};
  return info;
}

/// One output and `inputs` inputs: `out[i] = sum of the inputs' element i`.
inline KernelInfo sum_info(const std::string& name, uint32_t inputs) {
  KernelInfo info{.name = name, .workgroup = {4, 1, 1}};
  for (uint32_t i = 0; i <= inputs; ++i) {
    info.bindings.push_back({.name = fmt::format("b{}", i),
                             .binding = i,
                             .access = i == inputs ? Access::out : Access::in,
                             .element_size = 4});
  }
  return info;
}

inline std::string sum_source(const std::string& name, uint32_t inputs) {
  std::string members, sum = "0";
  for (uint32_t i = 0; i <= inputs; ++i) {
    members += fmt::format("  device {}uint* b{} [[id({})]];\n", i == inputs ? "" : "const ", i, i);
    if (i != inputs) sum += fmt::format(" + a.b{}[i]", i);
  }
  return fmt::format(
      "struct Args_{0} {{\n{1}}};\nkernel void {0}(constant Args_{0}& a [[buffer(0)]], uint i "
      "[[thread_position_in_grid]]) {{\n  a.b{2}[i] = {3};\n}}\n",
      name, members, inputs, sum);
}

inline const char* const prologue = "#include <metal_stdlib>\nusing namespace metal;\n";
inline const char* const add_source = R"(
struct Add { uint addend, n; };
kernel void add(device const uint* from [[buffer(0)]], device uint* to [[buffer(1)]], constant Add& c [[buffer(30)]],
                uint i [[thread_position_in_grid]]) {
  if (i < c.n) to[i] = from[i] + c.addend;
}
kernel void counts(device uint* to [[buffer(0)]], constant uint& n [[buffer(30)]],
                   uint i [[thread_position_in_grid]]) {
  to[i] = i == 0 ? n : 1;
}
)";

struct MetalCode {
  ObjectFormat format = ObjectFormat::msl;
  std::string bytes;
};

/// A library with each kernel in each of these objects.
inline KernelLibrary library_of(std::vector<KernelInfo> kernels, const std::vector<MetalCode>& objects) {
  format::LibraryContents contents{.name = "metal test", .kernels = std::move(kernels)};
  for (const MetalCode& code : objects) {
    format::ObjectContents object{.format = code.format, .arch = "msl", .bytes = bytes_of_text(code.bytes)};
    for (uint32_t i = 0; i < contents.kernels.size(); ++i) object.entries.push_back({i, contents.kernels[i].name});
    contents.objects.push_back(std::move(object));
  }
  const auto image = format::write_library(contents);
  if (!image) {
    ADD_FAILURE() << to_string(image.error());
    return {};
  }
  auto library = KernelLibrary::from_bytes(*image);
  if (!library) ADD_FAILURE() << to_string(library.error());
  return library ? *library : KernelLibrary();
}

/// A library whose kernels all come from this Metal source.
inline KernelLibrary library_of(std::vector<KernelInfo> kernels, const std::string& source) {
  return library_of(std::move(kernels), std::vector<MetalCode>{{ObjectFormat::msl, source}});
}

/// add, counts (three group counts: n, 1, 1) and sum40.
inline KernelLibrary test_kernels() {
  KernelInfo counts{.name = "counts", .constant_bytes = 4, .workgroup = {3, 1, 1}};
  counts.bindings = {{.name = "to", .binding = 0, .access = Access::out, .element_size = 4}};
  counts.constants = {{"n", 0, 4}};
  return library_of({add_info("add", 32), counts, sum_info("sum40", 40)},
                    prologue + std::string(add_source) + sum_source("sum40", 40));
}

}  // namespace pianola::metal_test

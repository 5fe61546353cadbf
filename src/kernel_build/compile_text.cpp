// SPDX-License-Identifier: Apache-2.0
// SPIR-V by way of GLSL, one module a kernel, and MSL, one text a source.
#include <fmt/format.h>

#include <algorithm>

#include "kernel_build/compile.hpp"
#include "kernel_build/files.hpp"
#include "kernel_build/glsl_text.hpp"
#include "kernel_build/kernel_text.hpp"
#include "kernel_build/msl_text.hpp"
#include "kernel_build/process.hpp"
#include "kernel_build/spirv_remainder.hpp"

namespace pianola::kernel_build {
namespace {

/// Text and record come from two runs of the preprocessor over one file; they must tell of the same kernels.
Result<> check_kernels(const Source& source, const Target& target, const SourceText& text) {
  const size_t count = std::max(source.kernels.size(), text.kernels.size());
  const auto name = [](const auto& kernels, size_t i, auto member) {
    return i < kernels.size() ? fmt::format("'{}'", member(kernels[i])) : std::string("none");
  };
  for (size_t i = 0; i < count; ++i) {
    const std::string host = name(source.kernels, i, [](const DialectKernel& each) { return each.info.name; });
    const std::string here = name(text.kernels, i, [](const KernelText& each) { return each.name; });
    if (host == here) continue;
    return compile_error(
        source, target,
        fmt::format("its kernel {} is {}, the host's is {}; a kernel must not depend on the target", i, here, host));
  }
  return {};
}

/// Without #line directives, which hold paths and change nothing in what is made.
std::string without_lines(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (!line.starts_with("#line")) result.append(line).append("\n");
    at = end + 1;
  }
  return result;
}

Result<std::vector<std::byte>> run_glslang(const Source& source, const Target& target, const Toolchain& tools,
                                           const std::string& name, const std::string& glsl) {
  const std::vector<std::string> how = {
      tools.programs.glslang, "--quiet", "-V", "--target-env", std::string(target.arch), "-e", name,
      "--source-entrypoint",  "main"};
  const std::string text = without_lines(glsl);
  if (auto found = tools.cache.find(how, text); found) return with_cpp_remainders(*found);
  const auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  const std::string input = folder->file("kernel.comp");
  if (auto ok = write_bytes(input, std::as_bytes(std::span(glsl))); !ok) return ok.error();
  std::vector<std::string> command = how;
  command.insert(command.end(), {input, "-o", folder->file("object")});
  const auto result = run_process(command);
  if (!result) return compile_error(source, target, result.error().message);
  if (result->status != 0) {
    return compile_error(source, target, fmt::format("kernel '{}' is not accepted\n{}", name, result->output));
  }
  const auto bytes = read_bytes(folder->file("object"));
  if (!bytes) return bytes.error();
  tools.cache.keep(how, text, *bytes);
  return with_cpp_remainders(*bytes);
}

}  // namespace

Result<Compiled> compile_spirv(const Source& source, const Target& target, const Toolchain& tools) {
  auto text = read_kernel_text(source, target, tools);
  if (!text) return text.error();
  if (auto ok = check_kernels(source, target, *text); !ok) return ok.error();
  Compiled compiled{.objects = {}, .dependencies = std::move(text->dependencies)};
  for (uint32_t i = 0; i < source.kernels.size(); ++i) {
    const std::string& name = source.kernels[i].info.name;
    auto bytes = run_glslang(source, target, tools, name, glsl_of(source.kernels[i], *text, text->kernels[i]));
    if (!bytes) return bytes.error();
    compiled.objects.push_back({.format = target.format,
                                .arch = std::string(target.arch),
                                .bytes = std::move(*bytes),
                                .entries = {{.kernel = i, .symbol = name}}});
  }
  return compiled;
}

Result<Compiled> compile_msl(const Source& source, const Target& target, const Toolchain& tools) {
  auto text = read_kernel_text(source, target, tools);
  if (!text) return text.error();
  if (auto ok = check_kernels(source, target, *text); !ok) return ok.error();
  const std::string msl = msl_of(source, *text);
  const auto bytes = std::as_bytes(std::span(msl));
  format::ObjectContents object = whole_object(source, target, {bytes.begin(), bytes.end()});
  for (CodeObject::Entry& entry : object.entries) entry.symbol = msl_name(entry.symbol, *text);
  return Compiled{.objects = {std::move(object)}, .dependencies = std::move(text->dependencies)};
}

}  // namespace pianola::kernel_build

// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/compile.hpp"

#include <fmt/format.h>

#include <utility>

#include "kernel_build/process.hpp"

namespace pianola::kernel_build {
namespace {

/// The prerequisites of a make rule as clang writes it.
std::vector<std::string> parse_rule(const std::string& rule) {
  std::vector<std::string> files;
  std::string word;
  const size_t start = rule.find(": ");
  for (size_t i = start == std::string::npos ? rule.size() : start + 2; i < rule.size(); ++i) {
    if (rule[i] == '\\' && i + 1 < rule.size()) {
      if (rule[i + 1] == ' ') word += ' ';
      ++i;
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      if (!word.empty()) files.push_back(std::exchange(word, {}));
    } else {
      word += rule[i];
    }
  }
  return files;
}

}  // namespace

Result<Compiled> compile(const Source& source, const Target& target, const BuildOptions& options) {
  switch (target.format) {
    case ObjectFormat::host: return compile_host(source, target, options);
    case ObjectFormat::ptx:
    case ObjectFormat::hsaco: return compile_gpu(source, target, options);
    case ObjectFormat::spirv: return compile_spirv(source, target, options);
    case ObjectFormat::msl: return compile_msl(source, target, options);
    case ObjectFormat::cubin:
    case ObjectFormat::metallib: break;
  }
  return Error{
      .code = Errc::unsupported,
      .message = fmt::format("{}: {} files are not made here, only packed", source.path, to_string(target.format))};
}

Result<std::vector<std::string>> run_clang(const Source& source, const Target& target, const BuildOptions& options,
                                           const std::vector<std::string>& extra, const TemporaryFolder& folder) {
  std::vector<std::string> command = {options.compilers.clang, "-std=c++20", "-O3", "-ffp-contract=fast"};
  command.insert(command.end(), extra.begin(), extra.end());
  // A phase that does not vectorise, or an empty block of constants, is no mistake of the user's.
  command.insert(command.end(), {"-Wall", "-Wextra", "-Wno-extern-c-compat", "-Wno-pass-failed", "-Werror"});
  for (const std::string& include : options.include_dirs) command.push_back("-I" + include);
  command.insert(command.end(), {"-MD", "-MF", folder.file("rule.d"), "-o", folder.file("object"), source.path});
  const auto result = run_process(command);
  if (!result) return compile_error(source, target, result.error().message);
  if (result->status != 0) {
    return compile_error(source, target, fmt::format("the compiler ended with {}\n{}", result->status, result->output));
  }
  const auto rule = read_text(folder.file("rule.d"));
  if (!rule) return rule.error();
  return parse_rule(*rule);
}

Error compile_error(const Source& source, const Target& target, std::string_view text) {
  return {.code = Errc::compile_failed, .message = fmt::format("{} for {}: {}", source.path, target.arch, text)};
}

format::ObjectContents whole_object(const Source& source, const Target& target, std::vector<std::byte> bytes) {
  format::ObjectContents object{
      .format = target.format, .arch = std::string(target.arch), .bytes = std::move(bytes), .entries = {}};
  for (uint32_t i = 0; i < source.kernels.size(); ++i) {
    object.entries.push_back({.kernel = i, .symbol = source.kernels[i].info.name});
  }
  return object;
}

}  // namespace pianola::kernel_build

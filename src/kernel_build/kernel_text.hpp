// SPDX-License-Identifier: Apache-2.0
// A source of the portable dialect as preprocessed text, cut into kernels, from which other languages are written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_build/compile.hpp"

namespace pianola::kernel_build {

struct KernelText {
  std::string name;
  std::string body;  ///< with #line directives
};

struct SourceText {
  std::string common;              ///< what stands outside kernels: helper functions and structs
  std::vector<std::string> names;  ///< of those, which other languages may have functions and types of their own for
  std::vector<std::string> words;  ///< all that the text has, arguments included; in ascending order
  std::vector<KernelText> kernels;
  std::vector<std::string> dependencies;
};

/// What the preprocessor is told to give such text.
std::vector<std::string> text_options();

/// Preprocesses a source and cuts it. Errors: io, compile_failed.
Result<SourceText> read_kernel_text(const Source& source, const Target& target, const Toolchain& tools);

/// Cuts text that the preprocessor wrote for PIANOLA_KERNEL_TEXT. Errors: compile_failed.
Result<SourceText> split_kernel_text(std::string_view preprocessed);

/// Names that are other ones in another language: those that it reserves, and those that the source has given to
/// functions and structs. They get an underscore behind them, and a number if the source has that name too.
class Renaming {
 public:
  Renaming(std::span<const std::string> reserved, std::span<const std::string> names,
           std::span<const std::string> words);
  Renaming(std::span<const std::string> reserved, const SourceText& source)
      : Renaming(reserved, source.names, source.words) {}

  /// The name as it is written in that language.
  std::string of(std::string_view name) const;
  /// The same for each identifier of a text.
  std::string in(std::string_view text) const;

 private:
  std::vector<std::string> renamed_;           // in ascending order
  std::span<const std::string> source_words_;  // of the source, which must outlive this
};

}  // namespace pianola::kernel_build

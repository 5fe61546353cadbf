// SPDX-License-Identifier: Apache-2.0
// A source of the portable dialect as preprocessed text, cut into kernels, from which other languages are written.
#pragma once

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
  std::string common;  ///< what stands outside kernels: helper functions
  std::vector<KernelText> kernels;
  std::vector<std::string> dependencies;
};

/// What the preprocessor is told to give such text.
std::vector<std::string> text_options();

/// Preprocesses a source and cuts it. Errors: io, compile_failed.
Result<SourceText> read_kernel_text(const Source& source, const Target& target, const Toolchain& tools);

/// Cuts text that the preprocessor wrote for PIANOLA_KERNEL_TEXT. Errors: compile_failed.
Result<SourceText> split_kernel_text(std::string_view preprocessed);

/// `text` with each identifier in `words` followed by an underscore, so that names which a language reserves can be
/// used in kernels. `words` are in ascending order.
std::string rename_words(std::string_view text, std::span<const std::string_view> words);

/// The name a declaration has after rename_words().
std::string renamed(std::string_view name, std::span<const std::string_view> words);

}  // namespace pianola::kernel_build

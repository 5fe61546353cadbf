// SPDX-License-Identifier: Apache-2.0
// Preprocessed text of the dialect as tokens, and what single tokens are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pianola::kernel_build {

/// A name, a number, a mark such as @@phase, an operator, or a single character. Views into the text.
struct Token {
  std::string_view text;
  uint32_t line = 0;
  std::string_view file;
};

struct LineMarker {
  uint32_t line = 0;
  std::string_view file;
};

/// `# 12 "file.k" 2`, as the preprocessor says where the next line is from, or nothing.
std::optional<LineMarker> read_marker(std::string_view line);

/// Line markers set file and line; other directives are passed over.
std::vector<Token> tokens_of(std::string_view text);

/// Whether the word is one of the dialect's types.
bool is_type(std::string_view word);

/// Why nothing of the user's may have that name, or nothing.
std::string_view reason_against_name(std::string_view name);

/// Why tokens[at] is refused wherever it stands, or nothing.
std::string_view reason_against(const std::vector<Token>& tokens, size_t at);

}  // namespace pianola::kernel_build

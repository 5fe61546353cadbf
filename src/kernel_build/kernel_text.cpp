// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/kernel_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "kernel_build/dialect_tokens.hpp"
#include "kernel_build/identifier.hpp"

namespace pianola::kernel_build {
namespace {

/// Collects lines; writes a #line directive wherever the numbers do not follow on.
class Lines {
 public:
  void move_to(uint32_t line, std::string_view file) {
    line_ = line;
    file_ = file;
    directive_due_ = true;
  }
  /// A piece of the line that we are in; what follows it may go elsewhere.
  void add_piece(std::string_view text, std::string& into) {
    if (text.find_first_not_of(" \t") != std::string_view::npos) {
      if (directive_due_) into += fmt::format("#line {} \"{}\"\n", line_, file_);
      into += text;
      into += '\n';
    }
    directive_due_ = true;
  }
  /// The rest of a line.
  void add(std::string_view text, std::string& into) {
    add_piece(text, into);
    if (text.find_first_not_of(" \t") != std::string_view::npos) directive_due_ = false;
    ++line_;
  }

 private:
  uint32_t line_ = 1;
  std::string file_ = "kernel";
  bool directive_due_ = true;
};

/// Takes "@@word" out of a line that holds it.
bool take(std::string& line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == std::string::npos) return false;
  line.erase(at, mark.size());
  return true;
}

/// Takes what stands in front of `mark`, and the mark, off the front of a line that holds it.
std::optional<std::string_view> take_until(std::string_view& line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = line.substr(0, at);
  line.remove_prefix(at + mark.size());
  return before;
}

/// "PIANOLA_FN float name(" and "struct name {".
std::vector<std::string> names_of(std::string_view common) {
  std::vector<std::string> names;
  const std::vector<Token> tokens = tokens_of(common);
  for (size_t at = 0; at + 2 < tokens.size(); ++at) {
    if (tokens[at].text == "struct") names.emplace_back(tokens[at + 1].text);
    if (tokens[at].text == "PIANOLA_FN") names.emplace_back(tokens[at + 2].text);
  }
  return names;
}

/// Every word of a text but those of directives.
std::vector<std::string> words_of(std::string_view text) {
  std::set<std::string_view> words;
  for (const Token& token : tokens_of(text)) {
    if (is_of_name(token.text[0])) words.insert(token.text);
  }
  return {words.begin(), words.end()};
}

}  // namespace

Result<SourceText> split_kernel_text(std::string_view preprocessed) {
  SourceText source;
  Lines lines;
  std::string* into = &source.common;
  for (size_t at = 0; at < preprocessed.size();) {
    const size_t end = std::min(preprocessed.find('\n', at), preprocessed.size());
    std::string line(preprocessed.substr(at, end - at));
    at = end + 1;
    if (const auto marker = read_marker(line); marker) {
      lines.move_to(marker->line, marker->file);
      continue;
    }
    while (take(line, "@@phase") || take(line, "@@endphase") || take(line, "@@own") || take(line, "@@item")) {
    }
    std::string_view rest = line;
    for (;;) {
      const bool is_common = into == &source.common;
      const auto before = take_until(rest, is_common ? "@@kernel " : "@@end");
      if (!before) break;
      lines.add_piece(*before, *into);
      into = &source.common;
      if (!is_common) continue;
      const std::string_view head = take_until(rest, "@@body").value_or("");
      std::string name(head.substr(0, head.find("@@args")));
      std::erase(name, ' ');
      source.kernels.push_back({.name = std::move(name), .body = {}});
      into = &source.kernels.back().body;
    }
    lines.add(rest, *into);
  }
  if (into != &source.common) {
    return Error{.code = Errc::compile_failed,
                 .message = fmt::format("kernel '{}' has no END_KERNEL", source.kernels.back().name)};
  }
  source.names = names_of(source.common);
  source.words = words_of(preprocessed);
  return source;
}

std::vector<std::string> text_options() {
  return {"-x", "c++", "-nostdlibinc", "-DPIANOLA_KERNEL_TEXT"};
}

Result<SourceText> read_kernel_text(const Source& source, const Target& target, const Toolchain& tools) {
  auto output = preprocess(source, target, tools, text_options());
  if (!output) return output.error();
  auto text = split_kernel_text({reinterpret_cast<const char*>(output->bytes.data()), output->bytes.size()});
  if (!text) return compile_error(source, target, text.error().message);
  text->dependencies = std::move(output->dependencies);
  return text;
}

Renaming::Renaming(std::span<const std::string> reserved, std::span<const std::string> names,
                   std::span<const std::string> words)
    : renamed_(reserved.begin(), reserved.end()), source_words_(words) {
  // Members of vectors cannot have other names, and two underscores belong to GLSL.
  const auto keeps_name = [](const std::string& name) { return name.size() == 1 || name.ends_with('_'); };
  std::ranges::remove_copy_if(names, std::back_inserter(renamed_), keeps_name);
  std::ranges::sort(renamed_);
}

std::string Renaming::of(std::string_view name) const {
  std::string result(name);
  if (!std::ranges::binary_search(renamed_, name)) return result;
  result += '_';
  for (uint32_t number = 2; std::ranges::binary_search(source_words_, result); ++number) {
    result = fmt::format("{}_{}", name, number);
  }
  return result;
}

std::string Renaming::in(std::string_view text) const {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool directive = text[at] == '#' && (at == 0 || text[at - 1] == '\n');
    size_t end = at + 1;
    if (directive) {
      end = std::min(text.find('\n', at), text.size());
    } else if (is_of_name(text[at])) {
      while (end < text.size() && is_of_name(text[end])) ++end;
    }
    const std::string_view piece = text.substr(at, end - at);
    result += directive ? std::string(piece) : of(piece);
    at = end;
  }
  return result;
}

}  // namespace pianola::kernel_build

// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/kernel_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pianola::kernel_build {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Collects lines; writes a #line directive wherever the numbers do not follow on.
class Lines {
 public:
  void move_to(uint32_t line, std::string_view file) {
    line_ = line;
    file_ = file;
    directive_due_ = true;
  }
  void add(std::string_view text, std::string& into) {
    if (text.find_first_not_of(" \t") != std::string_view::npos) {
      if (directive_due_) into += fmt::format("#line {} \"{}\"\n", line_, file_);
      directive_due_ = false;
      into += text;
      into += '\n';
    } else {
      directive_due_ = true;
    }
    ++line_;
  }
  void break_off() { directive_due_ = true; }

 private:
  uint32_t line_ = 1;
  std::string file_ = "kernel";
  bool directive_due_ = true;
};

/// `# 12 "file.k" 2` as the preprocessor marks lines.
bool read_marker(std::string_view text, Lines& lines) {
  if (!text.starts_with("# ")) return false;
  const size_t space = text.find(' ', 2);
  const size_t open = text.find('"');
  const size_t close = text.rfind('"');
  if (space == std::string_view::npos || open == close) return false;
  const auto line = static_cast<uint32_t>(std::strtoul(std::string(text.substr(2, space - 2)).c_str(), nullptr, 10));
  lines.move_to(line, text.substr(open + 1, close - open - 1));
  return true;
}

/// Takes "@@word" out of a line that holds it.
bool take(std::string& line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == std::string::npos) return false;
  line.erase(at, mark.size());
  return true;
}

/// The name between "@@kernel" and "@@body"; both are taken out.
std::string take_name(std::string& line) {
  const size_t start = line.find("@@kernel ");
  const size_t end = line.find("@@body");
  if (start == std::string::npos || end == std::string::npos) return {};
  std::string name = line.substr(start + 9, end - start - 9);
  std::erase(name, ' ');
  line.erase(start, end + 6 - start);
  return name;
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
    if (read_marker(line, lines)) continue;
    while (take(line, "@@phase") || take(line, "@@endphase")) {
    }
    if (std::string name = take_name(line); !name.empty()) {
      source.kernels.push_back({.name = std::move(name), .body = {}});
      into = &source.kernels.back().body;
      lines.break_off();
    }
    const bool ends = take(line, "@@end");
    lines.add(line, *into);
    if (ends) {
      into = &source.common;
      lines.break_off();
    }
  }
  if (into != &source.common) {
    return Error{.code = Errc::compile_failed,
                 .message = fmt::format("kernel '{}' has no END_KERNEL", source.kernels.back().name)};
  }
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

std::string rename_words(std::string_view text, std::span<const std::string_view> words) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool directive = text[at] == '#' && (at == 0 || text[at - 1] == '\n');
    size_t end = at + 1;
    if (directive) {
      end = std::min(text.find('\n', at), text.size());
    } else if (is_word(text[at])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    const std::string_view piece = text.substr(at, end - at);
    result += directive ? std::string(piece) : renamed(piece, words);
    at = end;
  }
  return result;
}

std::string renamed(std::string_view name, std::span<const std::string_view> words) {
  std::string result(name);
  if (std::ranges::binary_search(words, name)) result += '_';
  return result;
}

}  // namespace pianola::kernel_build

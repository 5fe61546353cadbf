// SPDX-License-Identifier: Apache-2.0
#include "expectations.hpp"

#include <span>

namespace pianola::conformance {
namespace {

/// {device, mode, test, reason}
constexpr Exception unsupported[] = {
    {"none", "*", "*", "an example of the form; no device has this name"},
    {"Apple Paravirtual device", "*", "Dispatches.SixtyFourBindingsWork", "it has no argument encoders"},
    {"Apple Paravirtual device", "*", "Dispatches.ManyBindings*", "it has no argument encoders"},
};

constexpr Exception expected_failures[] = {
    {"none", "*", "*", "an example of the form; no device has this name"},
};

std::optional<Exception> find(std::span<const Exception> list, std::string_view device, std::string_view mode,
                              std::string_view test) {
  const std::string_view backend = device.substr(0, device.find(':'));
  for (const Exception& entry : list) {
    if (matches(entry.device, backend) && matches(entry.mode, mode) && matches(entry.test, test)) return entry;
  }
  return std::nullopt;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  }
  return !text.empty() && pattern.front() == text.front() && matches(pattern.substr(1), text.substr(1));
}

std::optional<Exception> find_unsupported(std::string_view device, std::string_view mode, std::string_view test) {
  return find(unsupported, device, mode, test);
}

std::optional<Exception> find_expected_failure(std::string_view device, std::string_view mode, std::string_view test) {
  return find(expected_failures, device, mode, test);
}

}  // namespace pianola::conformance

// SPDX-License-Identifier: Apache-2.0
// The two lists of exceptions, each entry with its reason. An entry matches by device (what open() takes,
// without a number, or the name that the driver gives it), mode and "Suite.Test"; '*' matches anything.
#pragma once

#include <optional>
#include <string_view>

namespace pianola::conformance {

struct Exception {
  std::string_view device;
  std::string_view mode;
  std::string_view test;
  std::string_view reason;
};

/// What a device can never do: the test is skipped.
std::optional<Exception> find_unsupported(std::string_view device, std::string_view mode, std::string_view test);
/// What is known to be wrong: the test must fail, and fails if it passes.
std::optional<Exception> find_expected_failure(std::string_view device, std::string_view mode, std::string_view test);

/// True if the text matches a pattern in which '*' stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace pianola::conformance

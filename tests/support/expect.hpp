// SPDX-License-Identifier: Apache-2.0
// What tests say about results: that one succeeded, or failed with exactly this error.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pianola/error.hpp"

namespace pianola::test {

/// What an error must say besides its code.
struct ErrorText {
  std::vector<std::string> parts;   ///< each stands in the message
  std::optional<uint32_t> command;  ///< index of the command it names
};

inline ::testing::AssertionResult is_error(const Error& error, Errc code, const ErrorText& text = {}) {
  if (error.code != code) {
    return ::testing::AssertionFailure() << "wanted " << to_string(code) << ", got " << to_string(error);
  }
  for (const std::string& part : text.parts) {
    if (error.message.find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << "no '" << part << "' in: " << to_string(error);
    }
  }
  if (error.message.empty()) return ::testing::AssertionFailure() << "empty message of " << to_string(error);
  if (text.command && error.command != text.command) {
    return ::testing::AssertionFailure() << "wanted command " << *text.command << ", got " << to_string(error);
  }
  return ::testing::AssertionSuccess();
}

template <class T>
::testing::AssertionResult fails_with(const Result<T>& result, Errc code, const ErrorText& text = {}) {
  if (result) return ::testing::AssertionFailure() << "wanted " << to_string(code) << ", but it succeeded";
  return is_error(result.error(), code, text);
}

template <class T>
::testing::AssertionResult succeeded(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_string(result.error());
}

}  // namespace pianola::test

// SPDX-License-Identifier: Apache-2.0
// Comparing text with a file that lies beside the tests.
#pragma once

#include <string>
#include <string_view>

namespace pianola::golden {

/// Fails the running test unless `text` is what the file holds; with --update it writes the file instead.
/// `file` is relative to this folder.
void expect_file(const std::string& file, std::string_view text);

}  // namespace pianola::golden

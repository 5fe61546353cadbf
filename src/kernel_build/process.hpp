// SPDX-License-Identifier: Apache-2.0
// Runs one program and keeps what it says. No shell is involved.
#pragma once

#include <string>
#include <vector>

#include "pianola/error.hpp"

namespace pianola::kernel_build {

struct ProcessResult {
  int status = 0;      ///< the exit status, or 128 + the signal that ended it
  std::string output;  ///< standard output and standard error together
};

/// Runs `arguments[0]`, looked up in PATH, and waits for it. Errors: io, with the program's name.
Result<ProcessResult> run_process(const std::vector<std::string>& arguments);

/// The command as one would type it, for messages.
std::string command_line(const std::vector<std::string>& arguments);

}  // namespace pianola::kernel_build

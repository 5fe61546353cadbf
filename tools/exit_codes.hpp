// SPDX-License-Identifier: Apache-2.0
// What the program's exit status means; --help says the same.
#pragma once

namespace tool {

enum ExitCode : int {
  success = 0,
  failed = 1,       ///< the work failed; one line on standard error says why
  wrong_usage = 2,  ///< the command line itself is wrong
  no_device = 3,    ///< the device that was asked for is not here
};

}  // namespace tool

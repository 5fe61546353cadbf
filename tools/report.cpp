// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <cstdio>

#include "exit_codes.hpp"

namespace tool {

int report(const pianola::Error& error) {
  std::fprintf(stderr, "pianola: %s\n", pianola::to_string(error).c_str());
  return error.code == pianola::Errc::no_device ? no_device : failed;
}

}  // namespace tool

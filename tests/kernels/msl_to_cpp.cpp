// SPDX-License-Identifier: Apache-2.0
// MSL on standard input, its macros expanded, to C++ that clang can type-check with the software Metal's library.
#include <iostream>
#include <iterator>

#include "msl.hpp"

int main() {
  const std::string text((std::istreambuf_iterator<char>(std::cin)), {});
  const auto translated = sim_metal::msl::translate(text);
  if (const auto* error = std::get_if<std::string>(&translated)) {
    std::cerr << *error << '\n';
    return 1;
  }
  std::cout << std::get<sim_metal::msl::Translation>(translated).code;
  return std::cout.flush() ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#define PIANOLA_VERSION_MAJOR 0
#define PIANOLA_VERSION_MINOR 1

namespace pianola {

/// The version of the library that is linked, "0.1.0".
std::string_view version();

}  // namespace pianola

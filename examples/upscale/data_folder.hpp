// SPDX-License-Identifier: Apache-2.0
// Where the fetched weights and photos lie.
#pragma once

#include <string>

namespace upscale {

/// The folder that scripts/fetch-data fills: ${XDG_CACHE_HOME:-$HOME/.cache}/pianola.
std::string default_data_folder();

}  // namespace upscale

// SPDX-License-Identifier: Apache-2.0
#include "data_folder.hpp"

#include <cstdlib>

namespace upscale {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string default_data_folder() {
  const std::string cache = environment("XDG_CACHE_HOME");
  return (cache.empty() ? environment("HOME") + "/.cache" : cache) + "/pianola";
}

}  // namespace upscale

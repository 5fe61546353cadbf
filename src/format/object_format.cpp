// SPDX-License-Identifier: Apache-2.0
// The names of object formats.
#include "pianola/kernel_library.hpp"

namespace pianola {

std::string_view to_string(ObjectFormat format) {
  switch (format) {
    case ObjectFormat::host: return "host";
    case ObjectFormat::ptx: return "ptx";
    case ObjectFormat::cubin: return "cubin";
    case ObjectFormat::hsaco: return "hsaco";
    case ObjectFormat::spirv: return "spirv";
    case ObjectFormat::msl: return "msl";
    case ObjectFormat::metallib: return "metallib";
  }
  return "unknown";
}

}  // namespace pianola

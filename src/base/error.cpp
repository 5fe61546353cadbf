// SPDX-License-Identifier: Apache-2.0
#include "pianola/error.hpp"

#include <fmt/format.h>

#include "pianola/version.hpp"

namespace pianola {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::invalid_state: return "invalid_state";
    case Errc::out_of_range: return "out_of_range";
    case Errc::misaligned: return "misaligned";
    case Errc::overlap: return "overlap";
    case Errc::limit_exceeded: return "limit_exceeded";
    case Errc::missing_kernel: return "missing_kernel";
    case Errc::mismatch: return "mismatch";
    case Errc::unbound: return "unbound";
    case Errc::unsupported: return "unsupported";
    case Errc::no_device: return "no_device";
    case Errc::device_lost: return "device_lost";
    case Errc::execution_failed: return "execution_failed";
    case Errc::dependency_failed: return "dependency_failed";
    case Errc::timeout: return "timeout";
    case Errc::out_of_memory: return "out_of_memory";
    case Errc::io: return "io";
    case Errc::corrupt: return "corrupt";
    case Errc::version: return "version";
    case Errc::compile_failed: return "compile_failed";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string text(to_string(error.code));
  if (error.command) text += fmt::format(": command {}", *error.command);
  text += ": " + error.message;
  if (!error.native_call.empty()) text += fmt::format(" ({} returned {})", error.native_call, error.native_code);
  return text;
}

std::string_view version() {
  return "0.1.0";
}

}  // namespace pianola

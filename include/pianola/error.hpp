// SPDX-License-Identifier: Apache-2.0
// Errors are values: every call that can fail returns Result<T>, and no exception crosses the API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace pianola {

/// What kind of thing went wrong. Tests and callers branch on the code, people read the message.
enum class Errc : uint8_t {
  invalid_argument,   ///< an argument that no device could accept
  invalid_state,      ///< the call is not legal now (recorder already finished, group not open)
  out_of_range,       ///< a byte range, index or offset + size lies outside its object
  misaligned,         ///< an offset or size is not a multiple of what is required
  overlap,            ///< memory ranges overlap where that is not allowed
  limit_exceeded,     ///< over a fixed limit of the library or of the device; the limit is in the message
  missing_kernel,     ///< the library has no kernel of that name, or no code for this device
  mismatch,           ///< number, size or kind of arguments differs from what the kernel or slot declares
  unbound,            ///< a slot, constant, binding or constant byte has no value
  unsupported,        ///< this build or device cannot do it; never returned for a programming error
  no_device,          ///< the device named does not exist here
  device_lost,        ///< the device failed earlier and takes no more work
  execution_failed,   ///< the work itself failed (indirect counts over the limit, a GPU fault)
  dependency_failed,  ///< not run, because something it waited for failed
  timeout,            ///< a bounded wait ended first; the work goes on
  out_of_memory,      ///< host or device memory could not be had
  io,                 ///< reading or writing a file failed
  corrupt,            ///< a file or byte block is damaged or not of the expected format
  version,            ///< made by an incompatible version
  compile_failed,     ///< a kernel did not compile; the compiler's text is in the message
};

/// The enumerator's name, e.g. "out_of_range".
std::string_view to_string(Errc code);

/// One failure. `message` says what was wrong, with the value and the limit.
struct Error {
  Errc code = Errc::invalid_argument;
  std::string message;
  std::optional<uint32_t> command;  ///< index of the recorded command, where it is known
  std::string native_call;          ///< the driver call that failed, or empty
  int64_t native_code = 0;          ///< that call's result
};

/// "out_of_range: command 3: fill of 64 bytes at 32 ends past slot 'x' of 64 bytes".
std::string to_string(const Error& error);

/// A value or an Error. Ignoring one is a warning.
template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

template <>
class [[nodiscard]] Result<void> : public tl::expected<void, Error> {
 public:
  using tl::expected<void, Error>::expected;
  Result() = default;
  Result(Error error) : tl::expected<void, Error>(tl::unexpect, std::move(error)) {}
};

}  // namespace pianola

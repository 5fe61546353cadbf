// SPDX-License-Identifier: Apache-2.0
// Reads what the portable dialect wrote about its kernels into a host object. Works for any machine's objects.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::kernel_build {

/// Where the records stand; host objects of another make have none.
inline constexpr std::string_view host_record_section = "pianola_kernels";

/// Something a kernel of the dialect declares, in the order of its list.
struct Declaration {
  enum class Kind : uint8_t { buffer, constant, shared, thread_private };
  Kind kind = Kind::buffer;
  std::string name;
  std::string type;       ///< as written, e.g. "float"
  bool is_array = false;  ///< of constants and thread-private values
  uint32_t count = 1;     ///< elements; of a buffer it is not known
  uint32_t index = 0;     ///< of a buffer: its place among the kernel's bindings
};

struct DialectKernel {
  KernelInfo info;
  std::vector<Declaration> declarations;
  uint64_t host_bytes = 0;  ///< of workgroup memory and all threads' private storage, which a CPU keeps on its stack
};

/// What one workgroup may need there: threads have stacks of 512 KiB on some systems.
inline constexpr uint64_t max_host_bytes = uint64_t{256} << 10U;

/// The kernels of one host object, in the order of its source. Errors: corrupt, version, limit_exceeded.
Result<std::vector<DialectKernel>> read_host_records(std::span<const std::byte> object);

}  // namespace pianola::kernel_build

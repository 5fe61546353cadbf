// SPDX-License-Identifier: Apache-2.0
// Runs single kernels of a library on one target, so that every target is asked the same questions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pianola/kernel_library.hpp"

namespace pianola::kernel_test {

/// One dispatch. Spans may lie over each other if the kernel allows it; what it changed is written back to them.
struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  std::vector<std::span<std::byte>> buffers;  ///< in the kernel's order
  std::vector<uint32_t> constants;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// Returns when the kernel is done.
  virtual Result<> run(const Launch& launch) = 0;
};

/// `target` is "x86-64", "x86-64-v3", "x86-64-v4" (this process), "aarch64" (this process, or an emulator elsewhere),
/// "vulkan1.1" (the first Vulkan device), or a device of Pianola's such as "cpu" or "cuda:0".
/// Errors: no_device (nothing here runs that target; the message says what is missing).
Result<std::unique_ptr<Runner>> make_runner(const std::string& target, const KernelLibrary& library);

// One a kind of target.
Result<std::unique_ptr<Runner>> make_host_runner(const std::string& arch, const KernelLibrary& library);
Result<std::unique_ptr<Runner>> make_emulated_runner(const std::string& arch, const KernelLibrary& library);
Result<std::unique_ptr<Runner>> make_vulkan_runner(const KernelLibrary& library);
Result<std::unique_ptr<Runner>> make_device_runner(const std::string& spec, const KernelLibrary& library);

/// The library's object of that format and architecture that holds the kernel. Errors: missing_kernel.
Result<const CodeObject*> find_object(const KernelLibrary& library, ObjectFormat format, std::string_view arch,
                                      std::string_view kernel);

/// Copies of a launch's buffers, for targets with memory of their own.
class BufferCopies {
 public:
  explicit BufferCopies(const Launch& launch);
  std::span<const std::byte> before(size_t index) const { return copies_[index]; }
  /// Only bytes that changed go back: another buffer may lie over the rest.
  void write_back(size_t index, std::span<const std::byte> after) const;

 private:
  const Launch& launch_;
  std::vector<std::vector<std::byte>> copies_;
};

}  // namespace pianola::kernel_test

// SPDX-License-Identifier: Apache-2.0
// The software driver as tests use it: kernels made known, failures asked for, leaks and complaints counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pianola/kernel_abi.h"
#include "pianola/kernel_library.hpp"

namespace pianola::sim {

class SimDriver {
 public:
  /// The library at `path`, loaded as the backend loads it. Aborts the program if it is not a software driver.
  explicit SimDriver(const std::string& path);
  /// True if the library at `path` is a software driver.
  static bool is_at(const std::string& path);

  const std::string& path() const { return path_; }
  /// Makes a library's kernels known, by the host code that it holds.
  void add(const KernelLibrary& library) const;
  /// One kernel with host code that the test brings along.
  void add(const KernelInfo& info, pianola_host_kernel function) const;
  /// The same for the kernels that Pianola brings along.
  void add_builtin() const;

  void set_seed(uint64_t seed) const;
  void set_version(int version) const;
  void fail_after(int64_t calls, int status) const;
  void fail_at(uint64_t site, int64_t calls, int status) const;
  void gather_sites(bool on) const;
  std::vector<uint64_t> sites() const;
  void hold(const std::string& kernel) const;
  int64_t held() const;
  void fault_after(int64_t pieces) const;
  void revive() const;
  void forget_complaints() const;
  std::string failed_call() const;
  int64_t call_count() const;
  int64_t count(const std::string& call) const;
  int64_t live_objects() const;
  int64_t live_bytes() const;
  std::string complaints() const;

 private:
  template <class Function>
  Function find(const char* name) const;
  std::string path_;
  void* handle_;
};

}  // namespace pianola::sim

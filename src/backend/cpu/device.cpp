// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/device.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "backend/cpu/lower.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::cpu {
namespace {

uint32_t thread_count(const DeviceOptions& options) {
  if (options.serial) return 1;
  if (options.threads != 0) return options.threads;
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

uint64_t physical_memory() {
  const auto pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  return pages * static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
}

/// Estimates in round numbers.
DeviceProfile estimated_profile(uint32_t threads) {
  DeviceProfile profile;
  profile.name = "cpu";
  profile.form = PlanForm::lanes;
  profile.lanes = std::min(threads, 32U);
  profile.fill_native = profile.fill_kernel = {.fixed_us = 0.01, .us_per_mib = 80};
  profile.copy_native = profile.copy_kernel = {.fixed_us = 0.01, .us_per_mib = 130};
  profile.update_native = profile.update_kernel = {.fixed_us = 0.01, .us_per_mib = 130};
  profile.dispatch = {.fixed_us = 0.1, .us_per_mib = 200};
  profile.edge_us = 1.0;
  profile.sync_us = 2.0;
  profile.kind_switch_us = 0;
  return profile;
}

}  // namespace

Result<uint32_t> CpuDevice::count(const DeviceOptions& /*options*/) {
  return 1U;
}

Result<std::unique_ptr<Device>> CpuDevice::open(uint32_t /*index*/, const DeviceOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Device>> {
    constexpr uint32_t most_threads = 1024;
    if (options.threads > most_threads) {
      return Error{.code = Errc::limit_exceeded,
                   .message = std::to_string(options.threads) + " threads; at most " + std::to_string(most_threads)};
    }
    return std::unique_ptr<Device>(new CpuDevice(options));
  });
}

CpuDevice::CpuDevice(const DeviceOptions& options) : name_(processor_name()), threads_(thread_count(options)) {
  limits_.max_groups = {0x7fffffff, 65535, 65535};
  limits_.dispatch_alignment = 1;
  limits_.max_dynamic_shared_bytes = UINT32_MAX;  // host code brings its own
  limits_.max_buffer_size = physical_memory();
  limits_.native_indirect = true;
  limits_.unified_memory = true;
  profile_ = estimated_profile(threads_);
  if (threads_ > 1) workers_ = std::make_unique<Workers>(threads_);
}

Result<std::shared_ptr<Executable>> CpuDevice::make_executable(const Plan& plan, const InstantiateOptions& /*options*/,
                                                               const std::shared_ptr<const Bindings>& /*defaults*/) {
  return guarded([&]() -> Result<std::shared_ptr<Executable>> {
    auto program = lower(plan, kernels_, threads_);
    if (!program) return program.error();
    return std::make_shared<CpuExecutable>(std::move(*program), limits_, workers_.get());
  });
}

}  // namespace pianola::backend::cpu

// SPDX-License-Identifier: Apache-2.0
#include "prepare.hpp"

#include "sim_driver.hpp"

namespace pianola::sim {

void prepare(const std::string& driver_path, const KernelLibrary& kernels) {
  if (driver_path.empty() || !SimDriver::is_at(driver_path)) return;
  const SimDriver driver(driver_path);
  driver.add_builtin();
  driver.add(kernels);
}

std::string complaints(const std::string& driver_path) {
  if (driver_path.empty() || !SimDriver::is_at(driver_path)) return {};
  return SimDriver(driver_path).complaints();
}

}  // namespace pianola::sim

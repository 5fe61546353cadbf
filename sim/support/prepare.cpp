// SPDX-License-Identifier: Apache-2.0
#include "prepare.hpp"

#include "sim_driver.hpp"
#if PIANOLA_SIM_METAL
#include <unistd.h>

#include "sim_metal.hpp"
#endif

namespace pianola::sim {

void prepare(const std::string& driver_path, const KernelLibrary& kernels) {
  if (driver_path.empty() || !SimDriver::is_at(driver_path)) return;
  const SimDriver driver(driver_path);
  driver.add_builtin();
  driver.add(kernels);
}

std::string complaints(const std::string& driver_path) {
  std::string text;
#if PIANOLA_SIM_METAL
  // A queue lets go of a command buffer a moment after those who wait for it wake.
  for (int i = 0; i < 2000 && sim_metal::live_objects() != 0; ++i) usleep(1000);
  if (const long left = sim_metal::live_objects(); left != 0)
    text += std::to_string(left) + " objects are left alive\n";
  for (const std::string& finding : sim_metal::take_findings()) text += finding + "\n";
#endif
  if (driver_path.empty() || !SimDriver::is_at(driver_path)) return text;
  return text + SimDriver(driver_path).complaints();
}

void set_order_seed(const std::string& driver_path, uint64_t seed) {
#if PIANOLA_SIM_METAL
  auto settings = sim_metal::settings();
  settings.seed = static_cast<uint32_t>(seed);
  sim_metal::configure(settings);
#endif
  if (!driver_path.empty() && SimDriver::is_at(driver_path)) SimDriver(driver_path).set_seed(seed);
}

}  // namespace pianola::sim

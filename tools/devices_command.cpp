// SPDX-License-Identifier: Apache-2.0
#include "devices_command.hpp"

#include <algorithm>
#include <cstdio>

#include "exit_codes.hpp"
#include "pianola/device.hpp"
#include "report.hpp"

namespace tool {

int run_devices(const DevicesOptions& options) {
  const std::vector<pianola::DeviceDescription> devices = pianola::list_devices();
  if (options.json) {
    std::puts(devices_json(devices).c_str());
    return success;
  }
  size_t width = 0;
  for (const pianola::DeviceDescription& device : devices) {
    width = std::max(width, device.spec.size());
  }
  for (const pianola::DeviceDescription& device : devices) {
    const char* state = device.available ? "yes" : "no ";
    const std::string& text = device.available ? device.name : device.reason;
    std::printf("%-*s  %s  %s\n", static_cast<int>(width), device.spec.c_str(), state, text.c_str());
  }
  return success;
}

}  // namespace tool

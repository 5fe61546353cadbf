// SPDX-License-Identifier: Apache-2.0
// `pianola devices`: every backend of this build, and why one has no device.
#pragma once

namespace tool {

struct DevicesOptions {
  bool json = false;
};

int run_devices(const DevicesOptions& options);

}  // namespace tool

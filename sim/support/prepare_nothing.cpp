// SPDX-License-Identifier: Apache-2.0
// For builds without software drivers.
#include "sim/support/prepare.hpp"

namespace pianola::sim {

void prepare(const std::string& /*driver_path*/, const KernelLibrary& /*kernels*/) {}
std::string complaints(const std::string& /*driver_path*/) {
  return {};
}
void set_order_seed(const std::string& /*driver_path*/, uint64_t /*seed*/) {}

}  // namespace pianola::sim

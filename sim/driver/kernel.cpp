// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include <algorithm>

namespace sim {

void KernelRun::run(uint64_t begin, uint64_t end) const {
  if (kernel->function == nullptr) return;  // of a module that no test described
  pianola_host_launch launch{};
  launch.buffers = buffers.data();
  launch.constants = constants.empty() ? nullptr : constants.data();
  std::copy(std::begin(groups), std::end(groups), launch.groups);
  launch.begin = begin;
  launch.end = end;
  kernel->function(&launch);
}

std::shared_ptr<const Kernel> kernel_from(const pianola_sim_kernel& described) {
  auto made = std::make_shared<Kernel>();
  made->name = described.symbol;
  made->function = described.function;
  made->arguments.assign(described.arguments, described.arguments + described.argument_count);
  for (const auto& argument : made->arguments) made->buffers += argument.is_buffer;
  made->workgroup_threads = described.workgroup[0] * described.workgroup[1] * described.workgroup[2];
  made->constant_bytes = described.constant_bytes;
  made->shared_bytes = described.shared_bytes;
  made->dynamic_shared_bytes = described.dynamic_shared_bytes;
  return made;
}

}  // namespace sim

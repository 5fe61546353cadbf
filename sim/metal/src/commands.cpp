// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

namespace sim_metal {

const char* freed_part(const Command& command) {
  if (command.a.is_freed()) return command.is_indirect ? "the indirect buffer" : "a buffer";
  if (command.b.is_freed()) return "a buffer";
  if (command.event.is_freed()) return "the event";
  if (command.fence.is_freed()) return "the fence";
  if (command.pipeline.is_freed()) return "the pipeline state";
  if (!command.state) return nullptr;
  for (const Binding& binding : command.state->bindings) {
    if (binding.use.is_freed()) return "a bound buffer";
  }
  for (const Use& use : command.state->resident) {
    if (use.is_freed()) return "a resident buffer";
  }
  return nullptr;
}

}  // namespace sim_metal

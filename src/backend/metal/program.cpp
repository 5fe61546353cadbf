// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/program.hpp"

#include <fmt/format.h>

#include <iterator>

namespace pianola::backend::metal {
namespace {

/// Commands of one encoder.
struct Tally {
  const char* kind = nullptr;
  uint32_t fills = 0, copies = 0, dispatches = 0, barriers = 0;
};

void print(std::string& text, uint32_t index, const Tally& tally) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "encoder {}: {}", index, tally.kind);
  if (tally.fills != 0) fmt::format_to(out, ", {} fills", tally.fills);
  if (tally.copies != 0) fmt::format_to(out, ", {} copies", tally.copies);
  if (tally.dispatches != 0) fmt::format_to(out, ", {} dispatches", tally.dispatches);
  if (tally.barriers != 0) fmt::format_to(out, ", {} barriers", tally.barriers);
  text += '\n';
}

}  // namespace

std::string to_string(const Program& program) {
  std::string text;
  Tally tally;
  uint32_t index = 0;
  for (const Step& step : program.steps) {
    switch (step.kind) {
      case Step::Kind::command_buffer:
        if (tally.kind != nullptr) print(text, index++, tally);
        tally = {};
        text += "next command buffer\n";
        break;
      case Step::Kind::blit_encoder:
      case Step::Kind::compute_encoder:
        if (tally.kind != nullptr) print(text, index++, tally);
        tally = {.kind = step.kind == Step::Kind::blit_encoder ? "blit" : "compute"};
        break;
      case Step::Kind::barrier: ++tally.barriers; break;
      case Step::Kind::blits:
        for (uint32_t i = 0; i < step.count; ++i)
          ++(program.blits[step.first + i].is_fill ? tally.fills : tally.copies);
        break;
      case Step::Kind::dispatches:
      case Step::Kind::late: tally.dispatches += step.count; break;
    }
  }
  if (tally.kind != nullptr) print(text, index, tally);
  const ProgramStats& s = program.stats;
  fmt::format_to(std::back_inserter(text),
                 "metal: {} command buffers, {} encoders, {} switches, {} barriers, {} blits, {} dispatches, {} bytes "
                 "staged\n",
                 s.command_buffers, s.blit_encoders + s.compute_encoders, s.switches, s.barriers, s.blits, s.dispatches,
                 s.staged_bytes);
  return text;
}

}  // namespace pianola::backend::metal

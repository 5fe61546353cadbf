// SPDX-License-Identifier: Apache-2.0
#include "hazards.hpp"

#include <algorithm>
#include <set>

#include "control.hpp"

namespace sim_metal {
namespace {

/// A command that ran, as far as later ones ask for it.
struct Seen {
  uint64_t encoder = 0;
  uint32_t queue = 0;
  int index = 0;
  Command::Kind kind{};
  const std::string* kernel = nullptr;
};
std::vector<Seen>& history() {
  static auto* const it = new std::vector<Seen>(1);  // id 0 is no command
  return *it;
}
const std::string* intern(const char* name) {
  static auto* const names = new std::set<std::string>;
  return &*names->emplace(name).first;
}

const char* name_of(Command::Kind kind) {
  switch (kind) {
    case Command::Kind::fill: return "fillBuffer";
    case Command::Kind::copy: return "copyFromBuffer";
    case Command::Kind::dispatch: return "dispatch of ";
    case Command::Kind::signal: return "encodeSignalEvent";
    case Command::Kind::wait: return "encodeWaitForEvent";
    case Command::Kind::update_fence: return "updateFence";
    case Command::Kind::wait_fence: return "waitForFence";
  }
  return "";
}

std::string describe(Command::Kind kind, const std::string& kernel, int index, uint64_t encoder) {
  if (encoder == 0) return name_of(kind);
  return name_of(kind) + kernel + " (command " + std::to_string(index) + " of encoder " + std::to_string(encoder) + ")";
}
std::string describe(uint32_t id) {
  const Seen& seen = history()[id];
  return describe(seen.kind, *seen.kernel, seen.index, seen.encoder);
}

/// Is the earlier command over before this one touches the memory?
bool is_ordered(uint32_t earlier, const Command& command, const Memory& memory) {
  const Seen& seen = history()[earlier];
  const Encoder& encoder = *command.encoder;
  if (seen.encoder == encoder.serial) {
    if (!encoder.concurrent) return true;
    int mark = command.barriers->all;
    const auto named = command.barriers->of_resource.find(&memory);
    if (named != command.barriers->of_resource.end()) mark = std::max(mark, named->second);
    return seen.index < mark;
  }
  if (seen.queue == encoder.queue && seen.encoder < encoder.serial && !memory.untracked) return true;
  if (encoder.known.covers(seen.queue, seen.encoder)) return true;
  return std::find(encoder.fenced.begin(), encoder.fenced.end(), seen.encoder) != encoder.fenced.end();
}

/// May two threads of one command have touched a byte with no order between them?
bool is_race(uint32_t first, uint32_t second) {
  if (first == 0 || second == 0 || first == second) return false;
  const bool same_group = first >> 16 == second >> 16;
  const bool same_phase = (first >> 10 & 63U) == (second >> 10 & 63U);
  return !same_group || same_phase;
}

/// An answer about the command at hand and another: neighbouring bytes mostly have the same history.
struct Memo {
  uint32_t id = 0;
  bool yes = true;
};
bool is_ordered(Memo& memo, uint32_t earlier, const Touch& t) {
  if (earlier == 0 || earlier == t.command.id) return true;
  if (memo.id != earlier) memo = {earlier, is_ordered(earlier, t.command, t.memory)};
  return memo.yes;
}

void report_hazard(const Touch& t, size_t byte, uint32_t other, const char* their_verb) {
  report("hazard", "%s %s byte %zu of %s, which %s %s with no barrier between", describe(t.command).c_str(),
         t.write ? "writes" : "reads", byte, t.memory.name().c_str(), describe(other).c_str(), their_verb);
}
void report_race(const Touch& t, size_t byte) {
  report("race", "two threads of %s touch byte %zu of %s", describe(t.command).c_str(), byte, t.memory.name().c_str());
}

/// Does each later write that comes after this read come after the one that is noted, too?
bool stands_for(const Touch& t, uint32_t noted) {
  if (noted == 0 || noted == t.command.id) return true;
  return history()[noted].encoder == t.command.encoder->serial || is_ordered(noted, t.command, t.memory);
}

/// Of one byte, which nothing has written since.
void note_read(const Touch& t, Shadow& s, size_t byte, bool stands_for_noted) {
  if (!stands_for_noted) {
    auto& more = t.memory.more_readers[byte];
    std::erase_if(more, [&](uint32_t noted) { return stands_for(t, noted); });
    more.push_back(s.read_command);
  }
  s.read_command = t.command.id;
  s.read_thread = t.thread;
}

/// A read that this write does not come after, or 0.
uint32_t unordered_reader(const Touch& t, const Shadow& s, size_t byte, Memo& reader) {
  if (!is_ordered(reader, s.read_command, t)) return s.read_command;
  if (t.memory.more_readers.empty()) return 0;
  const auto more = t.memory.more_readers.find(byte);
  if (more == t.memory.more_readers.end()) return 0;
  for (const uint32_t noted : more->second) {
    if (!is_ordered(reader, noted, t)) return noted;
  }
  return 0;
}

/// True if something was found.
bool check_byte(const Touch& t, const Shadow& s, size_t byte, Memo& writer, Memo& reader) {
  if (!is_ordered(writer, s.write_command, t)) {
    report_hazard(t, byte, s.write_command, "writes");
    return true;
  }
  if (const uint32_t noted = t.write ? unordered_reader(t, s, byte, reader) : 0; noted != 0) {
    report_hazard(t, byte, noted, "reads");
    return true;
  }
  if (t.atomic || t.thread == 0) return false;
  const bool race = (s.write_command == t.command.id && is_race(s.write_thread, t.thread)) ||
                    (t.write && s.read_command == t.command.id && is_race(s.read_thread, t.thread));
  if (race) report_race(t, byte);
  return race;
}

}  // namespace

std::mutex& device_lock() {
  static auto* const it = new std::mutex;
  return *it;
}

std::string describe(const Command& command) {
  return describe(command.kind, command.kernel != nullptr ? command.kernel->name : "", command.index,
                  command.encoder ? command.encoder->serial : 0);
}

void begin_command(Command& command) {
  command.id = static_cast<uint32_t>(history().size());
  history().push_back({command.encoder->serial, command.encoder->queue, command.index, command.kind,
                       intern(command.kernel != nullptr ? command.kernel->name : "")});
}

bool is_written_in_encoder(const Command& command, Memory& memory, size_t offset, size_t size) {
  for (size_t byte = offset; byte < offset + size; ++byte) {
    const uint32_t writer = memory.shadow(byte).write_command;
    if (writer != 0 && history()[writer].encoder == command.encoder->serial) return true;
  }
  return false;
}

void touch(const Touch& t) {
  Memo writer, reader, noted;
  bool told = false;
  for (size_t byte = t.offset; byte < t.offset + t.size; ++byte) {
    Shadow& s = t.memory.shadow(byte);
    if (!told) told = check_byte(t, s, byte, writer, reader);
    if (t.write) {
      s = {t.command.id, t.thread, 0, 0};  // which comes after the reads so far, or they have been told of
      if (!t.memory.more_readers.empty()) t.memory.more_readers.erase(byte);
      continue;
    }
    if (s.read_command != noted.id) noted = {s.read_command, stands_for(t, s.read_command)};
    note_read(t, s, byte, noted.yes);
  }
}

}  // namespace sim_metal

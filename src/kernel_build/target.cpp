// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace pianola::kernel_build {
namespace {

constexpr std::array targets = {
    Target{ObjectFormat::host, "x86-64"},     Target{ObjectFormat::host, "x86-64-v3"},
    Target{ObjectFormat::host, "x86-64-v4"},  Target{ObjectFormat::host, "aarch64"},
    Target{ObjectFormat::ptx, "sm_70"},       Target{ObjectFormat::ptx, "sm_90"},
    Target{ObjectFormat::hsaco, "gfx90a"},    Target{ObjectFormat::hsaco, "gfx942"},
    Target{ObjectFormat::hsaco, "gfx1030"},   Target{ObjectFormat::hsaco, "gfx1100"},
    Target{ObjectFormat::spirv, "vulkan1.1"}, Target{ObjectFormat::msl, "msl"},
};

struct Group {
  std::string_view name;
  std::vector<std::string_view> archs;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
#if defined(__aarch64__)
      {"host", {"aarch64"}},
#else
      {"host", {"x86-64", "x86-64-v3", "x86-64-v4"}},
#endif
      {"ptx", {"sm_70", "sm_90"}},
      {"hsaco", {"gfx90a", "gfx942", "gfx1030", "gfx1100"}},
      {"spirv", {"vulkan1.1"}},
      {"all",
       {"x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "sm_70", "sm_90", "gfx90a", "gfx942", "gfx1030", "gfx1100",
        "vulkan1.1", "msl"}},
  };
  return all;
}

const Target* find_target(std::string_view arch) {
  const auto* at = std::ranges::find(targets, arch, &Target::arch);
  return at == targets.end() ? nullptr : at;
}

void add(std::vector<Target>& list, const Target& target) {
  if (std::ranges::find(list, target) == list.end()) list.push_back(target);
}

Error unknown(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Group& group : groups()) known.push_back(group.name);
  for (const Target& target : targets) known.push_back(target.arch);
  return {.code = Errc::invalid_argument,
          .message = fmt::format("unknown target '{}'; there are {}", name, fmt::join(known, ", "))};
}

}  // namespace

std::span<const Target> all_targets() {
  return targets;
}

Result<std::vector<Target>> parse_targets(std::span<const std::string> names) {
  std::vector<Target> list;
  for (const std::string& name : names) {
    const auto group = std::ranges::find(groups(), name, &Group::name);
    if (group != groups().end()) {
      for (const std::string_view arch : group->archs) add(list, *find_target(arch));
    } else if (const Target* target = find_target(name); target != nullptr) {
      add(list, *target);
    } else {
      return unknown(name);
    }
  }
  return list;
}

}  // namespace pianola::kernel_build

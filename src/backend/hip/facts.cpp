// SPDX-License-Identifier: Apache-2.0
#include "backend/hip/facts.hpp"

#include <elf.h>

#include <cstring>
#include <memory>

namespace pianola::hip {
namespace {

constexpr uint16_t machine_amdgpu = 224;  // EM_AMDGPU
constexpr uint8_t abi_amdhsa = 64;        // ELFOSABI_AMDGPU_HSA

/// "gfx90a:sramecc+:xnack-" without its features.
std::string_view plain(std::string_view arch) {
  return arch.substr(0, arch.find(':'));
}

/// Those features, ":sramecc+:xnack-".
std::string_view features_of(std::string_view arch) {
  return arch.substr(plain(arch).size());
}

std::string text_at(const DeviceProperties& properties, size_t offset) {
  return std::string(properties.bytes + offset, strnlen(properties.bytes + offset, 256));
}

constexpr int version_number(int major, int minor, int patch) {
  return major * 10000000 + minor * 100000 + patch;
}

}  // namespace

Result<driver_graph::DeviceFacts> read_facts(const Api& api, int device) {
  driver_graph::DeviceFacts facts;
  facts.driver_version = api.version;
  auto properties = std::make_unique<DeviceProperties>();
  std::memset(properties->bytes, 0, sizeof properties->bytes);
  Result<> done = api.call(api.f.device_properties, properties.get(), device);
  if (!done) return done.error();
  Result<size_t> bytes = api.make(api.f.device_memory, device);
  if (!bytes) return bytes.error();
  facts.name = text_at(*properties, DeviceProperties::name_offset);
  const std::string arch = text_at(*properties, DeviceProperties::arch_offset);
  facts.arch = plain(arch);
  facts.features = features_of(arch);
  const auto read = [&](DeviceAttribute attribute) {
    Result<int> value = api.make(api.f.device_attribute, attribute, device);
    if (!value && done) done = value.error();
    return static_cast<uint32_t>(value ? *value : 0);
  };
  using A = DeviceAttribute;
  DeviceLimits& limits = facts.limits;
  limits.max_groups = {read(A::max_grid_x), read(A::max_grid_y), read(A::max_grid_z)};
  limits.max_workgroup = {read(A::max_block_x), read(A::max_block_y), read(A::max_block_z)};
  limits.max_workgroup_threads = read(A::max_threads_per_block);
  limits.max_shared_bytes = read(A::max_shared_per_block);
  limits.max_dynamic_shared_bytes = limits.max_shared_bytes;
  if (!done) return done.error();
  // Groups times threads may not be over 2^32 - 1 in any dimension, and what the runtime calls the largest grid
  // differs by version, in threads or in groups. Both hold below this.
  const uint32_t threads = limits.max_workgroup_threads == 0 ? 1024 : limits.max_workgroup_threads;
  limits.max_groups[0] = std::min(limits.max_groups[0], UINT32_MAX / threads);
  for (size_t i = 1; i < 3; ++i) limits.max_groups[i] = std::min(limits.max_groups[i], uint32_t{65535});
  limits.dispatch_alignment = 0;
  limits.max_buffer_size = *bytes;
  limits.native_indirect = false;
  return facts;
}

int code_rank(const driver_graph::DeviceFacts& facts, const CodeObject& object) {
  if (object.format != ObjectFormat::hsaco) return 0;
  if (plain(object.arch) != facts.arch) return 0;
  // A feature that the code names must be as it says; one that it does not name may be either.
  int rank = 1;
  const std::string known = facts.features + ":";
  for (std::string_view rest = features_of(object.arch); !rest.empty(); ++rank) {
    const size_t end = rest.find(':', 1);
    if (known.find(std::string(rest.substr(0, end)) + ":") == std::string::npos) return 0;
    rest.remove_prefix(std::min(end, rest.size()));
  }
  return rank;
}

Result<> check_image(std::span<const std::byte> image) {
  Error error;
  error.code = Errc::corrupt;
  error.message = "a module of " + std::to_string(image.size()) + " bytes is no AMD code object";
  Elf64_Ehdr header{};
  if (image.size() < sizeof header) return error;
  std::memcpy(&header, image.data(), sizeof header);
  const bool is_amd = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == machine_amdgpu &&
                      header.e_ident[EI_OSABI] == abi_amdhsa;
  const uint64_t sections = header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  const uint64_t segments = header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (!is_amd || header.e_shoff > image.size() || header.e_phoff > image.size() || sections > image.size() ||
      segments > image.size())
    return error;
  return {};
}

driver_graph::Quirks quirks_of(int version) {
  driver_graph::Quirks quirks;
  // Up to 6.3, which orders a graph by GetRunListUtil() in hip_graph_internal.cpp: where a node's own list was closed
  // by an earlier child, the edge to a child that was seen before is forgotten.
  // Tests: HsaGraph.*, HipQuirks.GraphsAreChainsBefore64
  quirks.edges = version >= version_number(6, 4, 0);
  // From 6.4 on, Graph::RunOneNode() makes a node wait for its only dependency only if it is one of its first four
  // children (ROCm/rocm-systems#11499). With four lanes no node has more.
  // Test: HipQuirks.From64OnGraphsOfMoreThanFourLanesAreChains
  quirks.most_lanes = 4;
  // The same function calls itself along every path, and a long one overflows the stack. Tests: Fan.AHundredThousand*,
  // HipQuirks.APlanOfMoreThan4096NodesIsSeveralGraphs
  quirks.most_nodes = 4096;
  // hipGraphMemcpyNode1D::EnqueueCommands() does not release the command that each launch makes, as other nodes do, and
  // the command holds on to both memories: hipFree() gives nothing back. Measured on 5.2.3; the source of 5.6 releases.
  // Tests: HsaMemory.*, HipQuirks.CopiesInGraphsAreKernelsBefore56
  quirks.copy_nodes = version >= version_number(5, 6, 0);
  // 5.4.0 to 5.4.4 refuse module functions as graph kernel nodes with error 98, as ROCm/hip#2450 has it for 4.5.
  // Test: HipQuirks.Rocm54AloneReplaysOnStreams
  if (version >= version_number(5, 4, 0) && version < version_number(5, 5, 0)) quirks.graphs = false;
  // Each update takes new memory for the kernels' arguments, which only the executable's end gives back, and may fail
  // without an error when there is none: ROCm/rocm-systems#10713, seen from 6.4.4 to 7.14.
  // Test: HipQuirks.From64OnARebindBuildsAFreshGraph
  if (version >= version_number(6, 4, 0)) quirks.update = false;
  return quirks;
}

}  // namespace pianola::hip

// SPDX-License-Identifier: Apache-2.0
// The system and its two agents: the host, and a GPU with the numbers of an MI200's half.
#include <cstring>

#include "state.hpp"

using namespace sim::hsa;  // NOLINT: every name below is the vendor's

namespace {

template <class T>
hsa_status_t give(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t give_text(void* out, const char* text, size_t room) {
  std::memset(out, 0, room);
  std::memcpy(out, text, std::strlen(text));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t give_amd_info(bool is_gpu, unsigned what, void* out) {
  switch (what) {
    case HSA_AMD_AGENT_INFO_CHIP_ID: return give(out, uint32_t{0x7408});
    case HSA_AMD_AGENT_INFO_CACHELINE_SIZE: return give(out, uint32_t{64});
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT: return give(out, uint32_t{104});
    case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY: return give(out, uint32_t{1700});
    case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID: return give(out, uint32_t{is_gpu});
    case HSA_AMD_AGENT_INFO_BDFID: return give(out, uint32_t{0x300});
    case HSA_AMD_AGENT_INFO_MEMORY_WIDTH: return give(out, uint32_t{4096});
    case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY: return give(out, uint32_t{1600});
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME: return give_text(out, "Stand-in gfx90a", 64);
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU: return give(out, uint32_t{32});
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU: return give(out, uint32_t{4});
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES: return give(out, uint32_t{8});
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE: return give(out, uint32_t{1});
    case HSA_AMD_AGENT_INFO_HDP_FLUSH: {
      static uint32_t registers[2];
      return give(out, hsa_amd_hdp_flush_t{&registers[0], &registers[1]});
    }
    case HSA_AMD_AGENT_INFO_DOMAIN: return give(out, uint32_t{0});
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS: return give(out, false);
    case HSA_AMD_AGENT_INFO_UUID: return give_text(out, "GPU-0000000000000001", 21);
    case HSA_AMD_AGENT_INFO_ASIC_REVISION: return give(out, uint32_t{1});
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

}  // namespace

extern "C" {

hsa_status_t hsa_init() {
  Runtime::instance();
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_shut_down() {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_status_string(hsa_status_t, const char** text) {
  *text = "the stand-in HSA runtime refused";
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_system_get_info(hsa_system_info_t what, void* out) {
  switch (what) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR:
    case HSA_SYSTEM_INFO_VERSION_MINOR: return give(out, uint16_t{1});
    case HSA_SYSTEM_INFO_TIMESTAMP: return give(out, now_ns());
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY: return give(out, uint64_t{1'000'000'000});
    case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT: return give(out, UINT64_MAX);
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}
hsa_status_t hsa_system_extension_supported(uint16_t, uint16_t, uint16_t, bool* result) {
  *result = false;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_system_get_major_extension_table(uint16_t, uint16_t, size_t size, void* table) {
  std::memset(table, 0, size);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_agent_extension_supported(uint16_t, hsa_agent_t, uint16_t, uint16_t, bool* result) {
  *result = false;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_iterate_agents(hsa_status_t (*visit)(hsa_agent_t, void*), void* data) {
  const hsa_status_t status = visit(host_agent, data);
  return status == HSA_STATUS_SUCCESS ? visit(gpu_agent, data) : status;
}
hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t what, void* out) {
  const bool is_gpu = agent.handle == gpu_agent.handle;
  switch (what) {
    case HSA_AGENT_INFO_NAME: return give_text(out, is_gpu ? "gfx90a" : "host", 64);
    case HSA_AGENT_INFO_VENDOR_NAME: return give_text(out, "AMD", 64);
    case HSA_AGENT_INFO_FEATURE:
      return give(out, is_gpu ? HSA_AGENT_FEATURE_KERNEL_DISPATCH : HSA_AGENT_FEATURE_AGENT_DISPATCH);
    case HSA_AGENT_INFO_PROFILE: return give(out, is_gpu ? HSA_PROFILE_BASE : HSA_PROFILE_FULL);
    case HSA_AGENT_INFO_WAVEFRONT_SIZE: return give(out, uint32_t{is_gpu ? 64U : 0U});
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: {
      constexpr uint16_t most[3] = {1024, 1024, 1024};
      std::memcpy(out, most, sizeof most);
      return HSA_STATUS_SUCCESS;
    }
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE: return give(out, uint32_t{1024});
    case HSA_AGENT_INFO_GRID_MAX_DIM: return give(out, hsa_dim3_t{UINT32_MAX, UINT32_MAX, UINT32_MAX});
    case HSA_AGENT_INFO_GRID_MAX_SIZE: return give(out, UINT32_MAX);
    case HSA_AGENT_INFO_QUEUES_MAX: return give(out, uint32_t{128});
    case HSA_AGENT_INFO_QUEUE_MIN_SIZE: return give(out, uint32_t{64});
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE: return give(out, uint32_t{131072});
    case HSA_AGENT_INFO_NODE: return give(out, uint32_t{is_gpu});
    case HSA_AGENT_INFO_DEVICE: return give(out, is_gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
    case HSA_AGENT_INFO_CACHE_SIZE: {
      constexpr uint32_t sizes[4] = {16 * 1024, 8 * 1024 * 1024, 0, 0};
      std::memcpy(out, sizes, sizeof sizes);
      return HSA_STATUS_SUCCESS;
    }
    case HSA_AGENT_INFO_EXTENSIONS: std::memset(out, 0, 128); return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_VERSION_MAJOR:
    case HSA_AGENT_INFO_VERSION_MINOR: return give(out, uint16_t{1});
    default: return give_amd_info(is_gpu, what, out);
  }
}
hsa_status_t hsa_agent_iterate_isas(hsa_agent_t, hsa_status_t (*visit)(hsa_isa_t, void*), void* data) {
  return visit(hsa_isa_t{1}, data);
}
hsa_status_t hsa_isa_get_info_alt(hsa_isa_t, hsa_isa_info_t what, void* out) {
  const auto size = static_cast<uint32_t>(std::strlen(isa_name) + 1);
  if (what == HSA_ISA_INFO_NAME_LENGTH) return give(out, size);
  if (what == HSA_ISA_INFO_NAME) return give_text(out, isa_name, size);
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// What AMD's runtime links but does not need for buffers, kernels and copies. The vendor's headers are not included:
// these ignore their arguments.
namespace sim::hsa {
int refuse(const char* name);
}

#define PIANOLA_REFUSED(name)       \
  extern "C" int name() {           \
    return sim::hsa::refuse(#name); \
  }

PIANOLA_REFUSED(hsa_amd_image_create)
PIANOLA_REFUSED(hsa_amd_interop_map_buffer)
PIANOLA_REFUSED(hsa_amd_interop_unmap_buffer)
PIANOLA_REFUSED(hsa_amd_ipc_memory_attach)
PIANOLA_REFUSED(hsa_amd_ipc_memory_create)
PIANOLA_REFUSED(hsa_amd_ipc_memory_detach)
PIANOLA_REFUSED(hsa_amd_memory_async_copy_rect)
PIANOLA_REFUSED(hsa_amd_svm_attributes_get)
PIANOLA_REFUSED(hsa_amd_svm_attributes_set)
PIANOLA_REFUSED(hsa_amd_svm_prefetch_async)
PIANOLA_REFUSED(hsa_ext_image_create)
PIANOLA_REFUSED(hsa_ext_image_create_with_layout)
PIANOLA_REFUSED(hsa_ext_image_data_get_info)
PIANOLA_REFUSED(hsa_ext_image_destroy)
PIANOLA_REFUSED(hsa_ext_image_export)
PIANOLA_REFUSED(hsa_ext_image_import)
PIANOLA_REFUSED(hsa_ext_sampler_create)
PIANOLA_REFUSED(hsa_ext_sampler_destroy)

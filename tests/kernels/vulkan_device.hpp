// SPDX-License-Identifier: Apache-2.0
// The first Vulkan device, with a compute queue and memory that the host sees. Found at run time; for tests.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <memory>
#include <span>
#include <string>

#include "pianola/error.hpp"

namespace pianola::kernel_test {

// Functions of the loader, of an instance and of a device.
#define PIANOLA_VULKAN_GLOBAL(X) X(vkCreateInstance)
#define PIANOLA_VULKAN_INSTANCE(X)        \
  X(vkDestroyInstance)                    \
  X(vkEnumeratePhysicalDevices)           \
  X(vkEnumerateDeviceExtensionProperties) \
  X(vkGetPhysicalDeviceProperties)        \
  X(vkGetPhysicalDeviceFeatures2)         \
  X(vkGetPhysicalDeviceMemoryProperties)  \
  X(vkGetPhysicalDeviceQueueFamilyProperties) X(vkCreateDevice) X(vkGetDeviceProcAddr)
#define PIANOLA_VULKAN_DEVICE(X)   \
  X(vkDestroyDevice)               \
  X(vkGetDeviceQueue)              \
  X(vkCreateBuffer)                \
  X(vkDestroyBuffer)               \
  X(vkGetBufferMemoryRequirements) \
  X(vkAllocateMemory)              \
  X(vkFreeMemory)                  \
  X(vkBindBufferMemory)            \
  X(vkMapMemory)                   \
  X(vkCreateShaderModule)          \
  X(vkDestroyShaderModule)         \
  X(vkCreateDescriptorSetLayout)   \
  X(vkDestroyDescriptorSetLayout)  \
  X(vkCreatePipelineLayout)        \
  X(vkDestroyPipelineLayout)       \
  X(vkCreateComputePipelines)      \
  X(vkDestroyPipeline)             \
  X(vkCreateDescriptorPool)        \
  X(vkDestroyDescriptorPool)       \
  X(vkResetDescriptorPool)         \
  X(vkAllocateDescriptorSets)      \
  X(vkUpdateDescriptorSets)        \
  X(vkCreateCommandPool)           \
  X(vkDestroyCommandPool)          \
  X(vkAllocateCommandBuffers)      \
  X(vkBeginCommandBuffer)          \
  X(vkEndCommandBuffer)            \
  X(vkCmdBindPipeline)             \
  X(vkCmdBindDescriptorSets)       \
  X(vkCmdPushConstants) X(vkCmdDispatch) X(vkCmdPipelineBarrier) X(vkQueueSubmit) X(vkQueueWaitIdle)

struct VulkanFunctions {
#define PIANOLA_VULKAN_MEMBER(name) PFN_##name name = nullptr;
  PIANOLA_VULKAN_GLOBAL(PIANOLA_VULKAN_MEMBER)
  PIANOLA_VULKAN_INSTANCE(PIANOLA_VULKAN_MEMBER)
  PIANOLA_VULKAN_DEVICE(PIANOLA_VULKAN_MEMBER)
#undef PIANOLA_VULKAN_MEMBER
};

/// An error with Vulkan's own number, or success.
Result<> check(VkResult result, const char* call);

class VulkanDevice {
 public:
  /// Errors: no_device (with what is missing).
  static Result<std::unique_ptr<VulkanDevice>> open();
  VulkanDevice() = default;
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;
  ~VulkanDevice();

  VulkanFunctions vk;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  uint32_t memory_type = 0;  ///< host-visible and coherent
  std::string name;

 private:
  Result<> load();
  Result<> choose();
  Result<> create();
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
};

}  // namespace pianola::kernel_test

// SPDX-License-Identifier: Apache-2.0
#include "vulkan_device.hpp"

#include <dlfcn.h>

#include <cstring>
#include <vector>

namespace pianola::kernel_test {
namespace {

Error missing(std::string what) {
  return {.code = Errc::no_device, .message = what + "; scripts/setup installs Mesa's lavapipe"};
}

// What kernels with 8- and 16-bit storage need.
struct Features {
  VkPhysicalDevice8BitStorageFeatures small = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDevice16BitStorageFeatures medium = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                                                 .pNext = &small};
  VkPhysicalDeviceFeatures2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &medium};
};

}  // namespace

Result<> check(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return {};
  return Error{.code = Errc::execution_failed,
               .message = "Vulkan refuses",
               .command = std::nullopt,
               .native_call = call,
               .native_code = result};
}

Result<std::unique_ptr<VulkanDevice>> VulkanDevice::open() {
  auto made = std::make_unique<VulkanDevice>();
  if (auto ok = made->load(); !ok) return ok.error();
  if (auto ok = made->choose(); !ok) return ok.error();
  if (auto ok = made->create(); !ok) return ok.error();
  return made;
}

Result<> VulkanDevice::load() {
  // Never closed: a driver's threads may outlive its instance.
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return missing("there is no libvulkan.so.1");
  const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (get == nullptr) return missing("libvulkan.so.1 has no vkGetInstanceProcAddr");
#define PIANOLA_VULKAN_FIND(name)                                \
  vk.name = reinterpret_cast<PFN_##name>(get(instance_, #name)); \
  if (vk.name == nullptr) return missing("no " #name);
  PIANOLA_VULKAN_GLOBAL(PIANOLA_VULKAN_FIND)
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  if (vk.vkCreateInstance(&info, nullptr, &instance_) != VK_SUCCESS) return missing("no Vulkan driver is installed");
  PIANOLA_VULKAN_INSTANCE(PIANOLA_VULKAN_FIND)
#undef PIANOLA_VULKAN_FIND
  return {};
}

Result<> VulkanDevice::choose() {
  uint32_t count = 1;
  vk.vkEnumeratePhysicalDevices(instance_, &count, &physical_);
  if (count == 0 || physical_ == VK_NULL_HANDLE) return missing("there is no Vulkan device");
  VkPhysicalDeviceProperties properties;
  vk.vkGetPhysicalDeviceProperties(physical_, &properties);
  name = properties.deviceName;
  uint32_t families = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, nullptr);
  std::vector<VkQueueFamilyProperties> family(families);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(physical_, &families, family.data());
  while (queue_family < families && (family[queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++queue_family;
  if (queue_family == families) return missing(name + " has no compute queue");
  VkPhysicalDeviceMemoryProperties memory;
  vk.vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  constexpr VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  while (memory_type < memory.memoryTypeCount && (memory.memoryTypes[memory_type].propertyFlags & wanted) != wanted) {
    ++memory_type;
  }
  if (memory_type == memory.memoryTypeCount) return missing(name + " has no memory that the host sees");
  return {};
}

Result<> VulkanDevice::create() {
  Features features;
  vk.vkGetPhysicalDeviceFeatures2(physical_, &features.all);
  if (features.small.storageBuffer8BitAccess == 0 || features.medium.storageBuffer16BitAccess == 0) {
    return missing(name + " has no 8- or 16-bit storage");
  }
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue_info{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = queue_family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
  const char* const extension = VK_KHR_8BIT_STORAGE_EXTENSION_NAME;
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &features.all,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue_info,
                                .enabledExtensionCount = 1,
                                .ppEnabledExtensionNames = &extension};
  if (auto ok = check(vk.vkCreateDevice(physical_, &info, nullptr, &device), "vkCreateDevice"); !ok) return ok;
#define PIANOLA_VULKAN_FIND(name)                                                \
  vk.name = reinterpret_cast<PFN_##name>(vk.vkGetDeviceProcAddr(device, #name)); \
  if (vk.name == nullptr) return missing("no " #name);
  PIANOLA_VULKAN_DEVICE(PIANOLA_VULKAN_FIND)
#undef PIANOLA_VULKAN_FIND
  vk.vkGetDeviceQueue(device, queue_family, 0, &queue);
  return {};
}

VulkanDevice::~VulkanDevice() {
  if (device != VK_NULL_HANDLE && vk.vkDestroyDevice != nullptr) vk.vkDestroyDevice(device, nullptr);
  if (instance_ != VK_NULL_HANDLE && vk.vkDestroyInstance != nullptr) vk.vkDestroyInstance(instance_, nullptr);
}

}  // namespace pianola::kernel_test

// SPDX-License-Identifier: Apache-2.0
// SPIR-V on a Vulkan device: a compute pipeline a kernel, storage buffers cut from one piece of memory, and its
// constants as push constants or, where there are more than Vulkan guarantees, as one more of those buffers.
#include <algorithm>
#include <cstring>
#include <map>

#include "base/spirv_constants.hpp"
#include "runner.hpp"
#include "vulkan_device.hpp"

namespace pianola::kernel_test {
namespace {

/// Between buffers, and checked after each launch: kernels write nothing there.
constexpr uint64_t guard_size = 256;
constexpr std::byte guard_byte{0xa5};

/// Of the storage buffers: the bindings, then the constants if they are in one.
std::vector<DescriptorPlace> places_of(const KernelInfo& info) {
  std::vector<DescriptorPlace> places;
  for (const KernelBinding& each : info.bindings) places.push_back({.set = each.set, .binding = each.binding});
  if (has_constants_buffer(info)) places.push_back(constants_place(info));
  return places;
}

struct Pipeline {
  std::vector<VkDescriptorSetLayout> sets;  ///< one a set number; a hole has no bindings
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkShaderModule module = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

class VulkanRunner : public Runner {
 public:
  VulkanRunner(VulkanDevice& device, KernelLibrary library) : device_(&device), library_(std::move(library)) {}
  VulkanRunner(const VulkanRunner&) = delete;
  VulkanRunner& operator=(const VulkanRunner&) = delete;
  ~VulkanRunner() override;

  Result<> prepare();
  Result<> run(const Launch& launch) override;

 private:
  Result<> reserve(uint64_t size);
  void free_memory();
  Result<const Pipeline*> pipeline(const std::string& kernel);
  Result<> make_layout(const KernelInfo& info, Pipeline& made);
  Result<std::vector<VkDescriptorSet>> bind(const KernelInfo& info, const Pipeline& pipeline,
                                            std::span<const uint64_t> offsets, std::span<const uint64_t> sizes);
  Result<> submit(const Launch& launch, bool pushes, const Pipeline& pipeline, std::span<const VkDescriptorSet> sets);

  VulkanDevice* device_;
  const VulkanFunctions& vk_ = device_->vk;
  KernelLibrary library_;
  std::map<std::string, Pipeline> pipelines_;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  VkCommandBuffer command_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::span<std::byte> mapped_;
};

VulkanRunner::~VulkanRunner() {
  for (const auto& [name, made] : pipelines_) {
    vk_.vkDestroyPipeline(device_->device, made.pipeline, nullptr);
    vk_.vkDestroyPipelineLayout(device_->device, made.layout, nullptr);
    vk_.vkDestroyShaderModule(device_->device, made.module, nullptr);
    for (VkDescriptorSetLayout set : made.sets) vk_.vkDestroyDescriptorSetLayout(device_->device, set, nullptr);
  }
  free_memory();
  vk_.vkDestroyDescriptorPool(device_->device, descriptors_, nullptr);
  vk_.vkDestroyCommandPool(device_->device, commands_, nullptr);
}

Result<> VulkanRunner::prepare() {
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                     .queueFamilyIndex = device_->queue_family};
  if (auto ok = check(vk_.vkCreateCommandPool(device_->device, &pool, nullptr, &commands_), "vkCreateCommandPool"); !ok)
    return ok;
  const VkCommandBufferAllocateInfo one{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = commands_,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
  auto ok = check(vk_.vkAllocateCommandBuffers(device_->device, &one, &command_), "vkAllocateCommandBuffers");
  if (!ok) return ok;
  const VkDescriptorPoolSize size{.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 65};
  const VkDescriptorPoolCreateInfo sets{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 16, .poolSizeCount = 1, .pPoolSizes = &size};
  return check(vk_.vkCreateDescriptorPool(device_->device, &sets, nullptr, &descriptors_), "vkCreateDescriptorPool");
}

void VulkanRunner::free_memory() {
  vk_.vkDestroyBuffer(device_->device, buffer_, nullptr);
  vk_.vkFreeMemory(device_->device, memory_, nullptr);
  buffer_ = VK_NULL_HANDLE;
  memory_ = VK_NULL_HANDLE;
  mapped_ = {};
}

Result<> VulkanRunner::reserve(uint64_t size) {
  if (size <= mapped_.size()) return {};
  free_memory();
  const VkBufferCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  auto ok = check(vk_.vkCreateBuffer(device_->device, &info, nullptr, &buffer_), "vkCreateBuffer");
  if (!ok) return ok;
  VkMemoryRequirements needs;
  vk_.vkGetBufferMemoryRequirements(device_->device, buffer_, &needs);
  const VkMemoryAllocateInfo memory{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = needs.size,
                                    .memoryTypeIndex = device_->memory_type};
  ok = check(vk_.vkAllocateMemory(device_->device, &memory, nullptr, &memory_), "vkAllocateMemory");
  if (ok) ok = check(vk_.vkBindBufferMemory(device_->device, buffer_, memory_, 0), "vkBindBufferMemory");
  void* address = nullptr;
  if (ok) ok = check(vk_.vkMapMemory(device_->device, memory_, 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory");
  if (ok) mapped_ = {static_cast<std::byte*>(address), size};
  return ok;
}

Result<> VulkanRunner::make_layout(const KernelInfo& info, Pipeline& made) {
  std::map<uint32_t, std::vector<VkDescriptorSetLayoutBinding>> bindings;
  uint32_t count = 0;
  for (const DescriptorPlace& each : places_of(info)) {
    bindings[each.set].push_back({.binding = each.binding,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .descriptorCount = 1,
                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT});
    count = std::max(count, each.set + 1);
  }
  made.sets.resize(count);
  for (uint32_t set = 0; set < count; ++set) {
    const VkDescriptorSetLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = static_cast<uint32_t>(bindings[set].size()),
                                                 .pBindings = bindings[set].data()};
    auto ok = check(vk_.vkCreateDescriptorSetLayout(device_->device, &layout, nullptr, &made.sets[set]),
                    "vkCreateDescriptorSetLayout");
    if (!ok) return ok;
  }
  const bool is_pushed = info.constant_bytes != 0 && !has_constants_buffer(info);
  const VkPushConstantRange constants{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = info.constant_bytes};
  const VkPipelineLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = count,
                                          .pSetLayouts = made.sets.data(),
                                          .pushConstantRangeCount = is_pushed ? 1U : 0U,
                                          .pPushConstantRanges = &constants};
  return check(vk_.vkCreatePipelineLayout(device_->device, &layout, nullptr, &made.layout), "vkCreatePipelineLayout");
}

Result<const Pipeline*> VulkanRunner::pipeline(const std::string& kernel) {
  if (const auto known = pipelines_.find(kernel); known != pipelines_.end()) return &known->second;
  const auto object = find_object(library_, ObjectFormat::spirv, "vulkan1.1", kernel);
  if (!object) return object.error();
  Pipeline& made = pipelines_[kernel];
  if (auto ok = make_layout(library_[kernel].info(), made); !ok) return ok.error();
  std::vector<uint32_t> words((*object)->bytes.size() / 4);
  std::memcpy(words.data(), (*object)->bytes.data(), words.size() * 4);
  const VkShaderModuleCreateInfo module{
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = words.size() * 4, .pCode = words.data()};
  auto ok = check(vk_.vkCreateShaderModule(device_->device, &module, nullptr, &made.module), "vkCreateShaderModule");
  if (!ok) return ok.error();
  const VkComputePipelineCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                   .module = made.module,
                                                   .pName = kernel.c_str()},
                                         .layout = made.layout};
  ok = check(vk_.vkCreateComputePipelines(device_->device, VK_NULL_HANDLE, 1, &info, nullptr, &made.pipeline),
             "vkCreateComputePipelines");
  if (!ok) return ok.error();
  return &made;
}

Result<std::vector<VkDescriptorSet>> VulkanRunner::bind(const KernelInfo& info, const Pipeline& pipeline,
                                                        std::span<const uint64_t> offsets,
                                                        std::span<const uint64_t> sizes) {
  std::vector<VkDescriptorSet> sets(pipeline.sets.size());
  if (sets.empty()) return sets;
  vk_.vkResetDescriptorPool(device_->device, descriptors_, 0);
  const VkDescriptorSetAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = descriptors_,
                                             .descriptorSetCount = static_cast<uint32_t>(sets.size()),
                                             .pSetLayouts = pipeline.sets.data()};
  auto ok = check(vk_.vkAllocateDescriptorSets(device_->device, &allocate, sets.data()), "vkAllocateDescriptorSets");
  if (!ok) return ok.error();
  const std::vector<DescriptorPlace> places = places_of(info);
  for (size_t i = 0; i < places.size(); ++i) {
    // Elements of the last few bytes are whole: the guard behind them is part of the range.
    const VkDescriptorBufferInfo range{.buffer = buffer_, .offset = offsets[i], .range = (sizes[i] + 16) / 16 * 16};
    const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                     .dstSet = sets[places[i].set],
                                     .dstBinding = places[i].binding,
                                     .descriptorCount = 1,
                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                     .pBufferInfo = &range};
    vk_.vkUpdateDescriptorSets(device_->device, 1, &write, 0, nullptr);
  }
  return sets;
}

Result<> VulkanRunner::submit(const Launch& launch, bool pushes, const Pipeline& pipeline,
                              std::span<const VkDescriptorSet> sets) {
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  if (auto ok = check(vk_.vkBeginCommandBuffer(command_, &begin), "vkBeginCommandBuffer"); !ok) return ok;
  vk_.vkCmdBindPipeline(command_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  if (!sets.empty()) {
    vk_.vkCmdBindDescriptorSets(command_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0,
                                static_cast<uint32_t>(sets.size()), sets.data(), 0, nullptr);
  }
  if (pushes) {
    vk_.vkCmdPushConstants(command_, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           static_cast<uint32_t>(launch.constants.size() * 4), launch.constants.data());
  }
  vk_.vkCmdDispatch(command_, launch.groups[0], launch.groups[1], launch.groups[2]);
  const VkMemoryBarrier to_host{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vk_.vkCmdPipelineBarrier(command_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host,
                           0, nullptr, 0, nullptr);
  if (auto ok = check(vk_.vkEndCommandBuffer(command_), "vkEndCommandBuffer"); !ok) return ok;
  const VkSubmitInfo submit{
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &command_};
  if (auto ok = check(vk_.vkQueueSubmit(device_->queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit"); !ok) return ok;
  return check(vk_.vkQueueWaitIdle(device_->queue), "vkQueueWaitIdle");
}

Result<> VulkanRunner::run(const Launch& launch) {
  const auto made = pipeline(launch.kernel);
  if (!made) return made.error();
  const KernelInfo& info = library_[launch.kernel].info();
  std::vector<uint64_t> sizes;
  for (const auto& each : launch.buffers) sizes.push_back(each.size());
  if (has_constants_buffer(info)) sizes.push_back(info.constant_bytes);
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
  for (const uint64_t size : sizes) {
    offsets.push_back(end);
    end = (end + size + guard_size + 255) / 256 * 256;
  }
  if (auto ok = reserve(std::max<uint64_t>(end, 4096)); !ok) return ok;
  std::ranges::fill(mapped_.first(end), guard_byte);
  const BufferCopies copies(launch);
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    std::ranges::copy(copies.before(i), mapped_.begin() + offsets[i]);
  }
  if (has_constants_buffer(info)) {
    std::memcpy(&mapped_[offsets.back()], launch.constants.data(), info.constant_bytes);
  }
  const auto sets = bind(info, **made, offsets, sizes);
  if (!sets) return sets.error();
  const bool pushes = info.constant_bytes != 0 && !has_constants_buffer(info);
  if (auto ok = submit(launch, pushes, **made, *sets); !ok) return ok;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (i < launch.buffers.size()) copies.write_back(i, mapped_.subspan(offsets[i], sizes[i]));
    const uint64_t next = i + 1 < offsets.size() ? offsets[i + 1] : end;
    const auto guard = mapped_.subspan(offsets[i] + sizes[i], next - offsets[i] - sizes[i]);
    if (!std::ranges::all_of(guard, [](std::byte each) { return each == guard_byte; })) {
      return Error{.code = Errc::out_of_range,
                   .message = "kernel '" + launch.kernel + "' wrote behind buffer " + std::to_string(i)};
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Runner>> make_vulkan_runner(const KernelLibrary& library) {
  // Opened once a process: drivers take their time.
  static const Result<std::unique_ptr<VulkanDevice>> device = VulkanDevice::open();
  if (!device) return device.error();
  auto runner = std::make_unique<VulkanRunner>(**device, library);
  if (auto ok = runner->prepare(); !ok) return ok.error();
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace pianola::kernel_test

// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/kernels.hpp"

#include <dispatch/dispatch.h>
#include <fmt/format.h>

#include <optional>

#include "backend/metal/convert.hpp"

namespace pianola::backend::metal {
namespace {

/// The object that holds this kernel's Metal code, and its name there. Compiled code goes before text.
struct Found {
  size_t object = 0;
  const std::string* symbol = nullptr;
};
std::optional<Found> find_code(const KernelLibrary& library, uint32_t entry) {
  std::optional<Found> found;
  const auto objects = library.objects();
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].format != ObjectFormat::msl && objects[i].format != ObjectFormat::metallib) continue;
    if (found && objects[i].format == ObjectFormat::msl) continue;
    for (const auto& candidate : objects[i].entries) {
      if (candidate.kernel == entry) found = {i, &candidate.symbol};
    }
  }
  return found;
}

Ref<id<MTLLibrary>> library_from_bytes(id<MTLDevice> device, std::span<const std::byte> bytes, NSError** error) {
  dispatch_data_t data = dispatch_data_create(bytes.data(), bytes.size(), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  if (data == nil) return {};
  Ref<id<MTLLibrary>> library([device newLibraryWithData:data error:error]);
  dispatch_release(data);
  return library;
}

}  // namespace

Result<id<MTLLibrary>> PipelineCache::load(Loaded& loaded, size_t index, const std::string& kernel) {
  auto& object = loaded.objects[index];
  if (object.library) return object.library.get();
  const CodeObject& code = loaded.library.objects()[index];
  NSError* error = nil;
  if (code.format == ObjectFormat::metallib) {
    object.library = library_from_bytes(device_, code.bytes, &error);
    if (object.library) return object.library.get();
    return call_error(Errc::compile_failed, "newLibraryWithData", fmt::format("kernel '{}': metallib", kernel), error);
  }
  const auto source = to_ns_string({reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()});
  MTLCompileOptions* options = [[MTLCompileOptions new] autorelease];
  // The same floats as elsewhere, within the stated accuracy. What newer systems have instead, older ones lack.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  options.fastMathEnabled = NO;
#pragma clang diagnostic pop
  object.library = Ref<id<MTLLibrary>>([device_ newLibraryWithSource:source.get() options:options error:&error]);
  if (object.library) return object.library.get();
  return call_error(Errc::compile_failed, "newLibraryWithSource", fmt::format("kernel '{}'", kernel), error);
}

Result<std::shared_ptr<const Pipeline>> PipelineCache::make(Loaded& loaded, uint32_t entry) {
  const KernelInfo& info = loaded.library.kernels()[entry];
  const auto code = find_code(loaded.library, entry);
  if (!code) {
    return Error{.code = Errc::missing_kernel,
                 .message = fmt::format("kernel '{}' has no Metal code in its library", info.name)};
  }
  const auto library = load(loaded, code->object, info.name);
  if (!library) return library.error();
  auto pipeline = std::make_shared<Pipeline>();
  pipeline->function = Ref<id<MTLFunction>>([*library newFunctionWithName:to_ns_string(*code->symbol).get()]);
  if (!pipeline->function) {
    return call_error(Errc::missing_kernel, "newFunctionWithName",
                      fmt::format("kernel '{}': its Metal code has no function '{}'", info.name, *code->symbol), nil);
  }
  NSError* error = nil;
  pipeline->state =
      Ref<id<MTLComputePipelineState>>([device_ newComputePipelineStateWithFunction:pipeline->function.get()
                                                                              error:&error]);
  if (!pipeline->state) {
    return call_error(Errc::compile_failed, "newComputePipelineStateWithFunction",
                      fmt::format("kernel '{}'", info.name), error);
  }
  pipeline->threads = to_size(info.workgroup);
  pipeline->dynamic_shared_bytes = (NSUInteger{info.dynamic_shared_bytes} + 15) / 16 * 16;
  const uint64_t threads = pipeline->threads.width * pipeline->threads.height * pipeline->threads.depth;
  const uint64_t most = [pipeline->state.get() maxTotalThreadsPerThreadgroup];
  if (threads > most) {
    return Error{.code = Errc::limit_exceeded,
                 .message = fmt::format("kernel '{}' has workgroups of {} threads, its pipeline takes at most {}",
                                        info.name, threads, most)};
  }
  const uint64_t shared = [pipeline->state.get() staticThreadgroupMemoryLength] + pipeline->dynamic_shared_bytes;
  if (shared > [device_ maxThreadgroupMemoryLength]) {
    return Error{.code = Errc::limit_exceeded,
                 .message = fmt::format("kernel '{}' needs {} bytes of threadgroup memory, the device has {}",
                                        info.name, shared, [device_ maxThreadgroupMemoryLength])};
  }
  return std::shared_ptr<const Pipeline>(std::move(pipeline));
}

Result<std::shared_ptr<const Pipeline>> PipelineCache::get(const KernelLibrary& library, uint32_t entry) {
  const std::lock_guard lock(mutex_);
  Loaded& loaded = loaded_[library.data()];
  if (loaded.pipelines.empty()) {
    loaded.library = library;
    loaded.pipelines.resize(library.kernels().size());
  }
  auto& known = loaded.pipelines[entry];
  if (known) return known;
  @autoreleasepool {
    auto made = make(loaded, entry);
    if (made) known = *made;
    return made;
  }
}

}  // namespace pianola::backend::metal

// SPDX-License-Identifier: Apache-2.0
#include "format/kernel_library_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "format/kernel_library_check.hpp"
#include "format/kernel_library_file.hpp"
#include "kernel_library_generated.h"

namespace pianola::format {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

uint64_t aligned(uint64_t size) {
  return (size + section_alignment - 1) / section_alignment * section_alignment;
}

Offset<Kernel> add_kernel(FlatBufferBuilder& builder, const KernelInfo& kernel) {
  std::vector<Offset<Binding>> bindings;
  bindings.reserve(kernel.bindings.size());
  for (const KernelBinding& binding : kernel.bindings) {
    bindings.push_back(CreateBinding(builder, builder.CreateString(binding.name), binding.set, binding.binding,
                                     static_cast<uint8_t>(binding.access), binding.element_size));
  }
  std::vector<Offset<Constant>> constants;
  constants.reserve(kernel.constants.size());
  for (const KernelConstant& constant : kernel.constants) {
    constants.push_back(CreateConstant(builder, builder.CreateString(constant.name), constant.offset, constant.size));
  }
  const Workgroup workgroup(kernel.workgroup[0], kernel.workgroup[1], kernel.workgroup[2]);
  const auto name = builder.CreateString(kernel.name);
  const auto binding_list = builder.CreateVector(bindings);
  const auto constant_list = builder.CreateVector(constants);
  const auto order = builder.CreateVector(kernel.argument_order);
  return CreateKernel(builder, name, binding_list, constant_list, kernel.constant_bytes, &workgroup,
                      kernel.shared_bytes, kernel.opaque, kernel.may_alias, order, kernel.dynamic_shared_bytes);
}

Offset<Object> add_object(FlatBufferBuilder& builder, const ObjectContents& object, uint64_t offset) {
  std::vector<Offset<Entry>> entries;
  entries.reserve(object.entries.size());
  for (const CodeObject::Entry& entry : object.entries) {
    entries.push_back(CreateEntry(builder, entry.kernel, builder.CreateString(entry.symbol)));
  }
  const auto arch = builder.CreateString(object.arch);
  const auto entry_list = builder.CreateVector(entries);
  FlatBufferBuilder& b = builder;
  return CreateObject(b, static_cast<uint8_t>(object.format), arch, offset, object.bytes.size(), entry_list);
}

/// The table, for objects that start at `first_section`.
void build_table(FlatBufferBuilder& builder, const LibraryContents& contents, uint64_t first_section) {
  builder.ForceDefaults(true);  // so that its size does not depend on the offsets
  std::vector<Offset<Kernel>> kernels;
  kernels.reserve(contents.kernels.size());
  for (const KernelInfo& kernel : contents.kernels) kernels.push_back(add_kernel(builder, kernel));
  std::vector<Offset<Object>> objects;
  objects.reserve(contents.objects.size());
  uint64_t at = first_section;
  for (const ObjectContents& object : contents.objects) {
    objects.push_back(add_object(builder, object, at));
    at += aligned(object.bytes.size());
  }
  const auto name = builder.CreateString(contents.name);
  const auto kernel_list = builder.CreateVector(kernels);
  const auto object_list = builder.CreateVector(objects);
  builder.Finish(CreateLibrary(builder, name, kernel_list, object_list));
}

Result<> check(const LibraryContents& contents) {
  if (auto ok = check_kernels(contents.kernels, Errc::invalid_argument); !ok) return ok;
  for (const ObjectContents& object : contents.objects) {
    auto ok = check_object(object.format, object.arch, object.entries, contents.kernels, Errc::invalid_argument);
    if (!ok) return ok;
    if (object.bytes.empty()) {
      return Error{.code = Errc::invalid_argument,
                   .message = fmt::format("the {} object for {} is empty", to_string(object.format), object.arch)};
    }
  }
  return {};
}

std::vector<std::byte> assemble(const LibraryContents& contents) {
  FlatBufferBuilder measured;
  build_table(measured, contents, 0);
  const uint64_t first_section = aligned(sizeof(LibraryHeader) + measured.GetSize());
  FlatBufferBuilder table;
  build_table(table, contents, first_section);

  LibraryHeader header;
  for (const KernelInfo& kernel : contents.kernels) {
    if (!kernel.argument_order.empty()) header.version = std::max(header.version, LibraryHeader::with_argument_order);
    if (kernel.dynamic_shared_bytes > 0) header.version = std::max(header.version, LibraryHeader::with_dynamic_shared);
  }
  header.table_offset = sizeof(LibraryHeader);
  header.table_size = table.GetSize();
  header.file_size = first_section;
  for (const ObjectContents& object : contents.objects) header.file_size += aligned(object.bytes.size());

  std::vector<std::byte> image(header.file_size);
  std::memcpy(image.data(), &header, sizeof(header));
  std::memcpy(image.data() + header.table_offset, table.GetBufferPointer(), table.GetSize());
  uint64_t at = first_section;
  for (const ObjectContents& object : contents.objects) {
    std::ranges::copy(object.bytes, image.begin() + static_cast<std::ptrdiff_t>(at));
    at += aligned(object.bytes.size());
  }
  header.hash = hash_of_image(image);
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

}  // namespace

Result<std::vector<std::byte>> write_library(const LibraryContents& contents) {
  try {
    if (auto ok = check(contents); !ok) return ok.error();
    return assemble(contents);
  } catch (const std::bad_alloc&) {
    return Error{.code = Errc::out_of_memory, .message = "no memory for a kernel library's image"};
  }
}

}  // namespace pianola::format

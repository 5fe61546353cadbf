// SPDX-License-Identifier: Apache-2.0
// Reads the bytes of a kernel library. Nothing of them is trusted before it was checked.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "format/kernel_library_check.hpp"
#include "format/kernel_library_data.hpp"
#include "format/kernel_library_file.hpp"
#include "kernel_library_generated.h"

namespace pianola::format {
namespace {

using Bytes = std::span<const std::byte>;

template <class... Args>
Error corrupt(fmt::format_string<Args...> text, Args&&... args) {
  return {.code = Errc::corrupt, .message = "kernel library: " + fmt::format(text, std::forward<Args>(args)...)};
}

std::string text_of(const flatbuffers::String* string) {
  return string == nullptr ? std::string() : std::string(string->c_str(), string->size());
}

template <class T>
uint32_t count_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// The frame: magic, version, sizes, hash.
Result<LibraryHeader> read_header(Bytes image) {
  LibraryHeader header;
  if (image.size() < sizeof(header)) {
    return corrupt("{} bytes are too few, a header has {}", image.size(), sizeof(header));
  }
  std::memcpy(&header, image.data(), sizeof(header));
  if (header.magic != LibraryHeader::library_magic) return corrupt("this is none, its first 8 bytes are others");
  if (header.version == 0 || header.version > LibraryHeader::current_version) {
    return Error{.code = Errc::version,
                 .message = fmt::format("kernel library: version {} of the format, this Pianola reads up to {}",
                                        header.version, LibraryHeader::current_version)};
  }
  if (header.file_size != image.size()) {
    return corrupt("{} bytes, its header says {}", image.size(), header.file_size);
  }
  if (const uint64_t hash = hash_of_image(image); hash != header.hash) {
    return corrupt("damaged, its hash is {:016x} and should be {:016x}", hash, header.hash);
  }
  const bool fits = header.table_offset % 8 == 0 && header.table_offset >= sizeof(header) &&
                    header.table_offset <= image.size() && header.table_size <= image.size() - header.table_offset;
  if (header.header_size != sizeof(header) || !fits) return corrupt("its table lies outside the file");
  return header;
}

KernelInfo kernel_of(const Kernel& table) {
  KernelInfo kernel;
  kernel.name = text_of(table.name());
  for (uint32_t i = 0; i < count_of(table.bindings()); ++i) {
    const Binding& binding = *table.bindings()->Get(i);
    kernel.bindings.push_back({.name = text_of(binding.name()),
                               .set = binding.set(),
                               .binding = binding.binding(),
                               .access = static_cast<Access>(binding.access()),
                               .element_size = binding.element_size()});
  }
  for (uint32_t i = 0; i < count_of(table.constants()); ++i) {
    const Constant& constant = *table.constants()->Get(i);
    kernel.constants.push_back(
        {.name = text_of(constant.name()), .offset = constant.offset(), .size = constant.size()});
  }
  kernel.constant_bytes = table.constant_bytes();
  if (const Workgroup* workgroup = table.workgroup(); workgroup != nullptr) {
    kernel.workgroup = {workgroup->x(), workgroup->y(), workgroup->z()};
  }
  kernel.shared_bytes = table.shared_bytes();
  kernel.dynamic_shared_bytes = table.dynamic_shared_bytes();
  kernel.opaque = table.opaque();
  kernel.may_alias = table.may_alias();
  for (uint32_t i = 0; i < count_of(table.argument_order()); ++i) {
    kernel.argument_order.push_back(table.argument_order()->Get(i));
  }
  return kernel;
}

Result<CodeObject> object_of(const Object& table, Bytes image, std::span<const KernelInfo> kernels) {
  if (table.format() > static_cast<uint8_t>(ObjectFormat::metallib)) {
    return corrupt("an object has the unknown format {}", table.format());
  }
  CodeObject object{.format = static_cast<ObjectFormat>(table.format()), .arch = text_of(table.arch())};
  if (table.size() == 0 || table.offset() > image.size() || table.size() > image.size() - table.offset() ||
      table.offset() % section_alignment != 0) {
    return corrupt("the {} object for {} lies at {} with {} bytes, the file has {}", to_string(object.format),
                   object.arch, table.offset(), table.size(), image.size());
  }
  object.bytes = image.subspan(table.offset(), table.size());
  for (uint32_t i = 0; i < count_of(table.entries()); ++i) {
    const Entry& entry = *table.entries()->Get(i);
    object.entries.push_back({.kernel = entry.kernel(), .symbol = text_of(entry.symbol())});
  }
  auto ok = check_object(object.format, object.arch, object.entries, kernels, Errc::corrupt);
  if (!ok) return ok.error();
  return object;
}

Result<> read_table(const Library& table, Bytes image, KernelLibrary::Data& data) {
  data.name = text_of(table.name());
  for (uint32_t i = 0; i < count_of(table.kernels()); ++i) data.kernels.push_back(kernel_of(*table.kernels()->Get(i)));
  if (auto ok = check_kernels(data.kernels, Errc::corrupt); !ok) return ok;
  data.by_name.resize(data.kernels.size());
  std::iota(data.by_name.begin(), data.by_name.end(), 0U);
  std::ranges::sort(data.by_name, {}, [&](uint32_t index) -> const std::string& { return data.kernels[index].name; });
  for (uint32_t i = 0; i < count_of(table.objects()); ++i) {
    auto object = object_of(*table.objects()->Get(i), image, data.kernels);
    if (!object) return object.error();
    data.objects.push_back(std::move(*object));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const KernelLibrary::Data>> read_library(std::unique_ptr<std::byte[]> image, size_t size) {
  const Bytes bytes(image.get(), size);
  const auto header = read_header(bytes);
  if (!header) return header.error();
  const auto* at = reinterpret_cast<const uint8_t*>(bytes.data() + header->table_offset);
  flatbuffers::Verifier verifier(at, header->table_size);
  if (header->table_size > FLATBUFFERS_MAX_BUFFER_SIZE || !VerifyLibraryBuffer(verifier)) {
    return corrupt("its table is malformed");
  }
  auto data = std::make_shared<KernelLibrary::Data>();
  data->hash = header->hash;
  if (auto ok = read_table(*GetLibrary(at), bytes, *data); !ok) return ok.error();
  data->image = std::move(image);
  return std::shared_ptr<const KernelLibrary::Data>(std::move(data));
}

}  // namespace pianola::format

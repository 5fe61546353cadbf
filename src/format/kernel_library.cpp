// SPDX-License-Identifier: Apache-2.0
// The public face of a kernel library.
#include "pianola/kernel_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "format/kernel_library_data.hpp"

namespace pianola {
namespace {

struct Image {
  std::unique_ptr<std::byte[]> bytes;
  size_t size = 0;
};

Error io_error(const std::string& path, std::string_view what) {
  return {.code = Errc::io, .message = fmt::format("kernel library {}: {}: {}", path, what, std::strerror(errno))};
}

Error no_memory(size_t size) {
  return {.code = Errc::out_of_memory, .message = fmt::format("no memory for a kernel library of {} bytes", size)};
}

Result<Image> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return io_error(path, "cannot open");
  if (std::fseek(file.get(), 0, SEEK_END) != 0) return io_error(path, "cannot find its size");
  const long size = std::ftell(file.get());
  if (size == std::numeric_limits<long>::max()) errno = EISDIR;  // what a folder tells on Linux
  if (size < 0 || size == std::numeric_limits<long>::max()) return io_error(path, "cannot find its size");
  if (std::fseek(file.get(), 0, SEEK_SET) != 0) return io_error(path, "cannot read");
  Image image{.bytes = nullptr, .size = static_cast<size_t>(size)};
  image.bytes.reset(new (std::nothrow) std::byte[image.size]);
  if (image.bytes == nullptr) return no_memory(image.size);
  if (std::fread(image.bytes.get(), 1, image.size, file.get()) != image.size) return io_error(path, "cannot read");
  return image;
}

Result<KernelLibrary> library_of(Image image) {
  const size_t size = image.size;
  try {
    auto data = format::read_library(std::move(image.bytes), size);
    if (!data) return data.error();
    return KernelLibrary(std::move(*data));
  } catch (const std::bad_alloc&) {
    return no_memory(size);
  }
}

}  // namespace

Result<KernelLibrary> KernelLibrary::load(const std::string& path) {
  auto image = read_file(path);
  if (!image) return image.error();
  auto library = library_of(std::move(*image));
  if (!library) {
    Error error = library.error();
    error.message = fmt::format("{}: {}", path, error.message);
    return error;
  }
  return library;
}

Result<KernelLibrary> KernelLibrary::from_bytes(std::span<const std::byte> image) {
  Image copy{.bytes = nullptr, .size = image.size()};
  copy.bytes.reset(new (std::nothrow) std::byte[image.size()]);
  if (copy.bytes == nullptr) return no_memory(image.size());
  std::ranges::copy(image, copy.bytes.get());
  return library_of(std::move(copy));
}

Kernel KernelLibrary::operator[](std::string_view name) const {
  if (const auto entry = find(name); entry) return {*this, *entry, {}};
  return {*this, Kernel::no_entry, std::string(name)};
}

std::optional<uint32_t> KernelLibrary::find(std::string_view name) const {
  if (data_ == nullptr) return std::nullopt;
  const auto name_of = [&](uint32_t index) -> std::string_view { return data_->kernels[index].name; };
  const auto at = std::ranges::lower_bound(data_->by_name, name, {}, name_of);
  if (at == data_->by_name.end() || name_of(*at) != name) return std::nullopt;
  return *at;
}

std::span<const KernelInfo> KernelLibrary::kernels() const {
  return data_ == nullptr ? std::span<const KernelInfo>() : data_->kernels;
}

std::span<const CodeObject> KernelLibrary::objects() const {
  return data_ == nullptr ? std::span<const CodeObject>() : data_->objects;
}

uint64_t KernelLibrary::hash() const {
  return data_ == nullptr ? 0 : data_->hash;
}

std::string_view KernelLibrary::name() const {
  return data_ == nullptr ? std::string_view() : data_->name;
}

Kernel::Kernel(KernelLibrary library, uint32_t entry, std::string missing_name)
    : library_(std::move(library)),
      entry_(entry < library_.kernels().size() ? entry : no_entry),
      missing_name_(std::move(missing_name)) {}

}  // namespace pianola

// SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include <stb_image.h>
#include <stb_image_write.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

// The library exports it, but its header declares it only beside the implementation.
extern "C" unsigned char* stbi_write_png_to_mem(const unsigned char* pixels, int stride_bytes, int width, int height,
                                                int channels, int* size);

namespace upscale {
namespace {

using pianola::Errc;
using pianola::Error;
using pianola::Result;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

Error io_error(const std::string& what, const std::string& path, int code) {
  return {Errc::io, what + " '" + path + "': " + std::strerror(code), {}, {}, 0};
}

/// 0, or the error number. The file is closed either way, since closing may be what finds the disk full.
int write_and_close(File file, std::span<const std::byte> bytes) {
  int code = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size() ? 0 : errno;
  if (std::fflush(file.get()) != 0 && code == 0) code = errno;
  if (std::fclose(file.release()) != 0 && code == 0) code = errno;
  return code;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) return io_error("cannot read", path, EISDIR);
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) return io_error("cannot read", path, errno);
  std::string text;
  std::vector<char> block(size_t{1} << 16);
  for (size_t got = 0; (got = std::fread(block.data(), 1, block.size(), file.get())) != 0;) {
    text.append(block.data(), got);
  }
  if (std::ferror(file.get()) != 0) return io_error("cannot read", path, errno);
  return text;
}

Result<> write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::error_code status;
  const bool in_place = std::filesystem::exists(path, status) && !std::filesystem::is_regular_file(path, status);
  const std::string target = in_place ? path : path + ".part" + std::to_string(getpid());
  File file(std::fopen(target.c_str(), "wb"));
  if (!file) return io_error("cannot write", path, errno);
  int code = write_and_close(std::move(file), bytes);
  if (!in_place) {
    if (code == 0 && std::rename(target.c_str(), path.c_str()) != 0) code = errno;
    if (code != 0) std::remove(target.c_str());
  }
  if (code != 0) return io_error("cannot write", path, code);
  return {};
}

Result<Image> read_image(const std::string& path) {
  const Result<std::string> file = read_file(path);
  if (!file) return file.error();
  if (file->size() > std::numeric_limits<int>::max()) {
    return Error{Errc::corrupt, "'" + path + "' is too big for a picture: " + std::to_string(file->size()) + " bytes"};
  }
  int width = 0;
  int height = 0;
  int channels = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(file->data());
  const std::unique_ptr<unsigned char, FreeMemory> pixels(
      stbi_load_from_memory(bytes, static_cast<int>(file->size()), &width, &height, &channels, 3));
  if (!pixels) return Error{Errc::corrupt, "'" + path + "' is not a picture: " + stbi_failure_reason()};
  Image image(static_cast<uint32_t>(width), static_cast<uint32_t>(height));
  std::memcpy(image.rgb.data(), pixels.get(), image.rgb.size());
  return image;
}

Result<> write_png(const std::string& path, const Image& image) {
  int size = 0;
  const int width = static_cast<int>(image.width);
  const std::unique_ptr<unsigned char, FreeMemory> png(
      stbi_write_png_to_mem(image.rgb.data(), 3 * width, width, static_cast<int>(image.height), 3, &size));
  if (!png) return Error{Errc::out_of_memory, "no memory to encode '" + path + "'"};
  return write_file(path, std::as_bytes(std::span(png.get(), static_cast<size_t>(size))));
}

}  // namespace upscale

// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace pianola::kernel_build {
namespace {

Error io_error(const std::string& path, std::string_view what) {
  return {.code = Errc::io, .message = fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// Also where one of them does not exist yet.
bool are_one_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code code;
  if (fs::equivalent(a, b, code)) return true;
  const fs::path first = fs::weakly_canonical(fs::absolute(a, code), code);
  return !first.empty() && first == fs::weakly_canonical(fs::absolute(b, code), code);
}

Result<> check_output(const std::string& path, std::span<const std::string> inputs) {
  namespace fs = std::filesystem;
  std::error_code code;
  for (const std::string& input : inputs) {
    if (!are_one_file(path, input)) continue;
    return Error{.code = Errc::invalid_argument, .message = fmt::format("{} would be written over {}", path, input)};
  }
  const fs::file_type type = fs::status(path, code).type();
  if (type == fs::file_type::directory) return Error{.code = Errc::io, .message = path + " is a folder"};
  const bool is_replaced = type == fs::file_type::regular || type == fs::file_type::not_found;
  std::string written = path;
  if (is_replaced) {
    const fs::path target = fs::is_symlink(path, code) ? fs::weakly_canonical(path, code) : fs::path(path);
    written = target.has_parent_path() ? target.parent_path().string() : ".";
  }
  if (access(written.c_str(), W_OK) == 0) return {};
  return io_error(written, fmt::format("cannot write {}", path));
}

template <class Container>
Result<Container> read_whole(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return io_error(path, "cannot open");
  // In blocks, since what is no regular file has no size, and a folder tells a wrong one.
  constexpr size_t block = size_t{1} << 20U;
  Container contents;
  for (size_t read = 0;; contents.resize(read)) {
    contents.resize(read + block);
    const size_t count = std::fread(reinterpret_cast<char*>(contents.data()) + read, 1, block, file.get());
    read += count;
    if (count == block) continue;
    if (std::ferror(file.get()) != 0) return io_error(path, "cannot read");
    contents.resize(read);
    break;
  }
  return contents;
}

Result<> write_directly(const std::string& path, std::span<const std::byte> bytes) {
  File file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (file == nullptr) return io_error(path, "cannot write");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  const bool closed = std::fclose(file.release()) == 0;
  if (!written || !closed) return io_error(path, "cannot write");
  return {};
}

Result<> replace(const std::string& path, std::span<const std::byte> bytes) {
  const std::string beside = fmt::format("{}.{}.part", path, getpid());
  Result<> done = write_directly(beside, bytes);
  if (done && std::rename(beside.c_str(), path.c_str()) != 0) done = io_error(path, "cannot write");
  if (!done) std::remove(beside.c_str());
  return done;
}

std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == ' ' || c == '#') text += '\\';
    text += c;
    if (c == '$') text += '$';
  }
  return text;
}

}  // namespace

Result<std::vector<std::byte>> read_bytes(const std::string& path) {
  return read_whole<std::vector<std::byte>>(path);
}

Result<std::string> read_text(const std::string& path) {
  return read_whole<std::string>(path);
}

Result<> write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  namespace fs = std::filesystem;
  std::error_code code;
  const bool is_link = fs::is_symlink(path, code);
  const fs::file_type type = fs::status(path, code).type();  // of what a link points to
  const bool is_new = type == fs::file_type::not_found && !is_link;
  if (!is_new && type != fs::file_type::regular) return write_directly(path, bytes);
  if (!is_link) return replace(path, bytes);
  const fs::path target = fs::canonical(path, code);
  if (code) return Error{.code = Errc::io, .message = fmt::format("{}: {}", path, code.message())};
  return replace(target.string(), bytes);
}

Result<> check_outputs(const std::string& output, const std::string& depfile, std::span<const std::string> inputs) {
  if (auto ok = check_output(output, inputs); !ok || depfile.empty()) return ok;
  std::vector<std::string> taken(inputs.begin(), inputs.end());
  taken.push_back(output);
  return check_output(depfile, taken);
}

Result<> write_make_rule(const std::string& depfile, const std::string& output, std::span<const std::string> files) {
  if (depfile.empty()) return {};
  std::string rule = escaped(output) + ":";
  for (const std::string& file : files) rule += " \\\n  " + escaped(file);
  rule += "\n";
  return write_bytes(depfile, std::as_bytes(std::span(rule)));
}

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code code;
  std::string name = (std::filesystem::temp_directory_path(code) / "pianola-kernel-XXXXXX").string();
  if (code || mkdtemp(name.data()) == nullptr) return io_error(name, "cannot make a temporary folder");
  return TemporaryFolder(std::move(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace pianola::kernel_build

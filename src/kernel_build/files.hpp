// SPDX-License-Identifier: Apache-2.0
// Whole files in and out, and a folder that removes itself.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "pianola/error.hpp"

namespace pianola::kernel_build {

Result<std::vector<std::byte>> read_bytes(const std::string& path);
Result<std::string> read_text(const std::string& path);

/// Writes beside the file and renames, so that nobody sees half of it; a link's file stays where the link points.
/// What is no regular file, such as a pipe, is written to directly.
Result<> write_bytes(const std::string& path, std::span<const std::byte> bytes);

/// Whether `output` and `depfile` (none if empty) can be written: their folders exist and they are neither each other,
/// nor folders, nor one of the files that are read. Errors: invalid_argument, io.
Result<> check_outputs(const std::string& output, const std::string& depfile, std::span<const std::string> inputs);

/// "output: files" for make and ninja, written to `depfile`; none if that is empty.
Result<> write_make_rule(const std::string& depfile, const std::string& output, std::span<const std::string> files);

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace pianola::kernel_build

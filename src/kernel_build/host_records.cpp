// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/host_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernel_build/elf.hpp"
#include "pianola/kernel_abi.h"

namespace pianola::kernel_build {
namespace {

using Bytes = std::span<const std::byte>;

Error corrupt(std::string_view what) {
  return {.code = Errc::corrupt, .message = fmt::format("host object: {}", what)};
}

template <size_t size>
std::string text_of(const char (&text)[size]) {
  return {text, strnlen(text, size)};
}

/// What an argument needs does not always fit into the 32 bits that a library has for it.
struct Sizes {
  uint64_t constants = 0;
  uint64_t shared = 0;
  uint64_t thread_private = 0;
};

void add_argument(DialectKernel& kernel, const pianola_argument_record& argument, Sizes& sizes) {
  using Kind = Declaration::Kind;
  // Twice what fits; sums of these fit into 64 bits, however many there are.
  const uint64_t size = std::min(uint64_t{argument.size} * argument.count, uint64_t{1} << 33U);
  KernelInfo& info = kernel.info;
  Declaration declaration{
      .kind = Kind::buffer, .name = text_of(argument.name), .type = text_of(argument.type), .count = argument.count};
  switch (argument.kind) {
    case pianola_argument_buffer:
      declaration.index = static_cast<uint32_t>(info.bindings.size());
      info.bindings.push_back({.name = declaration.name,
                               .set = argument.set,
                               .binding = argument.binding,
                               .access = static_cast<Access>(argument.access),
                               .element_size = argument.size});
      break;
    case pianola_argument_constant:
      declaration.kind = Kind::constant;
      declaration.is_array = argument.is_array != 0;
      info.constants.push_back(
          {.name = declaration.name, .offset = argument.offset, .size = static_cast<uint32_t>(size)});
      sizes.constants += size;
      break;
    case pianola_argument_shared:
      declaration.kind = Kind::shared;
      sizes.shared += size;
      break;
    case pianola_argument_private:
      declaration.kind = Kind::thread_private;
      declaration.is_array = argument.is_array != 0;
      sizes.thread_private += size;
      break;
    case pianola_argument_opaque: info.opaque = true; return;
    case pianola_argument_may_alias: info.may_alias = true; return;
    default: return;
  }
  kernel.declarations.push_back(std::move(declaration));
}

Error too_much(const DialectKernel& kernel, uint64_t size, std::string_view what, uint64_t limit) {
  return {.code = Errc::limit_exceeded,
          .message =
              fmt::format("kernel '{}': {} bytes of {}, at most {} are possible", kernel.info.name, size, what, limit)};
}

Result<DialectKernel> read_record(Bytes bytes) {
  pianola_kernel_record record;
  std::memcpy(&record, bytes.data(), sizeof(record));
  DialectKernel kernel;
  Sizes sizes;
  kernel.info.name = text_of(record.name);
  kernel.info.workgroup = {record.workgroup[0], record.workgroup[1], record.workgroup[2]};
  kernel.info.constant_bytes = record.constant_bytes;
  for (uint32_t i = 0; i < record.argument_count; ++i) {
    pianola_argument_record argument;
    std::memcpy(&argument, bytes.data() + sizeof(record) + i * sizeof(argument), sizeof(argument));
    add_argument(kernel, argument, sizes);
  }
  if (sizes.constants > max_constant_bytes) return too_much(kernel, sizes.constants, "constants", max_constant_bytes);
  if (sizes.shared > UINT32_MAX) return too_much(kernel, sizes.shared, "workgroup memory", UINT32_MAX);
  kernel.info.shared_bytes = static_cast<uint32_t>(sizes.shared);
  uint64_t threads = 1;
  for (const uint32_t side : kernel.info.workgroup) threads = std::min<uint64_t>(threads * side, 1024);  // the limit
  kernel.host_bytes = sizes.shared + std::min(sizes.thread_private, uint64_t{1} << 40U) * threads;
  return kernel;
}

/// The record at the start of `bytes`, or an error if it is none.
Result<uint32_t> size_of_record(Bytes bytes) {
  pianola_kernel_record record;
  if (bytes.size() < sizeof(record)) return corrupt("a kernel's record is cut short");
  std::memcpy(&record, bytes.data(), sizeof(record));
  if (record.magic != pianola_kernel_magic) return corrupt("a kernel's record has the wrong first word");
  if (record.abi != pianola_host_abi_version) {
    return Error{.code = Errc::version,
                 .message = fmt::format("host object: interface version {}, this Pianola knows {}", record.abi,
                                        static_cast<uint32_t>(pianola_host_abi_version))};
  }
  const uint64_t size = sizeof(record) + uint64_t{record.argument_count} * sizeof(pianola_argument_record);
  if (record.size != size || size > bytes.size()) return corrupt("a kernel's record has the wrong size");
  return record.size;
}

}  // namespace

Result<std::vector<DialectKernel>> read_host_records(Bytes object) {
  const auto elf = read_elf(object);
  if (!elf) return elf.error();
  const ElfSection* section = elf->find(host_record_section);
  if (section == nullptr) return corrupt("it holds no kernel of the portable dialect");
  std::vector<DialectKernel> kernels;
  Bytes rest = section->bytes;
  constexpr uint32_t zero = 0;
  while (!rest.empty()) {
    // The linker may pad between records.
    if (rest.size() >= sizeof(zero) && std::memcmp(rest.data(), &zero, sizeof(zero)) == 0) {
      rest = rest.subspan(sizeof(zero));
      continue;
    }
    const auto size = size_of_record(rest);
    if (!size) return size.error();
    auto kernel = read_record(rest.first(*size));
    if (!kernel) return kernel.error();
    kernels.push_back(std::move(*kernel));
    rest = rest.subspan(*size);
  }
  return kernels;
}

}  // namespace pianola::kernel_build

// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/host_records.hpp"

#include <fmt/format.h>

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

void add_argument(DialectKernel& kernel, const pianola_argument_record& argument) {
  using Kind = Declaration::Kind;
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
          {.name = declaration.name, .offset = argument.offset, .size = argument.size * argument.count});
      break;
    case pianola_argument_shared:
      declaration.kind = Kind::shared;
      info.shared_bytes += argument.size * argument.count;
      break;
    case pianola_argument_private:
      declaration.kind = Kind::thread_private;
      declaration.is_array = argument.is_array != 0;
      break;
    case pianola_argument_opaque: info.opaque = true; return;
    case pianola_argument_may_alias: info.may_alias = true; return;
    default: return;
  }
  kernel.declarations.push_back(std::move(declaration));
}

Result<DialectKernel> read_record(Bytes bytes) {
  pianola_kernel_record record;
  std::memcpy(&record, bytes.data(), sizeof(record));
  DialectKernel kernel;
  kernel.info.name = text_of(record.name);
  kernel.info.workgroup = {record.workgroup[0], record.workgroup[1], record.workgroup[2]};
  kernel.info.constant_bytes = record.constant_bytes;
  for (uint32_t i = 0; i < record.argument_count; ++i) {
    pianola_argument_record argument;
    std::memcpy(&argument, bytes.data() + sizeof(record) + i * sizeof(argument), sizeof(argument));
    add_argument(kernel, argument);
  }
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

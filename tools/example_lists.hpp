// SPDX-License-Identifier: Apache-2.0
// Built-in command lists of typical shapes, for `show plan` and `bench`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "pianola/command_buffer.hpp"
#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace tool {

struct ExampleList {
  std::string_view name;
  std::string_view description;
  uint32_t default_size;  ///< repetitions of its repeating part
  pianola::Result<pianola::CommandBuffer> (*record)(const pianola::KernelLibrary& kernels, uint32_t size);
};

std::span<const ExampleList> example_lists();
const ExampleList* find_example_list(std::string_view name);

/// The kernels that the lists dispatch; a part of this program.
pianola::Result<pianola::KernelLibrary> example_kernels();

}  // namespace tool

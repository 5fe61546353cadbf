// SPDX-License-Identifier: Apache-2.0
// What must hold of a kernel library's contents, whoever made them. Reader and writer share it.
#pragma once

#include <span>

#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::format {

inline constexpr uint32_t max_element_size = 4096;  ///< bytes of an element of a binding

/// Names, order, limits and layouts of kernels. Every error has the code `code`.
Result<> check_kernels(std::span<const KernelInfo> kernels, Errc code);

/// Architecture names and entries of one object. Every error has the code `code`.
Result<> check_object(ObjectFormat format, std::string_view arch, std::span<const CodeObject::Entry> entries,
                      std::span<const KernelInfo> kernels, Errc code);

}  // namespace pianola::format

// SPDX-License-Identifier: Apache-2.0
// A kernel library: one file with every kernel for every target, and what each kernel's arguments are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pianola/error.hpp"
#include "pianola/types.hpp"

namespace pianola {

/// One buffer argument. Kernels take their bindings in (set, binding) order; numbers may have holes.
struct KernelBinding {
  std::string name;
  uint32_t set = 0;
  uint32_t binding = 0;
  Access access = Access::inout;
  uint32_t element_size = 1;  ///< bytes of one element; where a range may start on HIP, CUDA and Metal
};

/// One by-value argument: bytes [offset, offset + size) of the dispatch's constant block.
struct KernelConstant {
  std::string name;
  uint32_t offset = 0;
  uint32_t size = 4;
};

/// Everything a command buffer needs to know of a kernel. The same on every target.
struct KernelInfo {
  std::string name;
  std::vector<KernelBinding> bindings;    ///< in (set, binding) order
  std::vector<KernelConstant> constants;  ///< in offset order
  uint32_t constant_bytes = 0;            ///< size of the constant block
  /// How CUDA and HIP kernels take their arguments: below bindings.size() a binding, from there on a constant. Empty:
  /// bindings first, then constants.
  std::vector<uint32_t> argument_order;
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  uint32_t shared_bytes = 0;          ///< static workgroup memory
  uint32_t dynamic_shared_bytes = 0;  ///< workgroup memory that each launch adds; of packed kernels only
  bool opaque = false;                ///< follows stored pointers or uses device globals: conflicts with everything
  bool may_alias = false;             ///< a written binding may overlap another one
};

/// How an object's bytes are to be loaded.
enum class ObjectFormat : uint8_t { host, ptx, cubin, hsaco, spirv, msl, metallib };
std::string_view to_string(ObjectFormat format);

/// One piece of compiled code. It holds one or several kernels.
struct CodeObject {
  ObjectFormat format = ObjectFormat::host;
  std::string arch;  ///< "x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "sm_70", "gfx90a", "vulkan1.1", ...
  std::span<const std::byte> bytes;
  struct Entry {
    uint32_t kernel = 0;  ///< index into KernelLibrary::kernels()
    std::string symbol;   ///< the name to look up in the object
  };
  std::vector<Entry> entries;
};

class Kernel;

/// Immutable and cheap to copy; safe to use from any thread.
class KernelLibrary {
 public:
  KernelLibrary() = default;  ///< an empty library: every look-up gives a missing kernel

  /// Reads and verifies a library file. Errors: io, corrupt, version.
  static Result<KernelLibrary> load(const std::string& path);
  /// Verifies and copies a library image. Errors: corrupt, version.
  static Result<KernelLibrary> from_bytes(std::span<const std::byte> image);

  /// The kernel of that name. A name that isn't there gives a kernel whose dispatch reports
  /// `missing_kernel`, so that a recording script needs no check of its own.
  Kernel operator[](std::string_view name) const;
  std::optional<uint32_t> find(std::string_view name) const;

  std::span<const KernelInfo> kernels() const;
  std::span<const CodeObject> objects() const;
  uint64_t hash() const;  ///< xxHash64 of the image, its own hash field taken as zero
  std::string_view name() const;

  /// Same library image in memory (not: equal content).
  bool is_same(const KernelLibrary& other) const { return data_ == other.data_; }

  struct Data;
  explicit KernelLibrary(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data* data() const { return data_.get(); }

 private:
  std::shared_ptr<const Data> data_;
};

/// One entry of a library, or the name of one that isn't there.
class Kernel {
 public:
  Kernel() = default;
  /// An entry that the library lacks is a kernel that isn't there.
  Kernel(KernelLibrary library, uint32_t entry, std::string missing_name);

  static constexpr uint32_t no_entry = UINT32_MAX;
  bool is_present() const { return entry_ != no_entry; }
  const KernelLibrary& library() const { return library_; }
  uint32_t entry() const { return entry_; }
  const KernelInfo& info() const { return library_.kernels()[entry_]; }  ///< precondition: is_present()
  const std::string& missing_name() const { return missing_name_; }

 private:
  KernelLibrary library_;
  uint32_t entry_ = no_entry;
  std::string missing_name_;
};

}  // namespace pianola

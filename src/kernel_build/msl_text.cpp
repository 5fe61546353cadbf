// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/msl_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pianola::kernel_build {
namespace {

using Kind = Declaration::Kind;

constexpr size_t max_direct_buffers = 30;

/// Words of the Metal Shading Language and types of its standard library that a C++ kernel may use as names.
const std::vector<std::string>& reserved() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {"access",
                                    "array",
                                    "as_type",
                                    "atomic",
                                    "atomic_bool",
                                    "atomic_int",
                                    "atomic_uint",
                                    "bfloat",
                                    "constant",
                                    "device",
                                    "fragment",
                                    "imageblock",
                                    "kernel",
                                    "main",
                                    "mesh",
                                    "metal",
                                    "object",
                                    "object_data",
                                    "patch_control_point",
                                    "ptrdiff_t",
                                    "quadgroup",
                                    "ray_data",
                                    "sampler",
                                    "simdgroup",
                                    "size_t",
                                    "texture",
                                    "thread",
                                    "threadgroup",
                                    "threadgroup_imageblock",
                                    "uchar",
                                    "ulong",
                                    "ushort",
                                    "vec",
                                    "vertex",
                                    "visible"};
    for (const char* scalar :
         {"bfloat", "bool", "char", "float", "half", "int", "long", "short", "uchar", "uint", "ulong", "ushort"}) {
      for (const char* size : {"2", "3", "4"}) {
        const std::string vector = std::string(scalar) + size;
        all.push_back("packed_" + vector);
        if (vector != "uint4" && vector != "float4") all.push_back(vector);  // these are the dialect's
        for (const char* rows : {"x2", "x3", "x4"}) all.push_back(vector + rows);
      }
    }
    for (const char* kind : {"texture", "depth"}) {
      for (const char* shape :
           {"1d", "1d_array", "2d", "2d_array", "2d_ms", "2d_ms_array", "3d", "cube", "cube_array", "_buffer"}) {
        all.push_back(std::string(kind) + shape);
      }
    }
    return all;
  }();
  return words;
}

/// Metal has its functions for float and half, so that a whole number would be either; the dialect has them for float.
constexpr std::string_view prologue = R"(#include <metal_stdlib>
using namespace metal;
#define PIANOLA_FN static inline
#define PIANOLA_BARRIER threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
#define i8 char
#define u8 uchar
#define i16 short
#define u16 ushort
#define PIANOLA_OF_FLOAT(name, like) static inline float name(float value) { return metal::like(value); }
PIANOLA_OF_FLOAT(pianola_cos, cos)
PIANOLA_OF_FLOAT(pianola_exp, exp)
PIANOLA_OF_FLOAT(pianola_floor, floor)
PIANOLA_OF_FLOAT(pianola_log, log)
PIANOLA_OF_FLOAT(pianola_round, rint)
PIANOLA_OF_FLOAT(pianola_rsqrt, rsqrt)
PIANOLA_OF_FLOAT(pianola_sin, sin)
PIANOLA_OF_FLOAT(pianola_sqrt, sqrt)
PIANOLA_OF_FLOAT(pianola_tanh, tanh)
static inline float pianola_fma(float a, float b, float c) { return metal::fma(a, b, c); }
static inline float pianola_pow(float value, float exponent) { return metal::pow(value, exponent); }
#define cos(...) pianola_cos(__VA_ARGS__)
#define exp(...) pianola_exp(__VA_ARGS__)
#define floor(...) pianola_floor(__VA_ARGS__)
#define fma(...) pianola_fma(__VA_ARGS__)
#define log(...) pianola_log(__VA_ARGS__)
#define pow(...) pianola_pow(__VA_ARGS__)
#define round(...) pianola_round(__VA_ARGS__)
#define rsqrt(...) pianola_rsqrt(__VA_ARGS__)
#define sin(...) pianola_sin(__VA_ARGS__)
#define sqrt(...) pianola_sqrt(__VA_ARGS__)
#define tanh(...) pianola_tanh(__VA_ARGS__)
#define PIANOLA_ATOMIC(name, call) \
  static inline uint name(device uint& at, uint value) { \
    return call((device atomic_uint*)&at, value, memory_order_relaxed); } \
  static inline int name(device int& at, int value) { \
    return call((device atomic_int*)&at, value, memory_order_relaxed); } \
  static inline uint name(threadgroup uint& at, uint value) { \
    return call((threadgroup atomic_uint*)&at, value, memory_order_relaxed); } \
  static inline int name(threadgroup int& at, int value) { \
    return call((threadgroup atomic_int*)&at, value, memory_order_relaxed); }
PIANOLA_ATOMIC(pianola_atomic_add, atomic_fetch_add_explicit)
PIANOLA_ATOMIC(pianola_atomic_and, atomic_fetch_and_explicit)
PIANOLA_ATOMIC(pianola_atomic_or, atomic_fetch_or_explicit)
PIANOLA_ATOMIC(pianola_atomic_xor, atomic_fetch_xor_explicit)
PIANOLA_ATOMIC(pianola_atomic_min, atomic_fetch_min_explicit)
PIANOLA_ATOMIC(pianola_atomic_max, atomic_fetch_max_explicit)
PIANOLA_ATOMIC(pianola_atomic_exchange, atomic_exchange_explicit)
#define PIANOLA_ATOMIC_ADD(array, index, value) pianola_atomic_add((array)[index], value)
#define PIANOLA_ATOMIC_AND(array, index, value) pianola_atomic_and((array)[index], value)
#define PIANOLA_ATOMIC_OR(array, index, value) pianola_atomic_or((array)[index], value)
#define PIANOLA_ATOMIC_XOR(array, index, value) pianola_atomic_xor((array)[index], value)
#define PIANOLA_ATOMIC_MIN(array, index, value) pianola_atomic_min((array)[index], value)
#define PIANOLA_ATOMIC_MAX(array, index, value) pianola_atomic_max((array)[index], value)
#define PIANOLA_ATOMIC_EXCHANGE(array, index, value) pianola_atomic_exchange((array)[index], value)
)";

/// A kernel and the names that it has here.
struct Named {
  const DialectKernel& kernel;
  const Renaming& renaming;
  std::string name;
  std::string name_of(const Declaration& declaration) const { return renaming.of(declaration.name); }
  /// "device const float*"
  std::string pointer_of(const Declaration& declaration) const {
    const bool is_const = !writes(kernel.info.bindings[declaration.index].access);
    return fmt::format("device {}{}*", is_const ? "const " : "", renaming.of(declaration.type));
  }
};

std::string suffix_of(const Declaration& declaration) {
  return declaration.is_array ? fmt::format("[{}]", declaration.count) : std::string();
}

/// Structs that stand in front of the kernel.
std::string structs_of(const Named& named) {
  const DialectKernel& kernel = named.kernel;
  std::string constants;
  std::string buffers;
  for (const Declaration& each : kernel.declarations) {
    if (each.kind == Kind::constant) {
      constants += fmt::format("  {} {}{};\n", each.type, named.name_of(each), suffix_of(each));
    } else if (each.kind == Kind::buffer) {
      buffers += fmt::format("  {} {} [[id({})]];\n", named.pointer_of(each), named.name_of(each), each.index);
    }
  }
  std::string text;
  if (!constants.empty()) text += fmt::format("struct PianolaConstants_{} {{\n{}}};\n", named.name, constants);
  if (kernel.info.bindings.size() > max_direct_buffers) {
    text += fmt::format("struct PianolaBuffers_{} {{\n{}}};\n", named.name, buffers);
  }
  return text;
}

std::string signature_of(const Named& named) {
  const DialectKernel& kernel = named.kernel;
  const auto& size = kernel.info.workgroup;
  std::string text = fmt::format("[[max_total_threads_per_threadgroup({})]]\nkernel void {}(\n",
                                 size[0] * size[1] * size[2], named.name);
  if (kernel.info.bindings.size() > max_direct_buffers) {
    text += fmt::format("    constant PianolaBuffers_{}& pianola_buffers [[buffer(0)]],\n", named.name);
  } else {
    for (const Declaration& each : kernel.declarations) {
      if (each.kind != Kind::buffer) continue;
      text += fmt::format("    {} {} [[buffer({})]],\n", named.pointer_of(each), named.name_of(each), each.index);
    }
  }
  if (!kernel.info.constants.empty()) {
    text += fmt::format("    constant PianolaConstants_{}& pianola_constants [[buffer(30)]],\n", named.name);
  }
  return text +
         "    uint3 pianola_lid [[thread_position_in_threadgroup]],\n"
         "    uint3 pianola_wg [[threadgroup_position_in_grid]],\n"
         "    uint3 pianola_nwg [[threadgroups_per_grid]]) {\n";
}

std::string locals_of(const Named& named) {
  const DialectKernel& kernel = named.kernel;
  std::string text;
  for (const char axis : {'x', 'y', 'z'}) {
    const char upper = static_cast<char>(axis - 'x' + 'X');
    text += fmt::format("  const uint LID_{0} = pianola_lid.{1}, WG_{0} = pianola_wg.{1}, NWG_{0} = pianola_nwg.{1};\n",
                        upper, axis);
    text += fmt::format("  const uint GID_{0} = WG_{0} * {1} + LID_{0};\n", upper,
                        kernel.info.workgroup[static_cast<size_t>(axis - 'x')]);
    text += fmt::format("  (void)LID_{0}; (void)WG_{0}; (void)NWG_{0}; (void)GID_{0};\n", upper);
  }
  const bool indirect = kernel.info.bindings.size() > max_direct_buffers;
  for (const Declaration& each : kernel.declarations) {
    const std::string name = named.name_of(each);
    if (each.kind == Kind::buffer && indirect) {
      text += fmt::format("  {} {} = pianola_buffers.{};\n", named.pointer_of(each), name, name);
    } else if (each.kind == Kind::constant && each.is_array) {
      text += fmt::format("  constant {}* {} = pianola_constants.{};\n", each.type, name, name);
    } else if (each.kind == Kind::constant) {
      text += fmt::format("  const {} {} = pianola_constants.{};\n", each.type, name, name);
    } else if (each.kind == Kind::shared) {
      text += fmt::format("  threadgroup {} {}[{}];\n", each.type, name, each.count);
    } else if (each.kind == Kind::thread_private) {
      text += fmt::format("  {} {}{};\n", each.type, name, suffix_of(each));
    }
  }
  return text;
}

/// #line directives with the file's name alone: the text is kept in a library and read on other machines.
std::string with_short_lines(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    const size_t quote = line.find('"');
    const size_t slash = line.rfind('/');
    if (line.starts_with("#line") && slash != std::string::npos) line.erase(quote + 1, slash - quote);
    result += line + "\n";
    at = end + 1;
  }
  return result;
}

}  // namespace

std::string msl_name(std::string_view kernel, const SourceText& text) {
  return Renaming(reserved(), {}, text.words).of(kernel);
}

std::string msl_of(const Source& source, const SourceText& text) {
  const Renaming renaming(reserved(), text);
  std::string msl(prologue);
  msl += with_short_lines(renaming.in(text.common));
  for (const DialectKernel& kernel : source.kernels) {
    const auto body = std::ranges::find(text.kernels, kernel.info.name, &KernelText::name);
    if (body == text.kernels.end()) continue;
    const Named named{.kernel = kernel, .renaming = renaming, .name = msl_name(kernel.info.name, text)};
    msl +=
        structs_of(named) + signature_of(named) + locals_of(named) + with_short_lines(renaming.in(body->body)) + "}\n";
  }
  return msl;
}

}  // namespace pianola::kernel_build

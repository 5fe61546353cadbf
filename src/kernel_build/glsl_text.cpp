// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/glsl_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/spirv_constants.hpp"

namespace pianola::kernel_build {
namespace {

using Kind = Declaration::Kind;

/// Words of the GLSL 4.60 specification, "Keywords", that a C++ kernel may use as names.
const std::vector<std::string>& reserved() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {
        "active",        "atomic_uint", "attribute",     "buffer",     "cast",     "centroid",  "coherent",
        "common",        "discard",     "external",      "filter",     "fixed",    "flat",      "fvec2",
        "fvec3",         "fvec4",       "highp",         "hvec2",      "hvec3",    "hvec4",     "in",
        "inout",         "input",       "interface",     "invariant",  "layout",   "lowp",      "main",
        "mediump",       "noinline",    "noperspective", "out",        "output",   "partition", "patch",
        "precise",       "precision",   "readonly",      "resource",   "restrict", "sample",    "sampler3DRect",
        "samplerShadow", "shared",      "smooth",        "subroutine", "superp",   "uniform",   "varying",
        "writeonly"};
    for (const char* size : {"2", "3", "4"}) {
      for (const char* scalar :
           {"", "b", "i", "u", "d", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"}) {
        all.push_back(std::string(scalar) + "vec" + size);
      }
      for (const char* scalar : {"", "d", "f16", "f32", "f64"}) {
        const std::string matrix = std::string(scalar) + "mat" + size;
        all.push_back(matrix);
        for (const char* rows : {"x2", "x3", "x4"}) all.push_back(matrix + rows);
      }
    }
    for (const char* scalar : {"", "i", "u"}) {
      for (const char* kind : {"sampler", "image", "texture"}) {
        for (const char* shape : {"", "1D", "1DArray", "2D", "2DArray", "2DRect", "2DMS", "2DMSArray", "3D", "Cube",
                                  "CubeArray", "Buffer", "1DShadow", "1DArrayShadow", "2DShadow", "2DArrayShadow",
                                  "2DRectShadow", "CubeShadow", "CubeArrayShadow"}) {
          all.push_back(std::string(scalar) + kind + shape);
        }
      }
      for (const char* shape : {"", "MS"}) all.push_back(std::string(scalar) + "subpassInput" + shape);
    }
    return all;
  }();
  return words;
}

constexpr std::string_view prologue = R"(#version 450
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#define PIANOLA_FN
#define PIANOLA_BARRIER barrier();
#define PIANOLA_ATOMIC_ADD(array, index, value) atomicAdd((array)[index], value)
#define PIANOLA_ATOMIC_AND(array, index, value) atomicAnd((array)[index], value)
#define PIANOLA_ATOMIC_OR(array, index, value) atomicOr((array)[index], value)
#define PIANOLA_ATOMIC_XOR(array, index, value) atomicXor((array)[index], value)
#define PIANOLA_ATOMIC_MIN(array, index, value) atomicMin((array)[index], value)
#define PIANOLA_ATOMIC_MAX(array, index, value) atomicMax((array)[index], value)
#define PIANOLA_ATOMIC_EXCHANGE(array, index, value) atomicExchange((array)[index], value)
#define i8 int8_t
#define u8 uint8_t
#define i16 int16_t
#define u16 uint16_t
#define half float16_t
#define uint4 uvec4
#define float4 vec4
#define rsqrt inversesqrt
#define round roundEven
)";

std::string buffer_text(const DialectKernel& kernel, const Declaration& declaration, const Renaming& renaming) {
  const KernelBinding& binding = kernel.info.bindings[declaration.index];
  const char* qualifier = !writes(binding.access) ? "readonly " : !reads(binding.access) ? "writeonly " : "";
  return fmt::format("layout(set = {}, binding = {}, std430) {}{}buffer PianolaBuffer{} {{ {} {}[]; }};\n", binding.set,
                     binding.binding, kernel.info.may_alias ? "" : "restrict ", qualifier, declaration.index,
                     renaming.of(declaration.type), renaming.of(declaration.name));
}

std::string constants_layout(const KernelInfo& kernel) {
  if (!has_constants_buffer(kernel)) return "push_constant";
  const DescriptorPlace place = constants_place(kernel);
  return fmt::format("set = {}, binding = {}", place.set, place.binding);
}

std::string interface_text(const DialectKernel& kernel, const Renaming& renaming) {
  const auto& size = kernel.info.workgroup;
  std::string text =
      fmt::format("layout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;\n", size[0], size[1], size[2]);
  std::string constants;
  for (const Declaration& each : kernel.declarations) {
    if (each.kind == Kind::buffer) text += buffer_text(kernel, each, renaming);
    if (each.kind == Kind::shared)
      text += fmt::format("shared {} {}[{}];\n", each.type, renaming.of(each.name), each.count);
    if (each.kind == Kind::constant) {
      constants += fmt::format("  {} {}{};\n", each.type, renaming.of(each.name),
                               each.is_array ? fmt::format("[{}]", each.count) : "");
    }
  }
  if (!constants.empty()) {
    text += fmt::format("layout({}, std430) {} {} {{\n{}}};\n", constants_layout(kernel.info),
                        has_constants_buffer(kernel.info) ? "restrict readonly buffer" : "uniform", constants_block,
                        constants);
  }
  return text;
}

std::string locals_text(const DialectKernel& kernel, const Renaming& renaming) {
  std::string text =
      R"(  const uint LID_X = gl_LocalInvocationID.x, LID_Y = gl_LocalInvocationID.y, LID_Z = gl_LocalInvocationID.z;
  const uint WG_X = gl_WorkGroupID.x, WG_Y = gl_WorkGroupID.y, WG_Z = gl_WorkGroupID.z;
  const uint NWG_X = gl_NumWorkGroups.x, NWG_Y = gl_NumWorkGroups.y, NWG_Z = gl_NumWorkGroups.z;
  const uint GID_X = gl_GlobalInvocationID.x, GID_Y = gl_GlobalInvocationID.y, GID_Z = gl_GlobalInvocationID.z;
)";
  for (const Declaration& each : kernel.declarations) {
    if (each.kind != Kind::thread_private) continue;
    text += fmt::format("  {} {}{};\n", each.type, renaming.of(each.name),
                        each.is_array ? fmt::format("[{}]", each.count) : "");
  }
  return text;
}

}  // namespace

std::string glsl_of(const DialectKernel& kernel, const SourceText& source, const KernelText& text) {
  const Renaming renaming(reserved(), source);
  std::string glsl(prologue);
  glsl += renaming.in(source.common);
  glsl += interface_text(kernel, renaming);
  glsl += "void main() {\n" + locals_text(kernel, renaming) + renaming.in(text.body) + "}\n";
  return glsl;
}

}  // namespace pianola::kernel_build

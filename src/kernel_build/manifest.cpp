// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernel_build/architecture.hpp"

namespace pianola::kernel_build {
namespace {

using Json = nlohmann::json;

/// What is wrong with a manifest, on its way out of the parser.
struct Wrong {
  Errc code = Errc::invalid_argument;
  std::string message;
};

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw Wrong{.code = Errc::invalid_argument, .message = fmt::format(text, std::forward<Args>(args)...)};
}

bool is_32_bit(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= UINT32_MAX;
}

/// The field's value, or `otherwise`; another type than that of `otherwise` is refused.
template <class T>
T field(const Json& object, const char* key, T otherwise, const std::string& where) {
  const auto at = object.find(key);
  if (at == object.end()) return otherwise;
  try {
    if constexpr (std::is_same_v<T, uint32_t>) {
      if (!is_32_bit(*at)) refuse("{}: '{}' is no 32-bit number", where, key);
    }
    return at->get<T>();
  } catch (const Json::exception&) {
    refuse("{}: '{}' has the wrong type", where, key);
  }
}

const Json& list_of(const Json& object, const char* key, const std::string& where) {
  static const Json empty = Json::array();
  const auto at = object.find(key);
  if (at == object.end()) return empty;
  if (!at->is_array()) refuse("{}: '{}' is no list", where, key);
  return *at;
}

/// Misspelt fields would be passed over in silence otherwise.
void check_fields(const Json& object, std::initializer_list<std::string_view> known, const std::string& where) {
  if (!object.is_object()) refuse("{} is no object", where);
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) refuse("{}: unknown field '{}'", where, key);
  }
}

Access access_of(const std::string& text, const std::string& where) {
  if (text == "in") return Access::in;
  if (text == "out") return Access::out;
  if (text == "inout") return Access::inout;
  refuse("{}: access '{}' is none of in, out and inout", where, text);
}

void add_buffer(const Json& argument, ManifestKernel& kernel, const std::string& where) {
  check_fields(argument, {"buffer", "access", "element_size", "set", "binding"}, where);
  const uint32_t next = kernel.bindings.empty() ? 0 : kernel.bindings.back().binding + 1;
  kernel.bindings.push_back({.name = field<std::string>(argument, "buffer", "", where),
                             .set = field<uint32_t>(argument, "set", 0, where),
                             .binding = field<uint32_t>(argument, "binding", next, where),
                             .access = access_of(field<std::string>(argument, "access", "inout", where), where),
                             .element_size = field<uint32_t>(argument, "element_size", 1, where)});
}

void add_constant(const Json& argument, ManifestKernel& kernel, const std::string& where) {
  check_fields(argument, {"constant", "size", "align"}, where);
  const auto size = field<uint32_t>(argument, "size", 4, where);
  const auto align = field<uint32_t>(argument, "align", std::min(size, 8U), where);
  if (size == 0 || size > max_constant_bytes)
    refuse("{}: {} bytes; 1 to {} are possible", where, size, max_constant_bytes);
  // More would move what stands behind the 8-byte addresses.
  if (align != 1 && align != 2 && align != 4 && align != 8)
    refuse("{}: alignment {} is none of 1, 2, 4, 8", where, align);
  const uint32_t end = kernel.constants.empty() ? 0 : kernel.constants.back().offset + kernel.constants.back().size;
  kernel.constant_places.push_back(static_cast<uint32_t>(kernel.bindings.size() + kernel.constants.size()));
  kernel.constants.push_back({.name = field<std::string>(argument, "constant", "", where),
                              .offset = (end + align - 1) / align * align,
                              .size = size});
}

ManifestKernel kernel_of(const Json& json) {
  ManifestKernel kernel;
  check_fields(json, {"name", "workgroup", "shared_bytes", "dynamic_shared_bytes", "arguments", "opaque", "may_alias"},
               "a kernel");
  kernel.name = field<std::string>(json, "name", "", "a kernel");
  const std::string where = fmt::format("kernel '{}'", kernel.name);
  if (kernel.name.empty()) refuse("a kernel has no 'name'");
  if (json.contains("workgroup")) {
    const Json& sides = list_of(json, "workgroup", where);
    if (sides.empty() || sides.size() > 3)
      refuse("{}: 'workgroup' has {} numbers, 1 to 3 are right", where, sides.size());
    kernel.workgroup = {1, 1, 1};
    for (size_t i = 0; i < sides.size(); ++i) {
      // The JSON library prints by calling itself for each level.
      const std::string side = sides[i].is_structured() ? "a list or an object" : sides[i].dump();
      if (!is_32_bit(sides[i])) refuse("{}: 'workgroup' holds {}, which is no 32-bit number", where, side);
      kernel.workgroup->at(i) = sides[i].get<uint32_t>();
    }
  }
  if (json.contains("shared_bytes")) kernel.shared_bytes = field<uint32_t>(json, "shared_bytes", 0, where);
  kernel.dynamic_shared_bytes = field<uint32_t>(json, "dynamic_shared_bytes", 0, where);
  if (json.contains("opaque")) kernel.opaque = field(json, "opaque", false, where);
  if (json.contains("may_alias")) kernel.may_alias = field(json, "may_alias", false, where);
  kernel.has_arguments = json.contains("arguments");
  for (const Json& argument : list_of(json, "arguments", where)) {
    const std::string place = fmt::format("{}, argument {}", where, kernel.bindings.size() + kernel.constants.size());
    if (argument.is_object() && argument.contains("buffer")) {
      add_buffer(argument, kernel, place);
    } else if (argument.is_object() && argument.contains("constant")) {
      add_constant(argument, kernel, place);
    } else {
      refuse("{} is neither a 'buffer' nor a 'constant'", place);
    }
  }
  return kernel;
}

ObjectFormat format_of(const std::string& text, const std::string& where) {
  for (const ObjectFormat format : {ObjectFormat::host, ObjectFormat::ptx, ObjectFormat::cubin, ObjectFormat::hsaco,
                                    ObjectFormat::spirv, ObjectFormat::msl, ObjectFormat::metallib}) {
    if (text == to_string(format)) return format;
  }
  refuse("{}: format '{}' is none of host, ptx, cubin, hsaco, spirv, msl, metallib", where, text);
}

ManifestObject object_of(const Json& json) {
  ManifestObject object;
  check_fields(json, {"file", "format", "arch", "symbols"}, "an object");
  object.file = field<std::string>(json, "file", "", "an object");
  if (object.file.empty()) refuse("an object has no 'file'");
  const std::string where = fmt::format("object '{}'", object.file);
  object.format = format_of(field<std::string>(json, "format", "", where), where);
  object.arch = field<std::string>(json, "arch", "", where);
  if (object.arch.empty()) refuse("{} has no 'arch'", where);
  if (!is_architecture(object.format, object.arch)) {
    refuse("{}: arch '{}' is no architecture for {}; there are {}", where, object.arch, to_string(object.format),
           architectures_of(object.format));
  }
  object.symbols = field<std::map<std::string, std::string>>(json, "symbols", {}, where);
  return object;
}

Manifest manifest_of(const Json& json) {
  Manifest manifest;
  check_fields(json, {"name", "kernels", "objects"}, "the manifest");
  manifest.name = field<std::string>(json, "name", "", "the manifest");
  for (const Json& each : list_of(json, "kernels", "the manifest")) manifest.kernels.push_back(kernel_of(each));
  for (const Json& each : list_of(json, "objects", "the manifest")) manifest.objects.push_back(object_of(each));
  if (manifest.kernels.empty()) refuse("the manifest has no kernels");
  if (manifest.objects.empty()) refuse("the manifest has no objects");
  return manifest;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  try {
    return manifest_of(Json::parse(text));
  } catch (const Wrong& wrong) {
    return Error{.code = wrong.code, .message = wrong.message};
  } catch (const Json::exception& error) {
    return Error{.code = Errc::corrupt, .message = fmt::format("the manifest is no JSON: {}", error.what())};
  }
}

}  // namespace pianola::kernel_build

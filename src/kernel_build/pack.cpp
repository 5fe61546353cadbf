// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/pack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "kernel_build/check.hpp"
#include "kernel_build/files.hpp"
#include "kernel_build/host_records.hpp"
#include "kernel_build/reflect.hpp"

namespace pianola::kernel_build {
namespace {

template <class... Args>
Error failure(Errc code, fmt::format_string<Args...> text, Args&&... args) {
  return {.code = code, .message = fmt::format(text, std::forward<Args>(args)...)};
}

/// A kernel whose description is still growing.
struct Draft {
  KernelInfo info;
  bool knows_arguments = false;
  bool knows_workgroup = false;
  bool knows_shared = false;
  bool knows_opaque = false;
  bool knows_may_alias = false;
  bool has_object = false;
};

/// The order of arguments, of which constants stand at `places`; empty if bindings come first.
std::vector<uint32_t> order_of(size_t bindings, std::span<const uint32_t> places) {
  if (places.empty() || places.front() == bindings) return {};
  std::vector<uint32_t> order(bindings + places.size());
  for (size_t i = 0; i < places.size(); ++i) order[places[i]] = static_cast<uint32_t>(bindings + i);
  uint32_t binding = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    if (std::ranges::find(places, at) == places.end()) order[at] = binding++;
  }
  return order;
}

Draft draft_of(const ManifestKernel& kernel) {
  Draft draft;
  draft.info.name = kernel.name;
  draft.info.bindings = kernel.bindings;
  draft.info.constants = kernel.constants;
  draft.info.argument_order = order_of(kernel.bindings.size(), kernel.constant_places);
  if (!kernel.constants.empty()) {
    draft.info.constant_bytes = kernel.constants.back().offset + kernel.constants.back().size;
  }
  draft.info.workgroup = kernel.workgroup.value_or(std::array<uint32_t, 3>{1, 1, 1});
  draft.info.shared_bytes = kernel.shared_bytes.value_or(0);
  draft.info.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  draft.info.opaque = kernel.opaque.value_or(false);
  draft.info.may_alias = kernel.may_alias.value_or(false);
  draft.knows_arguments = kernel.has_arguments;
  draft.knows_workgroup = kernel.workgroup.has_value();
  draft.knows_shared = kernel.shared_bytes.has_value();
  draft.knows_opaque = kernel.opaque.has_value();
  draft.knows_may_alias = kernel.may_alias.has_value();
  return draft;
}

void take_numbered(const Reflection& file, KernelInfo& info) {
  for (const NumberedBinding& each : *file.bindings) {
    info.bindings.push_back({.name = fmt::format("binding{}", info.bindings.size()),
                             .set = each.set,
                             .binding = each.binding,
                             .access = each.access.value_or(Access::inout),
                             .element_size = each.element_size.value_or(1)});
  }
  info.constant_bytes = file.constant_bytes.value_or(0);
  if (info.constant_bytes > 0)
    info.constants.push_back({.name = "constants", .offset = 0, .size = info.constant_bytes});
}

/// False if it is not known which parameters are buffers.
bool take_parameters(const std::vector<Parameter>& parameters, KernelInfo& info) {
  std::vector<uint32_t> places;
  // Where all values stand behind the addresses, the block is as the file has it; else each is aligned to its size.
  const auto buffers = static_cast<uint32_t>(std::ranges::count(parameters, true, &Parameter::is_buffer));
  const bool is_plain =
      std::ranges::is_partitioned(parameters, [](const auto& each) { return each.is_buffer == true; });
  for (const Parameter& each : parameters) {
    if (!each.is_buffer) return false;
    if (*each.is_buffer) {
      const auto number = static_cast<uint32_t>(info.bindings.size());
      info.bindings.push_back({.name = fmt::format("buffer{}", number),
                               .set = 0,
                               .binding = number,
                               .access = each.access.value_or(Access::inout),
                               .element_size = 1});
      continue;
    }
    const uint32_t align = each.size % 8 == 0 ? 8 : each.size % 4 == 0 ? 4 : each.size % 2 == 0 ? 2 : 1;
    const uint32_t offset = is_plain ? each.offset - buffers * 8 : (info.constant_bytes + align - 1) / align * align;
    places.push_back(static_cast<uint32_t>(info.bindings.size() + info.constants.size()));
    info.constants.push_back(
        {.name = fmt::format("constant{}", info.constants.size()), .offset = offset, .size = each.size});
    info.constant_bytes = offset + each.size;
  }
  info.argument_order = order_of(info.bindings.size(), places);
  return true;
}

/// Fills in what the manifest left out and this file tells.
void complete(Draft& draft, const Reflection& file) {
  if (!draft.knows_arguments) {
    KernelInfo found = draft.info;
    if (file.bindings) {
      take_numbered(file, found);
      draft.knows_arguments = true;
    } else if (file.parameters) {
      draft.knows_arguments = take_parameters(*file.parameters, found);
    }
    if (draft.knows_arguments) draft.info = found;
  }
  if (!draft.knows_workgroup && file.workgroup) {
    draft.info.workgroup = *file.workgroup;
    draft.knows_workgroup = true;
  }
  if (!draft.knows_shared && file.shared_bytes) {
    draft.info.shared_bytes = *file.shared_bytes;
    draft.knows_shared = true;
  }
}

/// A host object made from the dialect knows names and flags too. What the manifest states stays.
void complete_from_records(std::vector<Draft>& drafts, const format::ObjectContents& object) {
  const auto kernels = read_host_records(object.bytes);
  if (!kernels) return;
  for (const CodeObject::Entry& entry : object.entries) {
    Draft& draft = drafts[entry.kernel];
    const auto at = std::ranges::find(*kernels, entry.symbol, [](const DialectKernel& each) { return each.info.name; });
    if (at == kernels->end()) continue;
    if (!std::exchange(draft.knows_opaque, true)) draft.info.opaque = at->info.opaque;
    if (!std::exchange(draft.knows_may_alias, true)) draft.info.may_alias = at->info.may_alias;
    if (std::exchange(draft.knows_arguments, true)) continue;
    draft.info.bindings = at->info.bindings;
    draft.info.constants = at->info.constants;
    draft.info.constant_bytes = at->info.constant_bytes;
  }
}

Result<format::ObjectContents> read_object(const ManifestObject& entry, const std::string& folder,
                                           std::vector<Draft>& drafts) {
  const std::string path = (std::filesystem::path(folder) / entry.file).string();
  auto bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  format::ObjectContents object{.format = entry.format, .arch = entry.arch, .bytes = std::move(*bytes), .entries = {}};
  for (uint32_t i = 0; i < drafts.size(); ++i) {
    const auto symbol = entry.symbols.find(drafts[i].info.name);
    // Without a list of symbols every kernel is expected under its own name.
    if (symbol == entry.symbols.end() && !entry.symbols.empty()) continue;
    object.entries.push_back({.kernel = i, .symbol = entry.symbols.empty() ? drafts[i].info.name : symbol->second});
    drafts[i].has_object = true;
  }
  for (const auto& [kernel, symbol] : entry.symbols) {
    const auto same = [&](const Draft& draft) { return draft.info.name == kernel; };
    if (std::ranges::none_of(drafts, same)) {
      return failure(Errc::missing_kernel, "{}: the manifest has no kernel '{}'", path, kernel);
    }
  }
  return object;
}

Result<> complete_from(std::vector<Draft>& drafts, const format::ObjectContents& object, const std::string& file) {
  if (object.format == ObjectFormat::host) complete_from_records(drafts, object);
  const auto reflections = reflect(object.format, object.bytes);
  if (!reflections) {
    return failure(reflections.error().code, "{}: {} for {}: {}", file, to_string(object.format), object.arch,
                   reflections.error().message);
  }
  const auto by_symbol = reflections_by_symbol(*reflections);
  for (const CodeObject::Entry& entry : object.entries) {
    const auto at = by_symbol.find(entry.symbol);
    if (at != by_symbol.end()) complete(drafts[entry.kernel], *at->second);
  }
  return {};
}

/// A device would take one of two objects that suit it alike, and leave the other.
Result<> check_unique(const format::LibraryContents& contents, const Manifest& manifest) {
  std::map<std::tuple<ObjectFormat, std::string, uint32_t>, size_t> first;
  for (size_t i = 0; i < contents.objects.size(); ++i) {
    const format::ObjectContents& object = contents.objects[i];
    for (const CodeObject::Entry& entry : object.entries) {
      const auto [at, is_new] = first.try_emplace({object.format, object.arch, entry.kernel}, i);
      if (is_new) continue;
      return failure(Errc::invalid_argument, "kernel '{}' has two objects of {} for {}: {} and {}",
                     manifest.kernels[entry.kernel].name, to_string(object.format), object.arch,
                     manifest.objects[at->second].file, manifest.objects[i].file);
    }
  }
  return {};
}

Result<> check_complete(const Draft& draft) {
  const std::string& name = draft.info.name;
  if (!draft.has_object) return failure(Errc::missing_kernel, "no object holds kernel '{}'", name);
  if (!draft.knows_arguments) {
    return failure(Errc::invalid_argument, "kernel '{}': no file tells its arguments; list them in the manifest", name);
  }
  if (!draft.knows_workgroup) {
    return failure(Errc::invalid_argument, "kernel '{}': no file tells its workgroup; state it in the manifest", name);
  }
  return {};
}

Result<> check_agreement(const format::LibraryContents& contents, const Manifest& manifest) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < contents.objects.size(); ++i) {
    const format::ObjectContents& object = contents.objects[i];
    const auto found = find_disagreements(
        contents.kernels,
        {.format = object.format, .arch = object.arch, .bytes = object.bytes, .entries = object.entries});
    for (const std::string& line : found) lines.push_back(fmt::format("{}: {}", manifest.objects[i].file, line));
  }
  if (lines.empty()) return {};
  return failure(Errc::mismatch, "{}", fmt::join(lines, "\n"));
}

}  // namespace

Result<format::LibraryContents> pack_kernels(const Manifest& manifest, const std::string& folder) {
  std::vector<Draft> drafts;
  drafts.reserve(manifest.kernels.size());
  for (const ManifestKernel& kernel : manifest.kernels) drafts.push_back(draft_of(kernel));
  format::LibraryContents contents{.name = manifest.name, .kernels = {}, .objects = {}};
  for (const ManifestObject& entry : manifest.objects) {
    auto object = read_object(entry, folder, drafts);
    if (!object) return object.error();
    if (auto ok = complete_from(drafts, *object, entry.file); !ok) return ok.error();
    contents.objects.push_back(std::move(*object));
  }
  if (auto ok = check_unique(contents, manifest); !ok) return ok.error();
  for (const Draft& draft : drafts) {
    if (auto ok = check_complete(draft); !ok) return ok.error();
    contents.kernels.push_back(draft.info);
  }
  if (auto ok = check_agreement(contents, manifest); !ok) return ok.error();
  return contents;
}

Result<> pack_library_file(const std::string& manifest, const std::string& output, const std::string& depfile) {
  const auto text = read_text(manifest);
  if (!text) return text.error();
  const auto parsed = parse_manifest(*text);
  if (!parsed) return failure(parsed.error().code, "{}: {}", manifest, parsed.error().message);
  const std::filesystem::path folder = std::filesystem::path(manifest).parent_path();
  std::vector<std::string> read = {manifest};
  for (const ManifestObject& object : parsed->objects) read.push_back((folder / object.file).string());
  if (auto ok = check_outputs(output, depfile, read); !ok) return ok;
  const auto contents = pack_kernels(*parsed, folder.string());
  if (!contents) return failure(contents.error().code, "{}: {}", manifest, contents.error().message);
  const auto image = format::write_library(*contents);
  if (!image) return image.error();
  if (auto ok = write_make_rule(depfile, output, read); !ok) return ok;
  return write_bytes(output, *image);
}

}  // namespace pianola::kernel_build

// SPDX-License-Identifier: Apache-2.0
// Compiled files come from anywhere: whatever they hold, reading them ends, soon, with what they say or an error.
#include "kernel_build/reflect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "dialect_kernel_image.hpp"
#include "made_elf.hpp"

namespace pianola::kernel_build {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<std::vector<Reflection>> ptx(const std::string& text) {
  return reflect_ptx(bytes_of(".version 6.3\n.target sm_70\n.address_size 64\n" + text));
}

TEST(KernelReflectPtx, NamesAndBlanksMayBeOfAnyLength) {
  const std::string name(400000, 'n');
  const std::string blanks(400000, ' ');
  const auto found = ptx(".visible .entry " + name + "(" + blanks + ".param" + blanks + ".u64 .ptr .global .align 1 " +
                         name + "0, .param .align 8" + blanks + ".b8 " + name + "1[24],\n .param .u8 c)\n.maxntid" +
                         blanks + "8, 4\n{\n.shared .align 4 .b8 own[" + blanks + "400];\nret;\n}\n");
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->size(), 1U);
  const Reflection& kernel = found->front();
  EXPECT_EQ(kernel.symbol, name);
  ASSERT_EQ(kernel.parameters->size(), 3U);
  EXPECT_EQ((*kernel.parameters)[0].is_buffer, true);
  EXPECT_EQ((*kernel.parameters)[1].offset, 8U);
  EXPECT_EQ((*kernel.parameters)[1].size, 24U);
  EXPECT_EQ((*kernel.parameters)[2].offset, 32U);
  EXPECT_EQ((*kernel.parameters)[2].size, 1U);
  EXPECT_EQ(kernel.threads, 32U);
  EXPECT_FALSE(kernel.workgroup);
  EXPECT_EQ(kernel.shared_bytes, 400U);
}

TEST(KernelReflectPtx, CutInsideAnEntryOrAFunctionItIsRefused) {
  const std::string text =
      "// {\n.func f(.param .b32 x)\n{\n{ ret; }\n}\n.entry k(.param .u64 x)\n{\n$L: { ret; }\n}\n";
  ASSERT_TRUE(ptx(text)) << to_string(ptx(text).error());
  for (size_t size = text.find(".entry") + 6; size < text.rfind('}'); ++size) {
    const auto found = ptx(text.substr(0, size));
    ASSERT_FALSE(found) << text.substr(0, size);
    EXPECT_EQ(found.error().code, Errc::corrupt);
  }
  for (size_t size = text.find("\n{\n") + 2; size < text.find("}\n.entry"); ++size) {
    EXPECT_FALSE(ptx(text.substr(0, size))) << text.substr(0, size);
  }
}

TEST(KernelReflectPtx, SharedArraysAreTakenByTheirWholeName) {
  const auto found = ptx(R"(.shared .align 4 .b8 tile[100];
.shared .align 4 .b8 tile2[64];
.extern .shared .align 16 .b8 more[];
.entry one(.param .u64 more_param)
{
  st.shared.u32 [tile2+4], 1;
  ld.param.u64 %rd1, [more_param];
}
.entry two() { st.shared.u32 [tile], 1; st.shared.u32 [tile2], 1; st.shared.u32 [more], 1; }
)");
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ((*found)[0].shared_bytes, 64U);
  EXPECT_FALSE((*found)[0].takes_dynamic_shared);
  EXPECT_EQ((*found)[1].shared_bytes, 164U);
  EXPECT_TRUE((*found)[1].takes_dynamic_shared);
}

TEST(KernelReflectPtx, SharedArraysOfEachEntryAreItsOwn) {
  const auto found = ptx(R"(.shared .align 4 .b8 tile[100];
.entry one() { .shared .align 4 .b8 buf[1024]; { .shared .b8 inner[8]; mov.u64 %rd1, inner; } mov.u64 %rd1, buf; }
.entry two() { .shared .align 4 .b8 buf[4096]; mov.u64 %rd1, buf; mov.u64 %rd1, tile; }
.entry three() { .shared .align 4 .b32 tile[64][64]; mov.u64 %rd1, tile; }
.entry four() { mov.u64 %rd1, buf; .shared .b64 huge[4294967295][4294967295][4294967295]; st.shared.u32 [huge], 1; }
)");
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ((*found)[0].shared_bytes, 1032U);
  EXPECT_EQ((*found)[1].shared_bytes, 4196U);
  EXPECT_EQ((*found)[2].shared_bytes, 16384U);
  EXPECT_EQ((*found)[3].shared_bytes, UINT32_MAX);
}

TEST(KernelReflectPtx, ManyArraysTakeNoTime) {
  std::string text;
  std::string uses;
  for (int i = 0; i < 100000; ++i) {
    const std::string name = "a" + std::to_string(i);
    text += ".shared .b8 " + name + "[4];\n";
    uses += "mov.u64 %rd1, " + name + ";\n";
  }
  const auto found = ptx(text + ".entry k()\n{\n" + uses + "}\n");
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->front().shared_bytes, 400000U);
}

TEST(KernelReflectMsl, ManyKernelsTakeNoTime) {
  constexpr uint32_t count = 60000;
  std::string text = "#define PIANOLA_BARRIER \n";
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = "k" + std::to_string(i);
    if (i % 2 == 1) text += "struct PianolaConstants_" + name + " {\n  uint n;\n};\n";
    text += "[[max_total_threads_per_threadgroup(64)]]\nkernel void " + name +
            "(\n    device const float* x [[buffer(0)]],\n    uint3 pianola_lid) {\n}\n";
  }
  const auto found = reflect_msl(bytes_of(text));
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->size(), count);
  EXPECT_EQ(found->at(count - 2).parameters->size(), 1U);
  EXPECT_EQ(found->at(count - 1).parameters->size(), 2U);
  EXPECT_EQ(found->at(count - 1).symbol, "k59999");
}

TEST(KernelReflectCubin, ManyKernelsTakeNoTime) {
  std::vector<ElfFileSection> sections;
  constexpr uint32_t count = 20000;
  for (uint32_t i = 0; i < count; ++i) sections.push_back({.name = ".nv.info.k" + std::to_string(i), .bytes = {}});
  for (uint32_t i = 0; i < count; ++i) {
    sections.push_back({.name = ".nv.shared.k" + std::to_string(i), .type = made_elf_no_bits, .size = 8 + i});
  }
  const auto found =
      reflect_cubin(bytes_of(make_elf({.abi_version = 7, .machine = 190, .flags = 0x00500550}, std::move(sections))));
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->size(), count);
  EXPECT_EQ(found->back().shared_bytes, 8U + count - 1);
}

TEST(KernelReflectHsaco, ValuesThatLieInEachOtherTooDeepAreRefused) {
  const auto object = [](const std::vector<uint8_t>& metadata) {
    std::vector<uint8_t> note = {7, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 'A', 'M', 'D', 'G', 'P', 'U', 0, 0};
    const auto size = static_cast<uint32_t>(metadata.size());
    std::memcpy(note.data() + 4, &size, sizeof size);
    note.insert(note.end(), metadata.begin(), metadata.end());
    return bytes_of(make_elf({.machine = 224}, {{.name = ".note", .type = made_elf_note, .bytes = note}}));
  };
  std::vector<uint8_t> fine = {0x81, 0xae};
  for (const char c : std::string("amdhsa.kernels")) fine.push_back(static_cast<uint8_t>(c));
  fine.push_back(0x90);
  EXPECT_TRUE(reflect_hsaco(object(fine)));
  for (const uint8_t container : {uint8_t{0x91}, uint8_t{0x81}}) {
    const auto found = reflect_hsaco(object(std::vector<uint8_t>(3000000, container)));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::corrupt);
  }
}

TEST(KernelReflectSpirv, StructsInStructsTakeNoTime) {
  constexpr uint32_t first = 10, levels = 8, members = 60;
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 100, 0, 4U << 16U | 15U, 5, 1, 0};
  words.insert(words.end(), {4U << 16U | 21U, first, 32, 0});
  for (uint32_t level = 1; level <= levels; ++level) {
    words.insert(words.end(), {(2 + members) << 16U | 30U, first + level});
    words.insert(words.end(), members, first + level - 1);
  }
  words.insert(words.end(), {4U << 16U | 32U, 50, 12, first + levels, 4U << 16U | 59U, 50, 51, 12});
  const auto bytes = std::as_bytes(std::span(words));
  const auto found = reflect_spirv(bytes);
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->front().bindings->size(), 1U);
  EXPECT_EQ(found->front().bindings->front().element_size, 4U);
}

TEST(KernelReflectSpirv, ElementsOfBuffersReachToTheNextOne) {
  // struct In { float4 v; float w; }, In at strides of 32, twice in a struct, of which a buffer has an array.
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 100, 0, 4U << 16U | 15U, 5, 1, 0};
  const auto add = [&](uint32_t instruction, std::vector<uint32_t> operands) {
    words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16U | instruction);
    words.insert(words.end(), operands.begin(), operands.end());
  };
  add(72, {12, 1, 35, 16});
  add(71, {14, 6, 32});
  add(71, {16, 6, 80});
  add(72, {15, 1, 35, 64});
  add(22, {10, 32});
  add(23, {11, 10, 4});
  add(30, {12, 11, 10});
  add(21, {20, 32, 0});
  add(43, {20, 21, 2});
  add(28, {14, 12, 21});
  add(30, {15, 14, 10});
  add(29, {16, 15});
  add(30, {17, 16});
  add(32, {18, 12, 17});
  add(59, {18, 30, 12});
  add(32, {19, 12, 15});
  add(59, {19, 31, 12});
  const auto found = reflect_spirv(std::as_bytes(std::span(words)));
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->front().bindings->size(), 2U);
  EXPECT_EQ(found->front().bindings->at(0).element_size, 80U);
  EXPECT_EQ(found->front().bindings->at(1).element_size, 68U);
}

/// One object of each format, small ones first; a cubin is made by hand.
std::vector<std::pair<ObjectFormat, Bytes>> one_of_each() {
  static const auto library = KernelLibrary::from_bytes(dialect_kernel_image());
  std::vector<std::pair<ObjectFormat, Bytes>> all;
  for (const CodeObject& object : library->objects()) {
    const auto same = [&](const auto& each) { return each.first == object.format; };
    const auto at = std::ranges::find_if(all, same);
    if (at == all.end()) {
      all.emplace_back(object.format, Bytes(object.bytes.begin(), object.bytes.end()));
    } else if (object.bytes.size() < at->second.size()) {
      at->second.assign(object.bytes.begin(), object.bytes.end());
    }
  }
  const std::vector<uint8_t> info = {0x04, 0x17, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x21, 0,
                                     0x04, 0x05, 0x0c, 0, 8, 0, 0, 0, 4, 0, 0, 0, 1, 0,    0,    0};
  all.emplace_back(
      ObjectFormat::cubin,
      bytes_of(make_elf({.abi_version = 8, .machine = 190, .flags = 0x06005a04},
                        {{.name = ".nv.info.k", .bytes = info}, {.name = ".nv.shared.k", .type = 8, .size = 2048}})));
  return all;
}

TEST(KernelReflect, CutOffFilesNeverCrashTheReader) {
  for (const auto& [format, bytes] : one_of_each()) {
    const size_t step = std::max<size_t>(1, bytes.size() / 500);
    for (size_t size = 0; size < bytes.size(); size += step) {
      static_cast<void>(reflect(format, std::span(bytes).first(size)));
    }
  }
}

/// A few bytes changed, moved, doubled or taken out.
void damage(Bytes& bytes, std::minstd_rand& random) {
  const auto place = [&] { return random() % bytes.size(); };
  for (uint32_t count = 1 + random() % 4; count > 0 && bytes.size() > 16; --count) {
    const size_t at = place();
    const size_t length = std::min<size_t>(1 + random() % 16, bytes.size() - at);
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(length);
    switch (random() % 6) {
      case 0: bytes[at] ^= std::byte(1U << random() % 8); break;
      case 1: std::ranges::fill(first, last, std::byte(random() % 2 == 0 ? 0 : 0xff)); break;
      case 2: std::ranges::generate(first, last, [&] { return std::byte(random()); }); break;
      case 3: bytes.erase(first, last); break;
      case 4: {
        const Bytes piece(first, last);
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(place()), piece.begin(), piece.end());
        break;
      }
      default: bytes.resize(std::max<size_t>(16, place())); break;
    }
  }
}

TEST(KernelReflect, DamagedFilesNeverCrashTheReader) {
  for (const auto& [format, bytes] : one_of_each()) {
    std::minstd_rand random(static_cast<uint32_t>(format) + 1);
    for (uint32_t i = 0; i < 2000; ++i) {
      Bytes damaged = bytes;
      damage(damaged, random);
      static_cast<void>(reflect(format, damaged));
    }
  }
}

}  // namespace
}  // namespace pianola::kernel_build

// SPDX-License-Identifier: Apache-2.0
// Fill, copy and update at every alignment and size, exact to the byte.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Transfer : public ListTest {};

const Bytes sixteen = pattern_bytes(16, 5);

Pattern pattern_of(size_t size) {
  return Pattern::from_bytes(std::span(sixteen).first(size));
}

// S1, S11
TEST_F(Transfer, FillWritesExactlyItsBytes) {
  constexpr uint64_t cell = 40;
  struct Fill {
    uint64_t offset, length, pattern;
  };
  std::vector<Fill> fills;
  for (const uint64_t pattern : {1U, 2U, 4U, 8U, 16U}) {
    for (uint64_t offset = 0; offset < 8; ++offset) {
      for (uint64_t length = 0; length <= 17; length += pattern) fills.push_back({offset, length, pattern});
    }
  }
  ListCase list;
  Bytes wanted = pattern_bytes(cell * fills.size(), 6);
  const BufferRef x = list.buffer("x", wanted);
  for (size_t i = 0; i < fills.size(); ++i) {
    const auto [offset, length, pattern] = fills[i];
    const uint64_t at = cell * i + 8 + offset;
    list.record.fill(x.view(at, length), pattern_of(pattern));
    paint(wanted, at, length, std::span(sixteen).first(pattern));
  }
  list.expect(x, wanted);
  list.run();
}

// S1: sizes that no word divides, up to the very end of a slot
TEST_F(Transfer, FillReachesTheTailOfAnOddBuffer) {
  for (const size_t size : {1U, 2U, 3U, 5U, 6U, 7U, 9U, 15U, 17U, 63U, 65U, 255U, 257U, 4099U}) {
    ListCase list;
    const BufferRef x = list.buffer("x", Bytes(size));
    const BufferRef y = list.buffer("y", Bytes(size));
    list.record.fill(x, uint8_t{0xC3}).fill(y.view(size - 1), uint8_t{0x3C});
    list.expect(x, Bytes(size, std::byte{0xC3}));
    Bytes tail(size);
    tail.back() = std::byte{0x3C};
    list.expect(y, tail);
    list.limit_launches(5);
    list.run();
  }
}

// S1: large enough for whatever runs in wide steps, with tails that no wide step fits
TEST_F(Transfer, LargeFillHasExactEndsForEveryPattern) {
  for (const size_t pattern : {1U, 2U, 4U, 8U, 16U}) {
    for (const uint64_t count : {5U, 37U, 129U, 255U, 1025U, 4097U}) {
      for (const uint64_t offset : {0U, 1U, 4U, 13U}) {
        ListCase list;
        const uint64_t length = pattern * count;
        Bytes wanted = pattern_bytes(length + 48, 8);
        const BufferRef x = list.buffer("x", wanted);
        list.record.fill(x.view(offset, length), pattern_of(pattern));
        paint(wanted, offset, length, std::span(sixteen).first(pattern));
        list.expect(x, wanted);
        list.limit_launches(2);
        list.run();
      }
    }
  }
}

// S2
TEST_F(Transfer, UnorderedFillsOfNeighbouringBytesDoNotRace) {
  ListCase list;
  const BufferRef x = list.buffer("x", Bytes(16));
  Bytes wanted(16);
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t at = (i * 5) % 16;
    const auto value = static_cast<uint8_t>(at + 1);
    list.record.fill(x.view(at, 1), value);
    wanted[at] = std::byte{value};
  }
  list.expect(x, wanted);
  list.run();
}

// S2, with every kind of write
TEST_F(Transfer, UnorderedWritesOfNeighbouringBytesDoNotRace) {
  ListCase list;
  const Bytes source = pattern_bytes(64, 9);
  const BufferRef x = list.buffer("x", Bytes(48));
  const BufferRef y = list.buffer("y", source);
  Bytes wanted(48);
  for (uint32_t i = 0; i < 16; ++i) {
    const auto value = static_cast<uint8_t>(200 + i);
    list.record.fill(x.view(3 * i, 1), value);
    list.record.copy(x.view(3 * i + 1, 1), y.view(4 * i, 1));
    list.record.update(x.view(3 * i + 2, 1), std::span(source).subspan(4 * i + 1, 1));
    wanted[3 * i] = std::byte{value};
    wanted[3 * i + 1] = source[4 * i];
    wanted[3 * i + 2] = source[4 * i + 1];
  }
  list.expect(x, wanted);
  list.run();
}

// S1, S3
TEST_F(Transfer, CopyWritesExactlyItsBytes) {
  constexpr uint64_t cell = 32;
  constexpr uint64_t cells = 8 * 8 * 19;
  ListCase list;
  const Bytes source = pattern_bytes(cell * cells, 10);
  Bytes wanted = pattern_bytes(cell * cells, 11);
  const BufferRef x = list.buffer("x", source);
  const BufferRef y = list.buffer("y", wanted);
  uint64_t at = 0;
  for (uint64_t from = 0; from < 8; ++from) {
    for (uint64_t to = 0; to < 8; ++to) {
      for (uint64_t length = 0; length <= 18; ++length, at += cell) {
        list.record.copy(y.view(at + to, length), x.view(at + from, length));
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(at + from), length,
                    wanted.begin() + static_cast<std::ptrdiff_t>(at + to));
      }
    }
  }
  list.expect(y, wanted);
  list.limit_launches(10);
  list.run();
}

// S3
TEST_F(Transfer, LargeCopyHasExactEndsAtEveryAlignment) {
  for (const uint64_t from : {0U, 1U, 2U, 3U, 5U, 8U}) {
    for (const uint64_t to : {0U, 1U, 3U, 4U, 7U}) {
      ListCase list;
      const Bytes source = pattern_bytes(70000, 12);
      Bytes wanted = pattern_bytes(70000, 13);
      const BufferRef x = list.buffer("x", source);
      const BufferRef y = list.buffer("y", wanted);
      const uint64_t length = 65536 + 3 * from + to;
      list.record.copy(y.view(to, length), x.view(from, length));
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), length,
                  wanted.begin() + static_cast<std::ptrdiff_t>(to));
      list.expect(y, wanted);
      list.limit_launches(2);
      list.run();
    }
  }
}

TEST_F(Transfer, CopyWithinOneSlotMovesBytes) {
  ListCase list;
  Bytes wanted = pattern_bytes(64, 14);
  const BufferRef x = list.buffer("x", wanted);
  list.record.copy(x.view(32, 13), x.view(19, 13)).barrier().copy(x.view(0, 16), x.view(33, 16));
  std::copy_n(wanted.begin() + 19, 13, wanted.begin() + 32);
  std::copy_n(wanted.begin() + 33, 16, wanted.begin());
  list.expect(x, wanted);
  list.run();
}

// S1, for updates
TEST_F(Transfer, UpdateWritesExactlyItsBytes) {
  constexpr uint64_t cell = 40;
  ListCase list;
  Bytes wanted = pattern_bytes(cell * 8 * 18, 15);
  const BufferRef x = list.buffer("x", wanted);
  uint64_t at = 8;
  for (uint64_t offset = 0; offset < 8; ++offset) {
    for (uint64_t length = 0; length <= 17; ++length, at += cell) {
      const Bytes bytes = pattern_bytes(length, static_cast<uint32_t>(100 * offset + length));
      list.record.update(x.view(at + offset, length), bytes);
      std::copy(bytes.begin(), bytes.end(), wanted.begin() + static_cast<std::ptrdiff_t>(at + offset));
    }
  }
  list.expect(x, wanted);
  list.run();
}

// S5
TEST_F(Transfer, UpdatesOfAnySizeArrive) {
  for (const size_t size : {65532U, 65536U, 65540U, 131073U, 200000U}) {
    ListCase list;
    Bytes wanted = pattern_bytes(size + 32, 16);
    const BufferRef x = list.buffer("x", wanted);
    const Bytes bytes = pattern_bytes(size, 17);
    list.record.update(x.view(12, size), bytes);
    std::copy(bytes.begin(), bytes.end(), wanted.begin() + 12);
    list.expect(x, wanted);
    list.limit_launches(3);
    list.run();
  }
}

// S5
TEST_F(Transfer, AMebibyteOfUpdatesArrives) {
  constexpr uint32_t pieces = 64;
  constexpr uint32_t size = 16384;
  ListCase list;
  const Bytes all = pattern_bytes(size_t{pieces} * size, 18);
  const BufferRef x = list.buffer("x", Bytes(all.size()));
  for (uint32_t i = 0; i < pieces; ++i) {
    const uint32_t at = (i * 7) % pieces;
    list.record.update(x.view(uint64_t{at} * size, size), std::span(all).subspan(size_t{at} * size, size));
  }
  list.expect(x, all);
  list.limit_launches(3);
  list.run();
}

// L1
TEST_F(Transfer, UpdateKeepsItsBytesWhenTheSourceIsGone) {
  ListCase list;
  const BufferRef x = list.buffer("x", Bytes(3000));
  for (uint32_t i = 0; i < 3; ++i) {
    auto source = std::make_unique<Bytes>(pattern_bytes(1000, i));
    list.record.update(x.view(uint64_t{1000} * i, 1000), *source);
    std::fill(source->begin(), source->end(), std::byte{0xEE});
    source.reset();
  }
  Bytes wanted;
  for (uint32_t i = 0; i < 3; ++i) {
    const Bytes piece = pattern_bytes(1000, i);
    wanted.insert(wanted.end(), piece.begin(), piece.end());
  }
  list.expect(x, wanted);
  list.limit_launches(1000);
  list.run();
}

// A merged list must leave what the list says.
TEST_F(Transfer, NeighbouringCommandsLeaveWhatEachSays) {
  ListCase list;
  Bytes wanted = pattern_bytes(512, 19);
  const Bytes source = pattern_bytes(512, 20);
  const BufferRef x = list.buffer("x", wanted);
  const BufferRef y = list.buffer("y", source);
  const auto fill = [&](uint64_t at, uint64_t size, size_t pattern) {
    list.record.fill(x.view(at, size), pattern_of(pattern));
    paint(wanted, at, size, std::span(sixteen).first(pattern));
  };
  fill(0, 16, 4);
  fill(16, 16, 4);
  fill(33, 3, 1);
  fill(36, 8, 1);
  fill(44, 8, 8);  // out of phase with the one after it
  fill(52, 12, 4);
  for (uint64_t i = 0; i < 8; ++i) list.record.copy(x.view(64 + 8 * i, 8), y.view(64 + 8 * i, 8));
  for (uint64_t i = 0; i < 8; ++i) list.record.copy(x.view(128 + 8 * i, 8), y.view(128 + 8 * (7 - i), 8));
  for (uint64_t i = 0; i < 8; ++i) {
    list.record.update(x.view(192 + 3 * i, 3), std::span(source).subspan(300 + 5 * i, 3));
  }
  std::copy_n(source.begin() + 64, 64, wanted.begin() + 64);
  for (std::ptrdiff_t i = 0; i < 8; ++i) {
    std::copy_n(source.begin() + 128 + 8 * (7 - i), 8, wanted.begin() + 128 + 8 * i);
    std::copy_n(source.begin() + 300 + 5 * i, 3, wanted.begin() + 192 + 3 * i);
  }
  list.expect(x, wanted);
  list.run();
}

}  // namespace
}  // namespace pianola::conformance

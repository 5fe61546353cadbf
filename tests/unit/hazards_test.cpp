// SPDX-License-Identifier: Apache-2.0
// Which accesses are ordered, and which are not.
#include "plan/hazards.hpp"

#include "plan_fixture.hpp"

namespace pianola {
namespace {

TEST(Hazards, ReadAfterWriteWaits) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t write = script.write(x);
  script.barrier();
  const uint32_t read = script.read(x);
  EXPECT_TRUE(Planned(script.finish()).orders(write, read));
}

TEST(Hazards, WriteAfterReadWaitsForEveryReader) {
  for (const uint32_t readers : {1, 2, 4, 5, 17, 32, 33, 257}) {
    Script script;
    const BufferRef x = script.buffer("x");
    std::vector<uint32_t> reads;
    for (uint32_t i = 0; i < readers; ++i) reads.push_back(script.read(x));
    script.barrier();
    const uint32_t write = script.write(x);
    const Planned planned(script.finish());
    for (const uint32_t read : reads) EXPECT_TRUE(planned.orders(read, write)) << read << " of " << readers;
    EXPECT_LE(planned.lanes().stats().edges, 31U);
  }
}

TEST(Hazards, EveryReaderWaitsForTheWrite) {
  for (const uint32_t readers : {1, 2, 4, 5, 17, 32, 33, 257}) {
    Script script;
    const BufferRef x = script.buffer("x");
    const uint32_t write = script.write(x);
    script.barrier();
    std::vector<uint32_t> reads;
    for (uint32_t i = 0; i < readers; ++i) reads.push_back(script.read(x));
    const Planned planned(script.finish());
    for (const uint32_t read : reads) EXPECT_TRUE(planned.orders(write, read)) << read << " of " << readers;
  }
}

TEST(Hazards, WriteAfterWriteWaits) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.write(x);
  script.barrier();
  const uint32_t second = script.write(x);
  EXPECT_TRUE(Planned(script.finish()).orders(first, second));
}

TEST(Hazards, ReadsDoNotWaitForReads) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.read(x);
  script.barrier();
  const uint32_t second = script.read(x);
  EXPECT_TRUE(Planned(script.finish()).leaves(first, second));
}

TEST(Hazards, NothingIsOrderedWithoutABarrier) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.write(x);
  const uint32_t second = script.write(x);
  const uint32_t third = script.read(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.leaves(first, second));
  EXPECT_TRUE(planned.leaves(second, third));
  EXPECT_TRUE(planned.leaves(first, third));
}

TEST(Hazards, OneSharedByteConflictsAndNeighboursDoNot) {
  struct Case {
    uint64_t offset, size;
    bool is_ordered;
  };
  for (const Case& c :
       {Case{0, 16, false}, Case{0, 17, true}, Case{31, 1, true}, Case{32, 1, false}, Case{16, 16, true},
        Case{20, 4, true}, Case{0, 64, true}, Case{15, 1, false}, Case{16, 1, true}}) {
    Script script;
    const BufferRef x = script.buffer("x");
    const uint32_t first = script.write(x.view(16, 16));
    script.barrier();
    const uint32_t second = script.read(x.view(c.offset, c.size));
    const Planned planned(script.finish());
    EXPECT_EQ(planned.orders(first, second), c.is_ordered) << c.offset << " + " << c.size;
    EXPECT_EQ(planned.leaves(first, second), !c.is_ordered) << c.offset << " + " << c.size;
  }
}

TEST(Hazards, OtherSlotsDoNotConflict) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  const uint32_t first = script.write(x);
  script.barrier();
  const uint32_t second = script.write(y);
  EXPECT_TRUE(Planned(script.finish()).leaves(first, second));
}

TEST(Hazards, AWriteOfOnePartLeavesTheOthersToTheirWriters) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t whole = script.write(x);
  script.barrier();
  const uint32_t middle = script.write(x.view(16, 16));
  script.barrier();
  const uint32_t low = script.read(x.view(0, 16));
  const uint32_t centre = script.read(x.view(20, 4));
  const uint32_t high = script.read(x.view(32, 32));
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(whole, low));
  EXPECT_TRUE(planned.leaves(middle, low));
  EXPECT_TRUE(planned.orders(middle, centre));
  EXPECT_TRUE(planned.leaves(middle, high));
  EXPECT_TRUE(planned.orders(whole, high));
}

TEST(Hazards, AReaderWaitsForAllUnorderedWriters) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.write(x.view(0, 40));
  const uint32_t second = script.write(x.view(20, 44));
  script.barrier();
  const uint32_t read = script.read(x.view(24, 8));
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(first, read));
  EXPECT_TRUE(planned.orders(second, read));
}

// A write that no barrier divides from another must not hide what that one waited for.
TEST(Hazards, AnUnorderedWriteHidesNothing) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t read = script.read(x);
  script.barrier();
  const uint32_t first = script.write(x.view(0, 32));
  const uint32_t second = script.write(x);
  script.barrier();
  const uint32_t last = script.write(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(read, first));
  EXPECT_TRUE(planned.orders(read, second));
  EXPECT_TRUE(planned.leaves(first, second));
  EXPECT_TRUE(planned.orders(first, last));
  EXPECT_TRUE(planned.orders(second, last));
}

// The node's own marks are there before it has a lane.
TEST(Hazards, ANodeThatTouchesManyPiecesTwiceHidesNothing) {
  constexpr uint32_t pieces = 100;
  Script script;
  const BufferRef x = script.buffer("x", 16 * pieces);
  // A long first one, so that the lane it is in takes no other.
  script.rec.dispatch(script.kernels.work(),
                      {.uses = {{x.view(0, 16), Access::out}}, .expected_time = std::chrono::milliseconds(1)});
  std::vector<uint32_t> writes = {script.count()};
  for (uint32_t i = 1; i < pieces; ++i) writes.push_back(script.write(x.view(16 * i, 16)));
  const uint32_t twice = script.work({{x.view(16 * 30, 16), Access::out}, {x, Access::out}});
  script.barrier();
  const uint32_t last = script.read(x);
  const Planned planned(script.finish());
  for (const uint32_t write : writes) EXPECT_TRUE(planned.orders(write, last)) << write;
  EXPECT_TRUE(planned.orders(twice, last));
}

TEST(Hazards, OpaqueKernelsConflictWithEverything) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  const uint32_t before = script.read(x);
  script.barrier();
  const uint32_t opaque = script.opaque();
  const uint32_t beside = script.write(y);
  script.barrier();
  const uint32_t after = script.fill(y);
  const uint32_t again = script.opaque();
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(before, opaque));
  EXPECT_TRUE(planned.leaves(opaque, beside));
  EXPECT_TRUE(planned.leaves(before, beside));
  EXPECT_TRUE(planned.orders(opaque, after));
  EXPECT_TRUE(planned.orders(opaque, again));
  EXPECT_TRUE(planned.orders(beside, again));
}

TEST(Hazards, AliasingSlotsAreOneMemory) {
  Script script;
  const BufferRef a = script.buffer("a", 64, true);
  const BufferRef b = script.buffer("b", 64, true);
  const BufferRef c = script.buffer("c");
  const uint32_t first = script.write(a.view(0, 16));
  script.barrier();
  const uint32_t other = script.read(b.view(32, 16));
  const uint32_t apart = script.read(c);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(first, other));
  EXPECT_TRUE(planned.leaves(first, apart));
}

TEST(Hazards, ALoneAliasingSlotIsAnOrdinaryOne) {
  Script script;
  const BufferRef a = script.buffer("a", 64, true);
  const uint32_t first = script.write(a.view(0, 16));
  script.barrier();
  const uint32_t second = script.read(a.view(16, 16));
  EXPECT_TRUE(Planned(script.finish()).leaves(first, second));
}

TEST(Hazards, IndirectCountsAreARead) {
  Script script;
  const BufferRef counts = script.buffer("counts");
  const uint32_t before = script.write(counts.view(16, 12));
  const uint32_t beside = script.write(counts.view(28, 4));
  script.barrier();
  script.rec.dispatch_indirect(script.kernels.work(), counts.view(16, 12), {});
  const uint32_t dispatch = script.count();
  script.barrier();
  const uint32_t after = script.write(counts.view(24, 4));
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(before, dispatch));
  EXPECT_TRUE(planned.leaves(beside, dispatch));
  EXPECT_TRUE(planned.orders(dispatch, after));
}

TEST(Hazards, BindingsCountByTheirAccess) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  script.rec.dispatch(script.kernels.move(), {.bindings = {x, y}});
  const uint32_t move = script.count();
  script.barrier();
  const uint32_t read_source = script.read(x);
  const uint32_t read_target = script.read(y);
  script.rec.dispatch(script.kernels.add(), {.bindings = {x, y}});
  const uint32_t add = script.count();
  script.barrier();
  const uint32_t write_source = script.write(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.leaves(move, read_source));
  EXPECT_TRUE(planned.orders(move, read_target));
  EXPECT_TRUE(planned.orders(move, add));
  EXPECT_TRUE(planned.orders(add, write_source));
  EXPECT_TRUE(planned.orders(read_source, write_source));
  EXPECT_TRUE(planned.leaves(read_target, write_source));
}

TEST(Hazards, CopiesReadTheirSourceAndWriteTheirDestination) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  script.rec.copy(y, x);
  const uint32_t copy = script.count();
  script.barrier();
  const uint32_t read_source = script.read(x);
  const uint32_t write_source = script.write(x);
  const uint32_t read_target = script.read(y);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.leaves(copy, read_source));
  EXPECT_TRUE(planned.orders(copy, write_source));
  EXPECT_TRUE(planned.orders(copy, read_target));
}

TEST(Hazards, OrderGoesThroughADiscard) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t low = script.read(x.view(0, 8));
  script.barrier();
  script.rec.discard(x.view(0, 32));
  script.count();
  script.barrier();
  const uint32_t high = script.read(x.view(24, 8));
  const uint32_t beyond = script.read(x.view(32, 8));
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(low, high));
  EXPECT_TRUE(planned.leaves(low, beyond));
}

// Readers before the discard have not waited for one another.
TEST(Hazards, ADiscardHidesNoReader) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.read(x);
  script.barrier();
  const uint32_t second = script.read(x);
  script.rec.discard(x.view(0, 8));
  script.count();
  script.barrier();
  const uint32_t write = script.write(x.view(0, 8));
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(first, write));
  EXPECT_TRUE(planned.orders(second, write));
}

TEST(Hazards, CollectivesOfOneChannelKeepTheirOrder) {
  Script script;
  const ChannelRef first = script.rec.channel("first");
  const ChannelRef second = script.rec.channel("second");
  const BufferRef x = script.buffer("x", 256);
  const auto collective = [&](ChannelRef channel, uint64_t at) {
    script.rec.collective({.channel = channel, .send = x.view(at, 16), .receive = x.view(at + 16, 16), .count = 4});
    return script.count();
  };
  const uint32_t a = collective(first, 0);
  const uint32_t b = collective(second, 64);
  const uint32_t c = collective(first, 128);
  const uint32_t d = collective(first, 192);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(a, c));
  EXPECT_TRUE(planned.orders(c, d));
  EXPECT_TRUE(planned.leaves(a, b));
  EXPECT_TRUE(planned.leaves(b, c));
}

}  // namespace
}  // namespace pianola

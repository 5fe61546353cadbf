// SPDX-License-Identifier: Apache-2.0
// Many commands at once: without a barrier, fanning out and in, and the same kernel many times.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Fan : public ListTest {};

constexpr uint32_t slow_rounds = 2000;

// O2
TEST_F(Fan, ManyCommandsWithoutABarrierAllRun) {
  for (const uint32_t count : {32U, 33U, 64U, 1000U}) {
    ListCase list;
    const BufferRef x = list.buffer("x", repeated(0, count));
    for (uint32_t i = 0; i < count; ++i) {
      if (i % 2 == 0) {
        list.record.fill(x.view(4 * i, 4), i + 1);
      } else {
        list.record.dispatch(kernel("iota"), {.constants = {i + 1, 1U}, .bindings = {x.view(4 * i, 4)}});
      }
    }
    list.expect(x, counting(count, 1));
    if (count > 64) list.limit_launches(5);
    list.run();
  }
}

// O2
TEST_F(Fan, AHundredThousandCommandsWithoutABarrierAllRun) {
  const uint32_t count = run_options().quick ? 10000 : 100000;
  ListCase list;
  const BufferRef x = list.buffer("x", repeated(0, count));
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = count - 1 - i;  // backwards, so that neighbours in the list do not merge into one
    list.record.fill(x.view(4 * at, 4), at + 1);
  }
  list.expect(x, counting(count, 1));
  list.limit_launches(2);
  list.run();
}

// O4
TEST_F(Fan, OneWriterIsSeenByEveryReader) {
  for (const uint32_t children : {1U, 2U, 3U, 4U, 5U, 17U, 32U, 33U, 257U}) {
    ListCase list;
    const BufferRef x = list.buffer("x", counting(4, 1));
    const BufferRef root = list.buffer("root", repeated(0, 4));
    const BufferRef leaves = list.buffer("leaves", repeated(0, 4 * children));
    list.record.dispatch(kernel("slow_copy"), {.constants = {slow_rounds, 4U}, .bindings = {x, root}}).barrier();
    for (uint32_t i = 0; i < children; ++i) {
      const Dispatch copy{.constants = {4U}, .bindings = {root, leaves.view(16 * i, 16)}};
      list.record.dispatch(kernel("copy_elements"), copy);
    }
    std::vector<uint32_t> wanted(4 * children);
    for (uint32_t i = 0; i < wanted.size(); ++i) wanted[i] = i % 4 + 1;
    list.expect(root, counting(4, 1));
    list.expect(leaves, wanted);
    if (children > 33) list.limit_launches(10);
    list.run();
  }
}

// O4
TEST_F(Fan, OneReaderSeesEveryWriter) {
  for (const uint32_t parents : {1U, 2U, 3U, 4U, 5U, 17U, 32U, 33U, 257U}) {
    ListCase list;
    const BufferRef x = list.buffer("x", counting(parents, 1));
    const BufferRef y = list.buffer("y", repeated(0, parents));
    const BufferRef sum = list.buffer("sum", repeated(0, 1));
    for (uint32_t i = 0; i < parents; ++i) {
      const Dispatch copy{.constants = {slow_rounds, 1U}, .bindings = {x.view(4 * i, 4), y.view(4 * i, 4)}};
      list.record.dispatch(kernel("slow_copy"), copy);
    }
    list.record.barrier().dispatch(kernel("sum_all"), {.constants = {parents}, .bindings = {y, sum}});
    list.expect(y, counting(parents, 1));
    list.expect(sum, repeated(parents * (parents + 1) / 2, 1));
    if (parents > 33) list.limit_launches(10);
    list.run();
  }
}

// O4
TEST_F(Fan, DiamondsInARowKeepOrder) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(8, 1));
  const BufferRef a = list.buffer("a", repeated(0, 8));
  const BufferRef b = list.buffer("b", repeated(0, 8));
  std::vector<uint32_t> vx = counting(8, 1);
  std::vector<uint32_t> va;
  std::vector<uint32_t> vb;
  for (uint32_t round = 0; round < 10; ++round) {
    list.record.dispatch(kernel("slow_copy"), {.constants = {slow_rounds, 8U}, .bindings = {x, a}});
    list.record.dispatch(kernel("combine"), {.constants = {round, 8U}, .bindings = {x, x, b}}).barrier();
    list.record.dispatch(kernel("combine"), {.constants = {3U, 8U}, .bindings = {a, b, x}}).barrier();
    va = vx;
    vb = vx;
    for (uint32_t i = 0; i < 8; ++i) {
      vb[i] = vx[i] * round + vx[i];
      vx[i] = va[i] * 3 + vb[i];
    }
  }
  list.expect(x, vx);
  list.expect(a, va);
  list.expect(b, vb);
  list.run();
}

// O9
TEST_F(Fan, EachDispatchOfOneKernelKeepsItsOwnArguments) {
  constexpr uint32_t count = 100;
  ListCase list;
  const BufferRef x = list.buffer("x", repeated(0, 4 * count));
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = (i * 37) % count;
    list.record.dispatch(kernel("iota"), {.constants = {1000 * at, 1 + at % 4}, .bindings = {x.view(16 * at, 16)}});
  }
  std::vector<uint32_t> wanted = repeated(0, 4 * count);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = 0; k < 1 + i % 4; ++k) wanted[4 * i + k] = 1000 * i + k;
  }
  list.expect(x, wanted);
  list.run();
}

// O6
TEST_F(Fan, NothingOfZeroSizeBreaksTheOrderThroughIt) {
  for (int kind = 0; kind < 4; ++kind) {
    ListCase list;
    const BufferRef x = list.buffer("x", counting(16, 2));
    const BufferRef y = list.buffer("y", repeated(0, 16));
    const BufferRef z = list.buffer("z", repeated(0, 16));
    list.record.dispatch(kernel("slow_copy"), {.constants = {slow_rounds, 16U}, .bindings = {x, y}}).barrier();
    if (kind == 0) list.record.fill(y.view(0, 0), 1U);
    if (kind == 1) list.record.copy(y.view(8, 0), x.view(4, 0));
    if (kind == 2) list.record.update(y.view(0, 0), Bytes());
    if (kind == 3) {
      list.record.dispatch(kernel("iota"), {.groups = {1, 0, 1}, .constants = {9U, 16U}, .bindings = {y}});
    }
    list.record.barrier().copy(z, y);
    list.expect(y, counting(16, 2));
    list.expect(z, counting(16, 2));
    list.run();
  }
}

}  // namespace
}  // namespace pianola::conformance

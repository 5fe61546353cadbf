// SPDX-License-Identifier: Apache-2.0
// Dispatches: grids, workgroup memory, constants of every size, bindings with holes and up to 64.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Dispatches : public ListTest {};

/// There is a kernel constants_N for each.
const uint32_t store_sizes[] = {4, 8, 12, 16, 20, 60, 64, 68, 124, 128, 132, 252, 256, 260, 508, 512, 516, 1020, 1024};

std::vector<uint32_t> ids_of_grid(uint32_t x, uint32_t y, uint32_t z) {
  const uint32_t width = 4 * x;
  const uint32_t height = 2 * y;
  std::vector<uint32_t> ids(size_t{width} * height * 2 * z);
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const uint32_t gx = i % width;
    const uint32_t gy = i / width % height;
    const uint32_t gz = i / width / height;
    const uint32_t local = gx % 4 + 4 * (gy % 2 + 2 * (gz % 2));
    ids[i] = gx + 100 * gy + 10000 * gz + 1000000 * local + 16000000 * ((gx / 4 + gy / 2 + gz / 2) & 15);
  }
  return ids;
}

TEST_F(Dispatches, EveryThreadOfAGridKnowsItsIds) {
  const uint32_t grids[][3] = {{1, 1, 1}, {3, 1, 1}, {1, 3, 1}, {1, 1, 3}, {5, 4, 3}, {2, 7, 5}};
  for (const auto& [x, y, z] : grids) {
    ListCase list;
    const std::vector<uint32_t> ids = ids_of_grid(x, y, z);
    const BufferRef result = list.buffer("result", repeated(0, static_cast<uint32_t>(ids.size())));
    list.record.dispatch(kernel("grid_ids"), {.groups = {x, y, z}, .bindings = {result}});
    list.expect(result, ids);
    list.limit_launches(5);
    list.run();
  }
}

// S6: the largest count that every device takes, in each dimension
TEST_F(Dispatches, TheLargestGridRuns) {
  constexpr uint32_t most = 65535;
  const std::vector<Groups> grids = {{most, 1, 1}, {1, most, 1}, {1, 1, most}};
  for (const Groups& groups : grids) {
    ListCase list;
    const BufferRef marks = list.buffer("marks", counting(most + 1));
    list.record.dispatch(kernel("mark_groups"), {.groups = groups, .constants = {7U}, .bindings = {marks}});
    std::vector<uint32_t> wanted = counting(most + 1, 7);
    wanted.back() = most;
    list.expect(marks, wanted);
    list.limit_launches(2);
    list.run();
  }
}

TEST_F(Dispatches, WorkgroupMemoryIsSharedAcrossABarrier) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64 * 9));
  list.record.dispatch(kernel("reverse_groups"), {.groups = {9}, .bindings = {x}});
  std::vector<uint32_t> wanted(64 * 9);
  for (uint32_t i = 0; i < wanted.size(); ++i) wanted[i] = i / 64 * 64 + 63 - i % 64;
  list.expect(x, wanted);
  list.run();
}

TEST_F(Dispatches, DynamicWorkgroupMemoryHasTheKernelsSize) {
  const std::pair<const char*, uint32_t> sizes[] = {{"reverse_16k", 16 * 1024}, {"reverse_60k", 60 * 1024}};
  for (const auto& [name, bytes] : sizes) {
    // What is over the device's limit is refused: ApiInstantiateError.
    if (bytes > device().limits().max_dynamic_shared_bytes) continue;
    const uint32_t count = bytes / 4;
    ListCase list;
    const BufferRef x = list.buffer("x", counting(count));
    const BufferRef y = list.buffer("y", repeated(0, count));
    list.record.dispatch(packed_kernel(name), {.constants = {count}, .bindings = {x, y}});
    // Between launches with much of it, one that takes none.
    list.record.barrier().dispatch(kernel("mark_groups"), {.groups = {1}, .constants = {9U}, .bindings = {x}});
    list.record.barrier().dispatch(packed_kernel(name), {.constants = {count - 1}, .bindings = {y, x}});
    std::vector<uint32_t> reversed(count);
    for (uint32_t i = 0; i < count; ++i) reversed[i] = count - 1 - i;
    list.expect(y, reversed);
    std::vector<uint32_t> again = counting(count, 1);
    again.back() = count - 1;
    list.expect(x, again);
    list.limit_launches(5);
    list.run();
  }
}

// S8: each size up to the limit, 16-byte multiples and others
TEST_F(Dispatches, ConstantsOfEverySizeArrive) {
  for (const uint32_t size : store_sizes) {
    const Bytes block = pattern_bytes(size, size);
    ListCase list;
    const BufferRef given = list.buffer("given", Bytes(size + 8));
    const BufferRef pushed = list.buffer("pushed", Bytes(size + 8));
    const Kernel store = kernel("constants_" + std::to_string(size));
    ASSERT_TRUE(store.is_present()) << size;
    list.record.dispatch(store, {.constants = Constants::from_bytes(block), .bindings = {given}});
    list.record.push_constants(0, std::span<const std::byte>(block)).dispatch(store, {.bindings = {pushed}});
    Bytes wanted(size + 8);
    std::copy(block.begin(), block.end(), wanted.begin());
    list.expect(given, wanted);
    list.expect(pushed, wanted);
    list.limit_launches(5);
    list.run();
  }
}

TEST_F(Dispatches, ConstantsOfSeveralKindsLieOneAfterAnother) {
  ListCase list;
  const BufferRef x = list.buffer("x", repeated(0, 5));
  const std::array<uint32_t, 3> words = {11, 12, 13};
  const ConstantRef after = list.constant("after", int32_t{-5});
  list.record.dispatch(kernel("constants_mixed"), {.constants = {10U, words, after}, .bindings = {x}});
  list.expect(x, std::vector<uint32_t>{10, 11, 12, 13, 0xFFFFFFFBU});
  list.run();
}

// S8
TEST_F(Dispatches, PartialConstantUpdatesPersist) {
  ListCase list;
  const BufferRef x = list.buffer("x", Bytes(4 * 64));
  const Kernel store = kernel("constants_64");
  std::vector<uint32_t> state = counting(16, 100);
  std::vector<uint32_t> wanted;
  list.record.push_constants(0, std::as_bytes(std::span(state)));
  for (uint32_t step = 0; step < 4; ++step) {
    if (step > 0) list.record.push_constants(20 * step, step);  // one word at 20, 40, 60
    if (step > 0) state[5 * step] = step;
    list.record.dispatch(store, {.bindings = {x.view(64 * step, 64)}});
    wanted.insert(wanted.end(), state.begin(), state.end());
  }
  list.expect(x, wanted);
  list.run();
}

TEST_F(Dispatches, NamedConstantsReachKernelsAndGrids) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef marks = list.buffer("marks", repeated(0, 30));
  const ConstantRef value = list.constant("value", uint32_t{0x12345678});
  const ConstantRef groups = list.constant("groups", uint32_t{5});
  const Kernel add = kernel("add_constant");
  list.record.dispatch(add, {.constants = {value, 64U}, .bindings = {x}});
  list.record.dispatch(kernel("mark_groups"), {.groups = {groups, 2, 3}, .constants = {value}, .bindings = {marks}});
  list.expect(x, counting(64, 0x12345678));
  list.expect(marks, repeated(0x12345678, 30));
  list.run();
}

// S9
TEST_F(Dispatches, BindingsWithHolesReachTheirPlaces) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64, 10));
  const BufferRef y = list.buffer("y", repeated(0, 64));
  const BufferRef z = list.buffer("z", repeated(0, 64));
  const BufferRef w = list.buffer("w", repeated(0, 64));
  list.record.dispatch(kernel("hole_0_2"), {.constants = {64U}, .bindings = {x, y}});
  list.record.push_descriptor_set(0, {{2, z}, {0, x}});  // out of order
  list.record.dispatch(kernel("hole_0_2"), {.constants = {64U}});
  list.record.push_descriptor_set(0, {{5, w}});
  list.record.dispatch(kernel("hole_5"), {.constants = {40U, 64U}});
  list.expect(y, counting(64, 12));
  list.expect(z, counting(64, 12));
  list.expect(w, counting(64, 40));
  list.run();
}

// S9
TEST_F(Dispatches, BindingsFromSeveralSetsAreOrderedBySetAndNumber) {
  ListCase list;
  const BufferRef low = list.buffer("low", counting(64, 1));
  const BufferRef high = list.buffer("high", counting(64, 1000));
  const BufferRef given = list.buffer("given", repeated(0, 64));
  const BufferRef pushed = list.buffer("pushed", repeated(0, 64));
  std::vector<uint32_t> wanted(64);
  for (uint32_t i = 0; i < 64; ++i) wanted[i] = (1 + i) * 3 + (1000 + i) * 5;
  const Kernel sets = kernel("three_sets");
  list.record.dispatch(sets, {.constants = {64U}, .bindings = {low, given, high}});
  list.record.push_descriptor_set(2, {{1, high}}).push_descriptor_set(1, {{0, pushed}});
  list.record.push_descriptor_set(0, {{3, low}}).dispatch(sets, {.constants = {64U}});
  list.expect(given, wanted);
  list.expect(pushed, wanted);
  list.run();
}

// S9
TEST_F(Dispatches, DescriptorSetsUpdatedInPartKeepTheRest) {
  ListCase list;
  const BufferRef a = list.buffer("a", counting(64, 1));
  const BufferRef b = list.buffer("b", counting(64, 100));
  const BufferRef x = list.buffer("x", repeated(0, 64));
  const BufferRef y = list.buffer("y", repeated(0, 64));
  const Kernel copy = kernel("copy_elements");
  list.record.push_constants(0, 64U).push_descriptor_set(0, {{0, a}, {1, x}}).dispatch(copy, {});
  list.record.push_descriptor_set(0, {{1, y}, {0, b}}).push_descriptor_set(0, {{0, a}}).dispatch(copy, {});
  list.expect(x, counting(64, 1));
  list.expect(y, counting(64, 1));
  list.run();
}

// S10
TEST_F(Dispatches, SixtyFourBindingsWork) {
  ListCase list;
  std::vector<BufferRef> bindings;
  const BufferRef shared = list.buffer("shared", counting(16 * 63));
  for (uint32_t k = 0; k < 63; ++k) bindings.push_back(shared.view(64 * k, 64));
  const BufferRef own = list.buffer("own", counting(16, 7000));
  bindings[40] = own;
  const BufferRef result = list.buffer("result", repeated(0, 16));
  bindings.push_back(result);
  list.record.dispatch(kernel("bindings_64"), {.constants = {16U}, .bindings = bindings});
  std::vector<uint32_t> wanted(16);
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t k = 0; k < 63; ++k) wanted[i] += (k + 1) * (k == 40 ? 7000 + i : 16 * k + i);
  }
  list.expect(result, wanted);
  list.run();
}

/// Where sparse_40 has its inputs, in their order; its result is at (1, 13).
std::vector<std::pair<uint32_t, uint32_t>> sparse_places() {
  std::vector<std::pair<uint32_t, uint32_t>> places;
  for (uint32_t binding = 0; binding <= 24; binding += 2) places.emplace_back(0, binding);
  for (uint32_t binding = 1; binding <= 25; binding += 2) {
    if (binding != 13) places.emplace_back(1, binding);
  }
  for (const uint32_t binding : {5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 23, 24}) places.emplace_back(2, binding);
  return places;
}

// S9, with more buffers than Metal binds directly
TEST_F(Dispatches, ManyBindingsWithHolesInSeveralSetsReachTheirPlacesAndAreUpdatedInPart) {
  ListCase list;
  const auto places = sparse_places();
  const auto inputs = static_cast<uint32_t>(places.size());
  const BufferRef shared = list.buffer("shared", counting(16 * inputs));
  const BufferRef own = list.buffer("own", counting(16, 7000));
  const BufferRef pushed = list.buffer("pushed", repeated(0, 16));
  const BufferRef updated = list.buffer("updated", repeated(0, 16));
  const BufferRef given = list.buffer("given", repeated(0, 16));
  const Kernel sum = kernel("sparse_40");
  for (uint32_t k = inputs; k-- > 0;) {  // out of order
    list.record.push_descriptor_set(places[k].first, {{places[k].second, shared.view(64 * k, 64)}});
  }
  list.record.push_descriptor_set(1, {{13, pushed}}).dispatch(sum, {.constants = {16U}});
  list.record.push_descriptor_set(2, {{24, own}, {5, own}}).push_descriptor_set(1, {{13, updated}, {1, own}});
  list.record.dispatch(sum, {.constants = {16U}});
  Dispatch direct{.constants = {16U}};
  for (uint32_t k = 0; k < inputs; ++k) {
    if (k == 19) direct.bindings.push_back(given);  // of set 1, between 11 and 15
    direct.bindings.push_back(shared.view(64 * k, 64));
  }
  list.record.dispatch(sum, direct);
  std::vector<uint32_t> plain(16), changed(16);
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t k = 0; k < inputs; ++k) {
      const bool is_own = k == 13 || k == 25 || k == 38;  // (1, 1), (2, 5), (2, 24)
      plain[i] += (k + 1) * (16 * k + i);
      changed[i] += (k + 1) * (is_own ? 7000 + i : 16 * k + i);
    }
  }
  list.expect(pushed, plain);
  list.expect(updated, changed);
  list.expect(given, plain);
  list.run();
}

TEST_F(Dispatches, BoundRangesMayStartAnywhereTheDeviceSays) {
  const uint32_t limit = device().limits().dispatch_alignment;
  const uint32_t step = limit == 0 ? 4 : std::max(limit, 4U);
  ListCase list;
  const BufferRef x = list.buffer("x", pattern_bytes(64 + 8 * step, 3));
  Bytes wanted = pattern_bytes(64 + 8 * step, 4);
  const BufferRef y = list.buffer("y", wanted);
  const Bytes source = pattern_bytes(64 + 8 * step, 3);
  for (uint32_t i = 0; i < 8; ++i) {
    const Dispatch copy{.constants = {1U}, .bindings = {x.view(step * i + 0, 4), y.view(step * i, 4)}};
    list.record.dispatch(kernel("copy_elements"), copy);
    std::copy_n(source.begin() + step * i, 4, wanted.begin() + step * i);
  }
  list.expect(y, wanted);
  list.run();
}

}  // namespace
}  // namespace pianola::conformance

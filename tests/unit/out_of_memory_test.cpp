// SPDX-License-Identifier: Apache-2.0
// Memory runs out at every allocation in turn: an error comes out, nothing is half done, and a retry works.
#include <cstdint>
#include <cstdlib>
#include <new>

#include "cpu_fixture.hpp"

namespace {

/// Allocations of this thread that still succeed; negative: all do.
thread_local int64_t allocations_left = -1;

void* allocate(size_t size, size_t alignment) {
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  if (size == 0) size = 1;
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(size_t size, size_t alignment) {
  void* block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

// Replaced for the whole program; the others of the standard library call these.
void* operator new(size_t size) {
  return allocate_or_throw(size, 1);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<size_t>(alignment));
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, size_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace pianola {
namespace {

/// Fails the first allocation of `body`, then the second, and so on, until it gets through. `body` gives a Result.
template <class F>
auto fail_each_allocation(F body) {
  for (int64_t n = 0;; ++n) {
    allocations_left = n;
    auto result = body();
    const bool ran_out = allocations_left == 0;
    allocations_left = -1;
    if (result && !ran_out) return result;
    if (!result) {
      EXPECT_EQ(result.error().code, Errc::out_of_memory) << "allocation " << n << ": " << to_string(result.error());
    }
    if (n > 100000) {
      ADD_FAILURE() << "never gets through";
      return result;
    }
  }
}

class OutOfMemory : public CpuFixture {
 protected:
  static CommandBuffer record() {
    Recorder recorder;
    const BufferRef a = recorder.buffer("a", 256);
    const BufferRef b = recorder.buffer("b", 256);
    recorder.fill(a, 7U).barrier().update(b.view(0, 8), std::vector<uint32_t>{1, 2});
    recorder.dispatch(kernels()["multiply_add"], {.constants = {2U, 1U, 64U}, .bindings = {a}}).barrier();
    recorder.copy(b.view(8), a.view(8));
    return finish(recorder);
  }
  static void expect_result(const Buffer& b) {
    std::vector<uint32_t> expected(64, 15);
    expected[0] = 1;
    expected[1] = 2;
    EXPECT_EQ(contents(b), expected);
  }
};

TEST_F(OutOfMemory, OpenAndAllocateFailCleanly) {
  const Device device = *fail_each_allocation([] { return Device::open("cpu", {.threads = 1}); });
  EXPECT_TRUE(fail_each_allocation([&] { return device.allocate(100); }));
  EXPECT_TRUE(fail_each_allocation([&] { return Semaphore::create(); }));
}

TEST_F(OutOfMemory, InstantiateFailsCleanlyAndTheRecordingStaysUsable) {
  const Device device = open();
  const CommandBuffer commands = record();
  const Buffer a = words(device, 64);
  const Buffer b = words(device, 64);
  const InstantiateOptions options{.bindings = {{"a", a}, {"b", b}}};
  const auto graph = fail_each_allocation([&] { return device.instantiate(commands, options); });
  replay(device, *graph);
  expect_result(b);
}

TEST_F(OutOfMemory, SubmitFailsCleanlyAndTheGraphStaysUsable) {
  const Device device = open();
  const Graph graph = instantiate(device, record());
  const Buffer a = words(device, 64);
  const Buffer b = words(device, 64);
  const Semaphore done = *Semaphore::create();
  SubmitInfo info{.bindings = {{"a", a}, {"b", b}}};
  const auto submission = fail_each_allocation([&] { return device.queue().submit(graph, info); });
  ASSERT_TRUE(submission->wait());
  expect_result(b);
  info.signal = {{done, 1}};
  replay(device, graph, info);
  EXPECT_EQ(done.value(), 1U);
}

}  // namespace
}  // namespace pianola

// SPDX-License-Identifier: Apache-2.0
// Records, replays and checks a few commands through the installed library.
#include <pianola/pianola.hpp>
#if defined(CONSUMER_USES_CUDA)
#include <pianola/interop/cuda.hpp>
#endif

#include <cstdint>
#include <cstdio>
#include <vector>

#include "packed_kernels.hpp"

namespace {

int fail(const pianola::Error& error) {
  std::fprintf(stderr, "%s\n", pianola::to_string(error).c_str());
  return 1;
}

int replay() {
  auto device = pianola::Device::open("cpu");
  if (!device) return fail(device.error());
#if defined(CONSUMER_USES_CUDA)
  if (pianola::interop::cuda::native_context(*device) != nullptr) return fail({.message = "the CPU has a CUcontext"});
#endif
  auto memory = device->allocate(1024);
  if (!memory) return fail(memory.error());

  pianola::Recorder recorder;
  const pianola::BufferRef half = recorder.buffer("half", 512);
  const pianola::BufferRef whole = recorder.buffer("whole", 1024, {.alignment = 1});
  recorder.fill(half, uint32_t{7}).barrier().copy(whole.view(512, 512), half);
  auto commands = recorder.finish();
  if (!commands) return fail(commands.error());
  auto scratch = device->allocate(512);
  if (!scratch) return fail(scratch.error());
  auto graph = device->instantiate(*commands, {.bindings = {{half, *scratch}, {whole, *memory}}});
  if (!graph) return fail(graph.error());
  auto submission = device->queue().submit(*graph);
  if (!submission) return fail(submission.error());
  if (auto done = submission->wait(); !done) return fail(done.error());

  std::vector<uint32_t> values(128);
  if (auto read = memory->read(512, values); !read) return fail(read.error());
  for (const uint32_t value : values) {
    if (value != 7) return fail({.message = "a wrong value came back"});
  }
  std::printf("pianola %s: %zu values are right\n", std::string(pianola::version()).c_str(), values.size());
  return 0;
}

/// values[i] = 0, 2, 4, ... through one kernel; what comes back must be factor * i.
int run_kernel(const pianola::Kernel& kernel, const pianola::Constants& constants, uint32_t factor) {
  const auto device = pianola::Device::open("cpu");
  if (!device) return fail(device.error());
  std::vector<uint32_t> values(200);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = 2 * i;
  auto memory = device->allocate(values.size() * 4);
  if (!memory) return fail(memory.error());
  if (auto written = memory->write(0, values); !written) return fail(written.error());
  pianola::Recorder recorder;
  recorder.dispatch(kernel, {.groups = {4}, .constants = constants, .bindings = {recorder.buffer(*memory)}});
  const auto commands = recorder.finish();
  if (!commands) return fail(commands.error());
  const auto submission = device->queue().run(*commands);
  if (!submission) return fail(submission.error());
  if (auto done = submission->wait(); !done) return fail(done.error());
  if (auto read = memory->read(0, values); !read) return fail(read.error());
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i] != factor * i) return fail({.message = "a kernel gave a wrong value"});
  }
  return 0;
}

int run_kernels() {
  const auto packed = pianola::KernelLibrary::from_bytes(packed_kernels());
  if (!packed) return fail(packed.error());
  const uint64_t count = 200;
  if (run_kernel((*packed)["halve"], pianola::Constants::from_bytes(std::as_bytes(std::span(&count, 1))), 1) != 0) {
    return 1;
  }
#if defined(PIANOLA_KERNELS_FILE)
  const auto built = pianola::KernelLibrary::load(PIANOLA_KERNELS_FILE);
  if (!built) return fail(built.error());
  if (run_kernel((*built)["triple"], {200U}, 6) != 0) return 1;
  std::printf("built and packed kernels are right\n");
#else
  std::printf("packed kernels are right\n");
#endif
  return 0;
}

}  // namespace

int main() {
  return replay() != 0 || run_kernels() != 0 ? 1 : 0;
}

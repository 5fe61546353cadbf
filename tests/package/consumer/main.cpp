// SPDX-License-Identifier: Apache-2.0
// Records, replays and checks a few commands through the installed library.
#include <pianola/pianola.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

int fail(const pianola::Error& error) {
  std::fprintf(stderr, "%s\n", pianola::to_string(error).c_str());
  return 1;
}

int replay() {
  auto device = pianola::Device::open("cpu");
  if (!device) return fail(device.error());
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

}  // namespace

int main() {
  return replay();
}

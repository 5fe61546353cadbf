// SPDX-License-Identifier: Apache-2.0
// The README's example, word for word; a test compares the two.
#include <pianola/pianola.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace pianola;

template <class T>
T check(Result<T> result) {
  if (!result) std::puts(to_string(result.error()).c_str()), std::exit(1);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

int main(int, char** argv) {
  constexpr uint32_t n = 1024;
  KernelLibrary kernels = check(KernelLibrary::load(argv[1]));

  // Record once: no device, no memory, only slots.
  Recorder rec;
  BufferRef x = rec.buffer("x", n * sizeof(float));
  BufferRef y = rec.buffer("y", n * sizeof(float));
  ConstantRef a = rec.constant("a", sizeof(float));
  rec.fill(y, 1.0f).barrier();
  rec.dispatch(kernels["saxpy"], {.groups = {n / 256}, .constants = {a, n}, .bindings = {x, y}});
  CommandBuffer commands = check(rec.finish());

  // Replay on a device, as often as wanted: memory and values may change at each submit.
  Device device = check(Device::open("cpu"));
  Graph graph = check(device.instantiate(commands));
  Buffer input = check(device.allocate(n * sizeof(float)));
  Buffer output = check(device.allocate(n * sizeof(float)));
  std::vector<float> values(n, 3.0f);
  check(input.write(0, values));
  for (float factor : {2.0f, 5.0f}) {
    SubmitInfo info{.bindings = {{x, input}, {y, output}}, .constants = {{a, factor}}};
    check(check(device.queue().submit(graph, info)).wait());
    check(output.read(0, values));
    std::printf("%g * 3 + 1 = %g\n", factor, values[n - 1]);
  }
}

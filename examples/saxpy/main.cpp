// SPDX-License-Identifier: Apache-2.0
// The README's example, word for word; a test compares the two.
#include <pianola/pianola.hpp>

#include <cstdio>
#include <vector>

int main(int, char** argv) {
  using namespace pianola;  // value() throws the error that a failed call returned
  constexpr uint32_t n = 1024;
  KernelLibrary kernels = KernelLibrary::load(argv[1]).value();

  // Record once: no device, no memory, only slots.
  Recorder rec;
  BufferRef x = rec.buffer("x", n * sizeof(float));
  BufferRef y = rec.buffer("y", n * sizeof(float));
  ConstantRef a = rec.constant("a", sizeof(float));
  rec.fill(y, 1.0f).barrier();
  rec.dispatch(kernels["saxpy"], {.groups = {n / 256}, .constants = {a, n}, .bindings = {x, y}});
  CommandBuffer commands = rec.finish().value();

  // Replay on a device, as often as wanted: memory and values may change at each submit.
  Device device = Device::open("cpu").value();
  Graph graph = device.instantiate(commands).value();
  Buffer input = device.allocate(n * sizeof(float)).value();
  Buffer output = device.allocate(n * sizeof(float)).value();
  input.write(0, std::vector<float>(n, 3.0f)).value();
  std::vector<float> result(n);
  for (float factor : {2.0f, 5.0f}) {
    SubmitInfo info{.bindings = {{x, input}, {y, output}}, .constants = {{a, factor}}};
    device.queue().submit(graph, info).value().wait().value();
    output.read(0, result).value();
    std::printf("%g * 3 + 1 = %g\n", factor, result[n - 1]);
  }
}

// SPDX-License-Identifier: Apache-2.0
// PTX and AMD code objects: clang takes the source as CUDA or HIP, with no header or library of either.
#include "kernel_build/compile.hpp"

namespace pianola::kernel_build {
namespace {

std::vector<std::string> ptx_options(const Target& target) {
  // A driver of CUDA 12 reads both versions. A path that does not exist keeps an installed toolkit from mattering.
  const bool waits = target.arch == "sm_90";
  std::vector<std::string> options = {"-x",
                                      "cuda",
                                      "--cuda-device-only",
                                      "--cuda-path=/nonexistent",
                                      "--cuda-gpu-arch=" + std::string(target.arch),
                                      std::string("--cuda-feature=+") + (waits ? "ptx78" : "ptx63"),
                                      "-nocudainc",
                                      "-nocudalib",
                                      "-DPIANOLA_KERNEL_PTX",
                                      "-S"};
  if (waits) options.emplace_back("-DPIANOLA_KERNEL_GRID_WAIT");
  return options;
}

// Version 4 is what AMD's runtimes from 5.2 on all load.
std::vector<std::string> hsaco_options(const Target& target) {
  return {"-x", "hip", "--cuda-device-only", "--offload-arch=" + std::string(target.arch), "-nogpuinc", "-nogpulib",
          "--no-gpu-bundle-output", "-mcode-object-version=4", "-fuse-cuid=none",
          // Private arrays must not move to workgroup memory: the kernel did not declare any.
          "-mllvm", "-disable-promote-alloca-to-lds", "-DPIANOLA_KERNEL_AMDGPU"};
}

}  // namespace

Result<Compiled> compile_gpu(const Source& source, const Target& target, const Toolchain& tools) {
  const bool is_ptx = target.format == ObjectFormat::ptx;
  auto output = run_clang(source, target, tools, is_ptx ? ptx_options(target) : hsaco_options(target));
  if (!output) return output.error();
  // Drivers take PTX as a string.
  if (is_ptx) output->bytes.push_back(std::byte{0});
  return Compiled{.objects = {whole_object(source, target, std::move(output->bytes))},
                  .dependencies = std::move(output->dependencies)};
}

}  // namespace pianola::kernel_build

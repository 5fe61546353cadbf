// SPDX-License-Identifier: Apache-2.0
// Kernels of other makers take their arguments in any order, with structs and wide numbers among them.
#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

struct Step {
  uint32_t factor, summand, unused;
};

/// to[i] = from[i] * step.factor + step.summand, as kernel(count, to, step, from).
void apply_step(const pianola_host_launch* launch) {
  const auto* from = static_cast<const uint32_t*>(launch->buffers[1]);
  auto* to = static_cast<uint32_t*>(launch->buffers[0]);
  const auto* block = static_cast<const std::byte*>(launch->constants);
  uint64_t count = 0;
  Step step;
  std::memcpy(&count, block, sizeof count);
  std::memcpy(&step, block + 8, sizeof step);
  for (uint64_t i = 0; i < count; ++i) to[i] = from[i] * step.factor + step.summand;
}

format::LibraryContents step_library() {
  format::LibraryContents contents;
  contents.name = "steps";
  KernelInfo info{.name = "apply_step"};
  info.bindings = {{"to", 0, 0, Access::out, 4}, {"from", 0, 1, Access::in, 4}};
  info.constants = {{"count", 0, 8}, {"step", 8, 12}};
  info.constant_bytes = 20;
  info.argument_order = {2, 0, 3, 1};
  contents.kernels = {info};
  const std::string ptx = ".version 6.3\n.target sm_70\n.visible .entry apply_step(\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(ptx.data());
  contents.objects.push_back({ObjectFormat::ptx, "sm_70", {bytes, bytes + ptx.size()}, {{0, "apply_step"}}});
  return contents;
}

class DriverArguments : public DriverTest {};

TEST_F(DriverArguments, ReachTheKernelInItsOwnOrder) {
  const auto image = format::write_library(step_library()).value();
  const KernelLibrary kernels = KernelLibrary::from_bytes(image).value();
  sim.add(kernels.kernels()[0], apply_step);
  for (const bool native : {true, false}) {
    const Buffer from = make_buffer({1, 2, 3, 4});
    const Buffer to = make_buffer({0, 0, 0, 0});
    struct {
      uint64_t count = 3;
      Step step = {10, 5, 0};
    } constants;
    Recorder recorder;
    recorder.dispatch(kernels["apply_step"],
                      {.groups = {1},
                       .constants = Constants::from_bytes(std::as_bytes(std::span(&constants, 1)).first(20)),
                       .bindings = {recorder.buffer(to), recorder.buffer(from)}});
    const Graph graph = device.instantiate(recorder.finish().value(), {.native_graph = native}).value();
    ASSERT_TRUE(device.queue().submit(graph).value().wait());
    EXPECT_EQ(read(to), (std::vector<uint32_t>{15, 25, 35, 0}));
  }
}

TEST_F(DriverArguments, AnOrderThatIsNoneIsRefused) {
  for (const std::vector<uint32_t>& wrong : {std::vector<uint32_t>{0, 1, 2}, {0, 1, 2, 2}, {1, 2, 3, 4}}) {
    format::LibraryContents contents = step_library();
    contents.kernels[0].argument_order = wrong;
    const auto image = format::write_library(contents);
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, Errc::invalid_argument);
    EXPECT_NE(image.error().message.find("apply_step"), std::string::npos);
  }
}

TEST_F(DriverArguments, KernelsOverOneSymbolGetTheDynamicMemoryOfEach) {
  format::LibraryContents contents = step_library();
  contents.kernels[0].dynamic_shared_bytes = 60 << 10;
  KernelInfo small = contents.kernels[0];
  small.name = "small";
  small.dynamic_shared_bytes = 1024;
  contents.kernels.push_back(small);
  const std::string ptx = ".version 6.3\n.target sm_70\n.visible .entry both(\n";
  const auto bytes = std::as_bytes(std::span(ptx));
  contents.objects[0].bytes.assign(bytes.begin(), bytes.end());
  contents.objects[0].entries = {{0, "both"}, {1, "both"}};
  const KernelLibrary kernels = KernelLibrary::from_bytes(format::write_library(contents).value()).value();
  const Buffer from = make_buffer({1}), to = make_buffer({0});
  const Step step{2, 5, 0};
  std::vector<std::byte> constants(20);
  constants[0] = std::byte{1};
  std::memcpy(constants.data() + 8, &step, sizeof step);
  for (const auto& order : {std::pair{"apply_step", "small"}, std::pair{"small", "apply_step"}}) {
    Recorder recorder;
    for (const char* name : {order.first, order.second}) {
      recorder
          .dispatch(kernels[name], {.constants = Constants::from_bytes(constants),
                                    .bindings = {recorder.buffer(to), recorder.buffer(from)}})
          .barrier();
    }
    EXPECT_TRUE(device.instantiate(recorder.finish().value())) << order.first << " comes first";
  }
  sim.forget_complaints();  // it knows one kernel a symbol at most, and runs none of these
}

}  // namespace
}  // namespace pianola::test

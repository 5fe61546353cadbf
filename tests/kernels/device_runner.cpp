// SPDX-License-Identifier: Apache-2.0
// Kernels on a device of Pianola's own, through the public interface.
#include "pianola/pianola.hpp"
#include "runner.hpp"

namespace pianola::kernel_test {
namespace {

class DeviceRunner : public Runner {
 public:
  DeviceRunner(Device device, KernelLibrary library) : device_(std::move(device)), library_(std::move(library)) {}

  Result<> run(const Launch& launch) override {
    const BufferCopies copies(launch);
    std::vector<Buffer> buffers;
    Recorder recorder;
    Dispatch dispatch{.groups = {launch.groups[0], launch.groups[1], launch.groups[2]}};
    dispatch.constants = Constants::from_bytes(std::as_bytes(std::span(launch.constants)));
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      auto buffer = device_.allocate(std::max<uint64_t>(launch.buffers[i].size(), 16));
      if (!buffer) return buffer.error();
      if (auto ok = buffer->write(0, copies.before(i)); !ok) return ok;
      dispatch.bindings.push_back(recorder.buffer(*buffer));
      buffers.push_back(std::move(*buffer));
    }
    recorder.dispatch(library_[launch.kernel], dispatch);
    const auto commands = recorder.finish();
    if (!commands) return commands.error();
    const auto submission = device_.queue().run(*commands);
    if (!submission) return submission.error();
    if (auto done = submission->wait(); !done) return done;
    for (size_t i = 0; i < buffers.size(); ++i) {
      std::vector<std::byte> after(launch.buffers[i].size());
      if (auto ok = buffers[i].read(0, after); !ok) return ok;
      copies.write_back(i, after);
    }
    return {};
  }

 private:
  Device device_;
  KernelLibrary library_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_device_runner(const std::string& spec, const KernelLibrary& library) {
  auto device = Device::open(spec);
  if (!device) return Error{.code = Errc::no_device, .message = to_string(device.error())};
  return std::unique_ptr<Runner>(new DeviceRunner(std::move(*device), library));
}

}  // namespace pianola::kernel_test

// SPDX-License-Identifier: Apache-2.0
// Host objects for another machine: a small program of that machine loads them under an emulator.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>

#include "host_server.h"
#include "runner.hpp"

extern char** environ;

namespace pianola::kernel_test {
namespace {

Error io_error(const std::string& message) {
  return {.code = Errc::io, .message = message};
}

/// The emulator with one object loaded. Requests and answers go through pipes.
class Server {
 public:
  explicit Server(std::span<const std::byte> object) {
    object_ = memfd_create("object", 0);
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (object_ < 0 || ::write(object_, object.data(), object.size()) != static_cast<ssize_t>(object.size())) return;
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string path = "/proc/self/fd/" + std::to_string(object_);
    std::array<std::string, 4> words = {PIANOLA_EMULATOR, "-L", PIANOLA_EMULATED_ROOT, PIANOLA_HOST_SERVER};
    std::array<char*, 6> arguments = {words[0].data(), words[1].data(), words[2].data(),
                                      words[3].data(), path.data(),     nullptr};
    if (posix_spawn(&child_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) child_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    for (const int file : {object_, to_, from_}) {
      if (file >= 0) close(file);
    }
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }

  bool send(const void* bytes, size_t size) const {
    const auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
      const ssize_t count = ::write(to_, at, size);
      if (count <= 0) return false;
      at += count;
      size -= static_cast<size_t>(count);
    }
    return true;
  }
  bool receive(std::span<std::byte> into) const {
    while (!into.empty()) {
      const ssize_t count = ::read(from_, into.data(), into.size());
      if (count <= 0) return false;
      into = into.subspan(static_cast<size_t>(count));
    }
    return true;
  }

 private:
  pid_t child_ = -1;
  int object_ = -1;
  int to_ = -1;
  int from_ = -1;
};

class EmulatedRunner : public Runner {
 public:
  EmulatedRunner(std::string arch, KernelLibrary library) : arch_(std::move(arch)), library_(std::move(library)) {}

  Result<> run(const Launch& launch) override {
    const auto object = find_object(library_, ObjectFormat::host, arch_, launch.kernel);
    if (!object) return object.error();
    const Server& server = servers_.try_emplace(*object, (*object)->bytes).first->second;
    const BufferCopies copies(launch);
    if (!send(server, launch, copies)) return io_error("the emulator takes no request; its message stands above");
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      std::vector<std::byte> after(launch.buffers[i].size());
      if (!server.receive(after)) return io_error("the emulator gives no answer; its message stands above");
      copies.write_back(i, after);
    }
    return {};
  }

 private:
  static bool send(const Server& server, const Launch& launch, const BufferCopies& copies) {
    host_server_request request{.symbol = {},
                                .groups = {launch.groups[0], launch.groups[1], launch.groups[2]},
                                .buffers = static_cast<uint32_t>(launch.buffers.size()),
                                .constant_bytes = static_cast<uint32_t>(launch.constants.size() * 4)};
    std::memcpy(request.symbol, launch.kernel.data(), launch.kernel.size());
    bool sent = server.send(&request, sizeof(request)) && server.send(launch.constants.data(), request.constant_bytes);
    for (size_t i = 0; i < launch.buffers.size() && sent; ++i) {
      const std::array<uint64_t, 2> head = {launch.buffers[i].size(),
                                            reinterpret_cast<uintptr_t>(launch.buffers[i].data()) % 64};
      sent = server.send(head.data(), sizeof(head)) && server.send(copies.before(i).data(), head[0]);
    }
    return sent;
  }

  std::string arch_;
  KernelLibrary library_;
  std::map<const CodeObject*, Server> servers_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_emulated_runner(const std::string& arch, const KernelLibrary& library) {
  if (std::string_view(PIANOLA_EMULATOR).empty()) {
    return Error{.code = Errc::no_device,
                 .message = "no emulator for " + arch + ": scripts/setup installs qemu-user and libc6-dev-arm64-cross"};
  }
  std::signal(SIGPIPE, SIG_IGN);  // an emulator that ended is an error of the launch
  return std::unique_ptr<Runner>(new EmulatedRunner(arch, library));
}

}  // namespace pianola::kernel_test

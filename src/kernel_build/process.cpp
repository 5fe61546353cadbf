// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

extern char** environ;  // not every system's header declares it

namespace pianola::kernel_build {
namespace {

Error failure(const std::string& program, std::string_view call, int code) {
  return {.code = Errc::io,
          .message = fmt::format("cannot run {}: {}", program, std::strerror(code)),
          .command = std::nullopt,
          .native_call = std::string(call),
          .native_code = code};
}

/// Standard input is empty, both outputs go to `output`.
int spawn(const std::vector<std::string>& arguments, int output, pid_t& child) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  const int code = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

/// A child that inherits the end which another child writes to would keep it open.
int start(const std::vector<std::string>& arguments, std::array<int, 2>& ends, pid_t& child, std::string_view& call) {
  call = "pipe";
#if defined(__linux__)
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
#else
  static std::mutex mutex;
  const std::lock_guard no_other_child(mutex);
  if (pipe(ends.data()) != 0) return errno;
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
  call = "posix_spawnp";
  const int code = spawn(arguments, ends[1], child);
  close(ends[1]);
  if (code != 0) close(ends[0]);
  return code;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t count = read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(block.data(), static_cast<size_t>(count));
  }
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  pid_t child = 0;
  std::string_view call;
  if (const int code = start(arguments, ends, child, call); code != 0) return failure(arguments[0], call, code);
  ProcessResult result;
  result.output = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return failure(arguments[0], "waitpid", errno);
  }
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::string command_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    const bool plain = argument.find_first_of(" \t\"'$\\*?;|&<>(){}") == std::string::npos && !argument.empty();
    line += fmt::format("{}{}", line.empty() ? "" : " ", plain ? argument : "'" + argument + "'");
  }
  return line;
}

}  // namespace pianola::kernel_build

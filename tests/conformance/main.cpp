// SPDX-License-Identifier: Apache-2.0
// The conformance program: suites x one device x one mode. A run in which nothing was tested fails.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "fixture.hpp"
#include "pianola/pianola.hpp"
#include "run_options.hpp"
#include "sim/support/prepare.hpp"

namespace {

using pianola::conformance::find_mode;
using pianola::conformance::mode_names;
using pianola::conformance::RunOptions;

constexpr const char* help =
    "pianola_conformance [options] [GoogleTest options]\n"
    "  --device=SPEC    cpu, cuda:0, hip:0, metal, ... (cpu)\n"
    "  --driver=PATH    driver library to load instead of the one on the search path\n"
    "  --threads=N      CPU workers (one a core)\n"
    "  --oracle=SPEC    device that random lists are compared with, and that semaphores reach (cpu)\n"
    "  --mode=NAME      how lists are run (first); one of: %s\n"
    "  --kernels=PATH   kernel library (conformance.pkl beside the program)\n"
    "  --seed=N         first random list, and order of what a software driver leaves unordered (1)\n"
    "  --lists=N        number of random lists\n"
    "  --quick          3 launches instead of 100, shorter lists\n"
    "With --gtest_repeat=N, each repetition over a software driver has the next seed of its order.\n";

/// The text after "--name=", or null if the argument is another one.
const char* value_of(const char* argument, std::string_view name) {
  const std::string_view text = argument;
  const std::string start = "--" + std::string(name) + "=";
  return text.starts_with(start) ? argument + start.size() : nullptr;
}

bool apply(RunOptions& options, const char* argument) {
  if (const char* text = value_of(argument, "device")) {
    options.device = text;
  } else if (const char* path = value_of(argument, "driver")) {
    options.device_options.driver_path = path;
  } else if (const char* threads = value_of(argument, "threads")) {
    options.device_options.threads = static_cast<uint32_t>(std::strtoul(threads, nullptr, 10));
  } else if (const char* oracle = value_of(argument, "oracle")) {
    options.oracle = oracle;
  } else if (const char* kernels = value_of(argument, "kernels")) {
    options.kernels = kernels;
  } else if (const char* seed = value_of(argument, "seed")) {
    options.seed = std::strtoull(seed, nullptr, 10);
  } else if (const char* lists = value_of(argument, "lists")) {
    options.lists = static_cast<uint32_t>(std::strtoul(lists, nullptr, 10));
  } else if (std::string_view(argument) == "--quick") {
    options.quick = true;
  } else if (const char* name = value_of(argument, "mode")) {
    const auto mode = find_mode(name);
    if (mode) options.mode = *mode;
    return mode.has_value();
  } else {
    return false;
  }
  return true;
}

/// Api* and Random* suites have modes of their own.
std::string suites_of(std::string_view mode) {
  if (mode == "api") return "Api*";
  if (mode == "random") return "Random*";
  return "-Api*:Random*";
}

/// What a software driver leaves unordered runs in another order each time.
class NextSeed : public ::testing::EmptyTestEventListener {
  void OnTestIterationStart(const ::testing::UnitTest& /*tests*/, int iteration) override {
    const RunOptions& options = pianola::conformance::run_options();
    pianola::sim::set_order_seed(options.device_options.driver_path, options.seed + static_cast<uint64_t>(iteration));
  }
};

/// The error that makes the whole run fail, or null.
const char* nothing_tested() {
  const auto& results = *::testing::UnitTest::GetInstance();
  if (results.test_to_run_count() == 0) return "no test ran";
  if (results.skipped_test_count() == results.test_to_run_count()) return "every test was skipped";
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  RunOptions options;
  options.mode = *find_mode("first");
  options.kernels = (std::filesystem::path(argv[0]).parent_path() / "conformance.pkl").string();
  for (int i = 1; i < argc; ++i) {
    if (apply(options, argv[i])) continue;
    std::fprintf(stderr, "pianola_conformance: cannot use '%s'\n", argv[i]);
    std::fprintf(stderr, help, mode_names().c_str());
    return 2;
  }
  if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, suites_of(options.mode.name));
  pianola::conformance::set_run_options(options);
  const std::string& driver = options.device_options.driver_path;
  const std::string packed = std::filesystem::path(options.kernels).replace_filename("packed.pkl").string();
  for (const std::string& file : {options.kernels, packed}) {
    pianola::sim::prepare(driver, pianola::KernelLibrary::load(file).value_or(pianola::KernelLibrary()));
  }
  ::testing::UnitTest::GetInstance()->listeners().Append(new NextSeed);  // which owns it
  int result = RUN_ALL_TESTS();
  pianola::conformance::close_device();
  const std::string complaints = pianola::sim::complaints(driver);
  if (!complaints.empty()) {
    std::fprintf(stderr, "the software driver complains:\n%s", complaints.c_str());
    result = 1;
  }
  if (GTEST_FLAG_GET(list_tests)) return result;
  const char* reason = nothing_tested();
  if (reason != nullptr) std::fprintf(stderr, "pianola_conformance: %s\n", reason);
  return result != 0 || reason != nullptr ? 1 : 0;
}

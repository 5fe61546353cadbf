// SPDX-License-Identifier: Apache-2.0
// Short scripts for tests of plans: lists that are recorded and planned but never run.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "format/kernel_library_data.hpp"
#include "pianola/recorder.hpp"

namespace pianola {

/// Kernels that can be recorded and planned but not run.
class PaperKernels {
 public:
  PaperKernels() {
    auto data = std::make_shared<KernelLibrary::Data>();
    data->name = "paper";
    data->kernels.push_back({.name = "work"});
    data->kernels.push_back({.name = "opaque", .opaque = true});
    data->kernels.push_back({.name = "move",
                             .bindings = {{.name = "from", .binding = 0, .access = Access::in},
                                          {.name = "to", .binding = 1, .access = Access::out}}});
    data->kernels.push_back({.name = "add",
                             .bindings = {{.name = "by", .binding = 0, .access = Access::in},
                                          {.name = "to", .binding = 1, .access = Access::inout}}});
    library_ = KernelLibrary(std::move(data));
  }
  Kernel work() const { return {library_, 0, ""}; }    ///< touches what `.uses` says
  Kernel opaque() const { return {library_, 1, ""}; }  ///< touches anything
  Kernel move() const { return {library_, 2, ""}; }    ///< reads its first binding, writes its second
  Kernel add() const { return {library_, 3, ""}; }     ///< reads its first binding, changes its second

 private:
  KernelLibrary library_;
};

/// A list under construction. Each verb gives the index of its command.
class Script {
 public:
  Recorder rec;
  PaperKernels kernels;

  BufferRef buffer(const std::string& name, uint64_t size = 64, bool may_alias = false) {
    return rec.buffer(name, size, {.may_alias = may_alias});
  }
  uint32_t read(BufferRef range) { return work({{range, Access::in}}); }
  uint32_t write(BufferRef range) { return work({{range, Access::out}}); }
  uint32_t work(std::vector<Use> uses) {
    rec.dispatch(kernels.work(), {.uses = std::move(uses)});
    return next_++;
  }
  uint32_t opaque() {
    rec.dispatch(kernels.opaque(), {});
    return next_++;
  }
  uint32_t fill(BufferRef range, uint32_t value = 0) {
    rec.fill(range, value);
    return next_++;
  }
  uint32_t barrier() {
    rec.barrier();
    return next_++;
  }
  uint32_t barrier(std::initializer_list<BufferRef> ranges) {
    rec.barrier(ranges);
    return next_++;
  }
  /// Any other verb, called on `rec`, is counted by this.
  uint32_t count() { return next_++; }

  CommandBuffer finish() {
    auto commands = rec.finish();
    EXPECT_TRUE(commands) << to_string(commands.error());
    return commands ? *commands : CommandBuffer();
  }

 private:
  uint32_t next_ = 0;
};

}  // namespace pianola

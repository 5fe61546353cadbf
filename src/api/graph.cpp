// SPDX-License-Identifier: Apache-2.0
// A recording becomes a graph: plan, check, make native objects, bind what is known.
#include "pianola/graph.hpp"

#include <fmt/format.h>

#include "api/bindings.hpp"
#include "api/impl.hpp"
#include "api/limits.hpp"
#include "base/guarded.hpp"
#include "pianola/device.hpp"

namespace pianola {

Result<Graph> Device::instantiate(const CommandBuffer& commands, const InstantiateOptions& options) const {
  return guarded([&]() -> Result<Graph> {
    if (!impl_) return Error{.code = Errc::invalid_argument, .message = "the device is empty"};
    if (!commands) return Error{.code = Errc::invalid_argument, .message = "the command buffer is empty"};
    if (options.timestamps && !limits().timestamps) {
      return Error{.code = Errc::unsupported, .message = fmt::format("device {} does not time commands", spec())};
    }
    auto graph = std::make_shared<Graph::Impl>();
    graph->device = impl_;
    graph->commands = commands;

    PlanOptions plan_options = options.plan;
    if (impl_->options.serial) {
      plan_options.ordering = Ordering::serial;
      plan_options.merge = false;
      plan_options.lanes = 1;
    }
    auto plan = make_plan(commands, profile(), plan_options);
    if (!plan) return plan.error();
    graph->plan = std::move(*plan);

    auto named = check_limits(graph->plan, limits());
    if (!named) return named.error();
    graph->named_groups = std::move(*named);
    if (auto bound = set_default_bindings(*graph, options); !bound) return bound.error();
    auto executable =
        impl_->backend->make_executable(graph->plan, options, graph->complete ? graph->defaults : nullptr);
    if (!executable) return executable.error();
    graph->executable = std::move(*executable);
    return Graph(std::move(graph));
  });
}

const CommandBuffer& Graph::command_buffer() const {
  return impl_->commands;
}

const Plan& Graph::plan() const {
  return impl_->plan;
}

std::string Graph::native_description() const {
  return impl_ ? impl_->executable->describe() : std::string();
}

}  // namespace pianola

// SPDX-License-Identifier: Apache-2.0
// Everything a user needs: record once, replay anywhere.
#pragma once

#include "pianola/arguments.hpp"
#include "pianola/buffer.hpp"
#include "pianola/command_buffer.hpp"
#include "pianola/device.hpp"
#include "pianola/error.hpp"
#include "pianola/graph.hpp"
#include "pianola/kernel_library.hpp"
#include "pianola/plan.hpp"
#include "pianola/queue.hpp"
#include "pianola/recorder.hpp"
#include "pianola/types.hpp"
#include "pianola/version.hpp"

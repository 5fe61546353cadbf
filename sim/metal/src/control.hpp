// SPDX-License-Identifier: Apache-2.0
// What the software device notes: findings, counts, labels; and the faults it was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim_metal.hpp"

namespace sim_metal {

/// Notes that a rule was broken; aborts if the settings are strict.
void report(const char* rule, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// Changes the counts under their lock.
void with_counts(void (*change)(Counts&, uint64_t), uint64_t by);

void count_object(long by);
void note_label(const std::string& label);

/// Counts a call that can fail; true if this one shall.
bool shall_fail();
/// Counts a committed command buffer; the error code if this one shall fail.
std::optional<int64_t> command_buffer_fault();

}  // namespace sim_metal

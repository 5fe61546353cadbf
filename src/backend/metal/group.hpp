// SPDX-License-Identifier: Apache-2.0
// Chooses, wave by wave, which fills, copies and updates are blits and which join compute encoders as kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pianola/plan.hpp"

namespace pianola::backend::metal {

/// A node as far as the choice is concerned.
struct Candidate {
  bool is_dispatch = false;
  bool can_blit = false;
  double blit_us = 0;
  double kernel_us = 0;
};

/// How one wave is laid out.
enum class Layout : uint8_t { compute, blit, blit_then_compute, compute_then_blit };

struct Grouping {
  std::vector<Layout> layouts;  ///< one a wave
  std::vector<bool> is_blit;    ///< one a candidate
};

/// `first` cuts the candidates into waves: wave i is [first[i], first[i + 1]). The cheapest choice by the profile's
/// costs: kernels against blits, kind_switch_us for each change of encoder, sync_us for each barrier within one.
Grouping choose_encoders(std::span<const Candidate> candidates, std::span<const uint32_t> first,
                         const DeviceProfile& profile);

}  // namespace pianola::backend::metal

// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/group.hpp"

#include <array>
#include <limits>

namespace pianola::backend::metal {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::array layouts = {Layout::compute, Layout::blit, Layout::blit_then_compute, Layout::compute_then_blit};

bool starts_with_blit(Layout layout) {
  return layout == Layout::blit || layout == Layout::blit_then_compute;
}
bool ends_with_blit(Layout layout) {
  return layout == Layout::blit || layout == Layout::compute_then_blit;
}

bool is_blit(const Candidate& candidate, Layout layout) {
  switch (layout) {
    case Layout::compute: return false;
    case Layout::blit: return true;
    case Layout::blit_then_compute:
    case Layout::compute_then_blit: return candidate.can_blit && candidate.blit_us < candidate.kernel_us;
  }
  return false;
}

/// What a wave costs in this layout by itself; `never` if it cannot have it.
double cost_of(std::span<const Candidate> wave, Layout layout, const DeviceProfile& profile) {
  double cost = 0;
  bool has_blit = false;
  bool has_compute = false;
  for (const Candidate& candidate : wave) {
    const bool blit = is_blit(candidate, layout);
    if (blit && !candidate.can_blit) return never;
    (blit ? has_blit : has_compute) = true;
    if (!candidate.is_dispatch) cost += blit ? candidate.blit_us : candidate.kernel_us;
  }
  const bool is_mixed = layout == Layout::blit_then_compute || layout == Layout::compute_then_blit;
  if (!is_mixed) return cost;
  return has_blit && has_compute ? cost + profile.kind_switch_us : never;
}

/// The cheapest way to lay out the waves so far, by their last layout.
struct Cell {
  double cost = never;
  Layout before = Layout::compute;
};

}  // namespace

Grouping choose_encoders(std::span<const Candidate> candidates, std::span<const uint32_t> first,
                         const DeviceProfile& profile) {
  const size_t waves = first.empty() ? 0 : first.size() - 1;
  const auto wave_of = [&](size_t i) { return candidates.subspan(first[i], first[i + 1] - first[i]); };
  std::vector<std::array<Cell, layouts.size()>> table(waves);
  for (size_t i = 0; i < waves; ++i) {
    for (const Layout layout : layouts) {
      const double own = cost_of(wave_of(i), layout, profile);
      Cell& cell = table[i][static_cast<size_t>(layout)];
      if (i == 0) cell.cost = own;
      for (const Layout before : layouts) {
        if (i == 0) break;
        const bool same = ends_with_blit(before) == starts_with_blit(layout);
        const double between = !same ? profile.kind_switch_us : starts_with_blit(layout) ? 0.0 : profile.sync_us;
        const double total = table[i - 1][static_cast<size_t>(before)].cost + own + between;
        if (total < cell.cost) cell = {total, before};
      }
    }
  }
  Grouping grouping{std::vector<Layout>(waves), std::vector<bool>(candidates.size())};
  Layout layout = Layout::compute;
  for (size_t i = waves; i-- > 0;) {
    if (i + 1 == waves) {
      for (const Layout last : layouts) {
        if (table[i][static_cast<size_t>(last)].cost < table[i][static_cast<size_t>(layout)].cost) layout = last;
      }
    }
    grouping.layouts[i] = layout;
    for (uint32_t c = first[i]; c < first[i + 1]; ++c) grouping.is_blit[c] = is_blit(candidates[c], layout);
    layout = table[i][static_cast<size_t>(layout)].before;
  }
  return grouping;
}

}  // namespace pianola::backend::metal

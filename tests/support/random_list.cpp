// SPDX-License-Identifier: Apache-2.0
#include "random_list.hpp"

#include "random_scope.hpp"

namespace pianola::test {
namespace {

constexpr uint64_t small_counts = 3;  ///< group counts are below this

Bytes random_counts(Random& random, uint64_t cell, uint32_t cells) {
  std::vector<uint32_t> words(cell * cells / 4);
  for (uint32_t i = 0; i < cells; ++i) {
    for (uint32_t k = 0; k < 3; ++k) words[i * cell / 4 + k] = random.below(small_counts);
  }
  return to_bytes(words);
}

struct Builder {
  RandomWorld& world;
  RandomScope& scope;
  RandomList& list;

  uint32_t add_memory(Bytes contents) {
    world.hazards.add_memory(contents.size());
    list.memories.push_back({std::move(contents)});
    return static_cast<uint32_t>(list.memories.size() - 1);
  }
  RandomView add_slot(const std::string& name, uint32_t memory, uint64_t offset, uint64_t size, bool may_alias) {
    const BufferRef ref = scope.rec.buffer(name, size, {.may_alias = may_alias});
    list.slots.push_back({ref, memory, offset, size});
    return {ref, memory, offset, may_alias};
  }

  void add_data() {
    Random& random = world.random;
    const uint32_t count = 2 + random.below(4);
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t size = 64 + 16 * random.below(32);
      const uint32_t memory = add_memory(pattern_bytes(size, random.below(1000)));
      scope.views.push_back(add_slot("data" + std::to_string(i), memory, 0, size, false));
    }
    if (!random.chance(40)) return;
    const uint32_t shared = add_memory(pattern_bytes(1024, random.below(1000)));
    scope.views.push_back(add_slot("alias0", shared, 0, 512, true));
    scope.views.push_back(add_slot("alias1", shared, 256, 512, true));
  }

  void add_counts() {
    const uint64_t cell = std::max<uint64_t>(16, world.options.dispatch_alignment);
    constexpr uint32_t cells = 4;
    const uint32_t memory = add_memory(random_counts(world.random, cell, cells));
    const RandomView all = add_slot("counts", memory, 0, cell * cells, false);
    for (uint32_t i = 0; i < cells; ++i) scope.counts.push_back(all.part(cell * i, 12));
  }

  void add_constants() {
    for (uint32_t i = 0; i < 3; ++i) {
      const std::string name = "constant" + std::to_string(i);
      const uint32_t value = world.random.below(small_counts);
      const ConstantRef ref = scope.rec.constant(name, 4);
      scope.constants.emplace_back(ref, value);
      list.constants.push_back({ref, value});
    }
  }
};

}  // namespace

Result<RandomList> make_random_list(const KernelLibrary& kernels, const RandomListOptions& options) {
  RandomWorld world{.options = options, .kernels = kernels, .random = Random(options.seed), .left = options.commands};
  RandomScope scope(world);
  RandomList list;
  Builder builder{world, scope, list};
  builder.add_data();
  if (options.indirect) builder.add_counts();
  builder.add_constants();
  while (world.left > 0) scope.add_command(0);
  Result<CommandBuffer> commands = scope.rec.finish();
  if (!commands) return commands.error();
  list.commands = *commands;
  return list;
}

}  // namespace pianola::test

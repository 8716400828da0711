#include "train/world_gather.h"

#include "sim/core/launch.h"

namespace hotloop {
namespace {

template <class Word>
struct GatherOp {
  const Word* from;
  Word* to;
  const std::int32_t* worlds;
  std::int64_t num_envs, count, words;  // words of one world's row

  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t word = i % words, column = i / words % count, row = i / words / count;
    to[i] = from[(row * num_envs + worlds[column]) * words + word];
  }
};

template <class Word>
void gather_as(const Exec& exec, const WorldGather& g) {
  const std::int64_t words = g.item / static_cast<std::int64_t>(sizeof(Word));
  parallel_for(exec, g.rows * g.count * words,
               GatherOp<Word>{reinterpret_cast<const Word*>(g.from), reinterpret_cast<Word*>(g.to), g.worlds,
                              g.num_envs, g.count, words});
}

}  // namespace

void gather_worlds(const Exec& exec, const WorldGather& g) {
  if (g.worlds == nullptr)
    copy_async(exec, g.to, exec.device, g.from, exec.device, static_cast<std::size_t>(g.rows * g.count * g.item));
  else if (g.item % 4 == 0)
    gather_as<std::uint32_t>(exec, g);
  else
    gather_as<std::uint8_t>(exec, g);
}

}  // namespace hotloop

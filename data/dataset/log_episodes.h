// The whole episodes in a trajectory log, in order of (world, start).
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/dataset/episode.h"
#include "data/log/log_reader.h"

namespace hotloop {

// What a log must hold of each step.
inline constexpr std::array kEpisodeKeys = {"observation", "action", "next/reward", "next/terminated",
                                            "next/truncated"};

// Where an episode lies in the log.
struct LoggedEpisode {
  std::int64_t column = 0, row = 0, length = 0;
};

struct LoggedEpisodes {
  std::vector<LoggedEpisode> whole;  // by column, then row
  // what is left out
  std::int64_t begun_before = 0;  // before the first row, or in iterations that were not logged
  std::int64_t cut = 0;           // by iterations that were not logged
  std::int64_t unfinished = 0;    // at the end of the log
};

// Reads the flags of ends only. `starts_whole`: the first row of the log begins an episode in every world.
LoggedEpisodes find_episodes(const LogReader& log, bool starts_whole);

// Reads those episodes, numbered from 0 on; `take` may take their content. Memory: about 320 MB, whatever the log's
// size. Error where the log does not hold what `env` says, its reward_terms among them.
void read_episodes(const LogReader& log, const EnvSpec& env, const LoggedEpisodes& episodes,
                   const std::function<void(Episode&)>& take);

}  // namespace hotloop

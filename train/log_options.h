// What of a rollout is logged, from the words of the command line.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/arena.h"

namespace hotloop {

struct LogOptions {
  std::string path;        // of the log; empty: none
  std::string keys;        // "a,b,c", with "all" for every leaf and "state"; empty: what datasets and replays need
  std::string envs;        // "N" (the first), "a-b" or "a,b,c"; empty: all
  std::int64_t every = 1;  // iterations
  bool block = true;       // the training waits where the disk is slower; else iterations are left out
  std::int64_t gzip = 0;
  double flush_seconds = 2, segment_gib = 16;
};

struct LogSelection {
  std::vector<std::string> keys;  // leaves, in the arena's order
  bool state = false;
  std::vector<std::int32_t> worlds;  // ascending
};

// Error naming the flag, the word and what is accepted.
LogSelection select_log(const LogOptions& options, const Arena& arena, std::int64_t num_envs);

}  // namespace hotloop

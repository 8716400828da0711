// Trajectory logs: what an HDF5 file of them holds. LogWriter (log_writer.h) writes it, LogReader (log_reader.h) reads
// it; any HDF5 reader opens it, without plugins.
//
// A log NAME.h5 is one file or several segments: NAME.h5, NAME.1.h5, NAME.2.h5 ... Each is complete by itself. While a
// segment is written it is NAME.h5.part. It holds I logged iterations of num_steps steps each, T = I * num_steps rows,
// of N logged worlds. Time comes first everywhere; leaves have TorchRL's names, "a/b" is dataset b of group a.
//
//   attributes of the root
//     format "hotloop-trajectories"   format_version 1   task   config (TOML)   seed   hotloop_version   device
//     num_envs (of the run, N or more)   num_steps   max_episode_steps   observation_space, action_space (JSON as
//     Minari spells spaces)   source "train" or "play"   dropped_iterations   share (logged of all to be logged)
//   attributes of each dataset: units, description
//
//   observation        [T, N, d] f32   row t: before step t
//   action             [T, N] i64 (discrete), [T, N, k] i64 or f32
//   next/reward        [T, N, 1] f32
//   next/reward_terms  [T, N, terms] f32   of tasks that name terms; attribute names: theirs, separated by commas
//   next/terminated, next/truncated [T, N, 1] bool (enumeration of int8 FALSE = 0, TRUE = 1, as h5py)
//   sample_log_prob [T, N], state_value, advantage, value_target [T, N, 1], policy_sample [T, N, k] f32,
//   action_mask [T, N, choices] bool: further leaves of the rollout
//   last_observation   [I, N, d] f32   after the last row of each iteration; of a new episode where one ended there
//   final/row [E] i64, final/env [E] i32 (column of N), final/observation [E, d] f32
//                                      the true last observations of the episodes that ended, by row, then column
//   env_index          [N] i32         which worlds of the run the columns are
//   state              [I, bytes] u8   of all worlds, before the first step of the iteration (Batch::raw_state)
//   iteration/global_step [I] i64      environment steps of the run before the iteration
//   iteration/final_end   [I] i64      entries of final/* up to the end of the iteration
//   iteration/index       [I] i64      of the run, from 0, ascending; written last
//
// What survives a kill. HDF5's index of a dataset is one node that is never split (segments end before), its metadata
// reach the file in flushes only, and a flush writes everything else before iteration/index. Rows count when their
// iteration's index is there: not -1, the fill value. Others may be in the file, and are torn.
// What survives a power failure: finished segments. Closing synchronises the file, renames it from .part, then
// synchronises the folder.
//
// A training that is resumed goes on in the next free segment. Where its iterations were logged before (they came
// after the checkpoint), the later segment is the one that counts: see LogReader.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/arena.h"

namespace hotloop {

inline constexpr const char* kLogFormat = "hotloop-trajectories";
inline constexpr std::int64_t kLogFormatVersion = 1;
inline constexpr const char *kTrainSource = "train", *kPlaySource = "play";

struct LogInfo {
  std::string task, config, hotloop_version, device, source;
  std::string observation_space, action_space;  // JSON
  std::int64_t seed = 0, num_envs = 1, num_steps = 1, max_episode_steps = 0;
};

// One dataset of the steps, [T, N, shape...].
struct LogKey {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape = {};  // of one world's step
  std::string units = {}, description = {};
  std::vector<std::string> names = {};  // of the components; empty where they have none

  std::int64_t numel() const {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return n;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(numel()) * dtype_size(dtype); }
};

struct LogSpec {
  LogInfo info;
  std::vector<LogKey> keys;
  std::vector<std::int32_t> env_index;  // the logged worlds, ascending
  std::int64_t obs_dim = 1;
  std::size_t state_bytes = 0;           // 0: no states
  std::int64_t expected_iterations = 1;  // sizes the index of the file; any number is right
};

// NAME.h5, NAME.1.h5, NAME.2.h5 ...
std::filesystem::path log_segment_path(const std::filesystem::path& log, std::int64_t segment);
std::filesystem::path log_part_path(const std::filesystem::path& segment);  // while it is written
// The numbers of the segments that are there, whole or as .part, ascending. Error where the folder cannot be listed.
std::vector<std::int64_t> log_segments(const std::filesystem::path& log);

// A key by its name in the rollout's arena, with the units and meaning that files say.
LogKey describe_log_key(std::string name, DType dtype, std::vector<std::int64_t> shape);

}  // namespace hotloop

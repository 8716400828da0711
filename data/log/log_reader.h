// Reads trajectory logs (log_format.h): finished ones, those of a training that was killed, and damaged ones as far as
// they can be read. Nothing in a file is trusted: sizes are checked against each other and the file's own size before
// memory is asked for.
//
//   LogReader log("run.h5");
//   std::vector<float> reward(rows * worlds);
//   log.read("next/reward", row, rows, world, worlds, reward.data());
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/log/log_format.h"

namespace hotloop {

class LogFile;

struct LoggedIteration {
  std::int64_t index = 0;        // of the run
  std::int64_t global_step = 0;  // of the run before it
};

// Episodes that ended, ascending by row, then world.
struct LogFinals {
  std::vector<std::int64_t> row;   // of the log
  std::vector<std::int32_t> env;   // column
  std::vector<float> observation;  // [entries, obs_dim]
};

class LogReader {
 public:
  // NAME.h5 with its further segments; what is missing of it as NAME.h5.part. Error where nothing can be read, and
  // where the first segment is missing or damaged.
  explicit LogReader(const std::filesystem::path& path);
  ~LogReader();

  const LogInfo& info() const;
  const std::vector<LogKey>& keys() const;  // of the steps, by name
  bool contains(const std::string& key) const;
  const LogKey& key(const std::string& name) const;    // Error naming the nearest
  const std::vector<std::int32_t>& env_index() const;  // which worlds of the run the columns are
  std::int64_t num_worlds() const { return static_cast<std::int64_t>(env_index().size()); }
  std::int64_t obs_dim() const;
  std::size_t state_bytes() const;  // 0: no states
  // Worlds of a chunk: reading this many columns at a time (from a multiple of it) reads nothing twice.
  std::int64_t world_group() const;
  // Of the key's own chunks, the least of all segments.
  std::int64_t chunk_worlds(const std::string& key) const;
  // Whole iterations in their order. Rows are num_steps each: row r is of iteration r / num_steps. Iterations that a
  // resumed training logged again are there once, as the later segment has them.
  const std::vector<LoggedIteration>& iterations() const { return iterations_; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(iterations_.size()) * info().num_steps; }
  // Whether iteration i continues i - 1: nothing lies between them that was not logged.
  bool continues(std::int64_t iteration) const;
  // What could not be read, a line each.
  const std::vector<std::string>& problems() const { return problems_; }
  // Whether among that are iterations; how many is not known.
  bool lost_iterations() const { return lost_iterations_; }

  // Rows [row, row + rows) of columns [world, world + worlds) as [rows, worlds, shape...] in the key's element type,
  // bool as bytes 0 and 1. Error for a key or range that is not there, and for damaged data.
  void read(const std::string& key, std::int64_t row, std::int64_t rows, std::int64_t world, std::int64_t worlds,
            void* out) const;
  // [worlds, obs_dim] after the last row of an iteration.
  void read_last_observation(std::int64_t iteration, std::int64_t world, std::int64_t worlds, float* out) const;
  LogFinals read_finals(std::int64_t iteration) const;
  // [state_bytes] before the first step of an iteration.
  void read_state(std::int64_t iteration, std::byte* out) const;

 private:
  struct Place {
    const LogFile* file;
    std::int64_t iteration;  // in the file
  };
  Place place(std::int64_t iteration) const;
  void open_segments(const std::filesystem::path& path);

  std::vector<std::unique_ptr<LogFile>> files_;
  std::vector<std::int64_t> begin_;  // first iteration of each file, and the end
  std::vector<LoggedIteration> iterations_;
  std::vector<std::string> problems_;
  bool lost_iterations_ = false;
};

// What a new log of the same worlds, leaves and training is told; expected_iterations is left open.
LogSpec spec_like(const LogReader& log);

}  // namespace hotloop

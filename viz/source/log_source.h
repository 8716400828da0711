// A trajectory log, for the viewer: row p is shown as the worlds were before its step, simulated again from the state
// that the log holds of the row's iteration.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/log/log_reader.h"
#include "train/log_replayer.h"
#include "viz/source/history.h"
#include "viz/source/world_source.h"

namespace hotloop {

class LogSource final : public WorldSource {
 public:
  // Error where the log cannot be read or holds no states. warn: lines about what could not be read.
  LogSource(const std::string& path, const std::string& device, const std::function<void(const std::string&)>& warn);

  const SourceInfo& info() const override { return info_; }
  const VisualModel& visual() const override { return visual_; }
  const Exec& exec() const override { return again_.exec(); }
  void write_frames(std::int64_t first, std::int64_t count, Frame* out) override;

  void step() override { seek(row_ + 1); }
  void reset() override { seek(0); }
  std::int64_t position() const override { return row_; }
  std::int64_t first_position() const override { return 0; }
  std::int64_t last_position() const override { return log_.num_rows() - 1; }
  void seek(std::int64_t row) override;

  WorldReport report(std::int64_t world) override;
  void read_observations(std::vector<float>& out) override { out = leaf_row("observation"); }
  void read_actions(std::vector<float>& out) override { out = leaf_row("action"); }
  std::vector<TensorInfo> tensors() override;
  std::vector<float> read_tensor(const std::string& key, std::int64_t limit) override;
  // Those of the part of the log that was looked at so far; every call looks at more.
  const std::vector<EpisodeMark>& episodes() override;

 private:
  std::vector<float> read(const std::string& key, std::int64_t row, std::int64_t rows, std::int64_t world,
                          std::int64_t worlds) const;
  std::vector<float> leaf_row(const std::string& key) const { return read(key, row_, 1, 0, info_.num_worlds); }
  double return_so_far(std::int64_t world);
  void look_at(std::int64_t iteration);

  LogReader log_;
  LogReplayer again_;
  SourceInfo info_;
  VisualModel visual_;
  std::int64_t row_ = 0, worlds_at_ = -1;  // the row that is shown, and that the worlds are at
  std::unique_ptr<History> passed_;        // rows of the worlds' iteration that were passed: time may run backward

  struct Running {
    std::int64_t world = -1, row = -1, first = 0;
    double sum = 0;
  } running_;  // of the world that was reported last
  std::vector<EpisodeMark> marks_;
  std::vector<double> sums_;          // [worlds] of the episodes under way where looking has come to
  std::vector<std::int64_t> starts_;  // -1: its start is not in the log
  std::int64_t looked_ = 0;           // iterations
};

}  // namespace hotloop

// Two logs of one task side by side, for the viewer: world k of the first beside world k of the second, at a time that
// both share.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "viz/source/world_source.h"

namespace hotloop {

class PairSource final : public WorldSource {
 public:
  // Error where they are not of one task. warn: a line where one has more worlds than the other.
  PairSource(std::unique_ptr<WorldSource> first, std::unique_ptr<WorldSource> second,
             const std::function<void(const std::string&)>& warn);

  const SourceInfo& info() const override { return info_; }
  const VisualModel& visual() const override { return logs_[0]->visual(); }
  const Exec& exec() const override { return logs_[0]->exec(); }
  void write_frames(std::int64_t first, std::int64_t count, Frame* out) override;

  // Worlds 2 k and 2 k + 1 are world k of the first and of the second log.
  std::int64_t partner(std::int64_t world) const override { return world ^ 1; }
  std::string world_name(std::int64_t world) const override;

  // The position is the row of the first log; the second one is `offset_` rows further. Where one has no such row it
  // stands at its start or end.
  void step() override { seek(position_ + 1); }
  void reset() override;
  std::int64_t position() const override { return position_; }
  std::int64_t first_position() const override { return std::min<std::int64_t>(0, -offset_); }
  std::int64_t last_position() const override;
  void seek(std::int64_t position) override;

  WorldReport report(std::int64_t world) override { return log(world).report(world / 2); }
  void read_observations(std::vector<float>& out) override;
  void read_actions(std::vector<float>& out) override;
  std::vector<TensorInfo> tensors() override;
  std::vector<float> read_tensor(const std::string& key, std::int64_t limit) override;
  // Of both, at the positions at which they are shown now.
  const std::vector<EpisodeMark>& episodes() override;
  // The other log goes to its world's episode of the same number, if it has one: they begin, or end, at one position.
  std::int64_t jump(const EpisodeMark& mark, bool to_end) override;

 private:
  WorldSource& log(std::int64_t world) const { return *logs_[static_cast<std::size_t>(world % 2)]; }
  std::int64_t shift(std::size_t log) const { return log == 0 ? 0 : offset_; }
  void interleave(const std::vector<float>& first, const std::vector<float>& second, std::vector<float>& out) const;

  std::array<std::unique_ptr<WorldSource>, 2> logs_;
  std::array<std::string, 2> names_;  // as tensors and worlds have them
  SourceInfo info_;
  std::int64_t position_ = 0, offset_ = 0;
  std::vector<EpisodeMark> marks_;
  std::array<std::size_t, 2> known_ = {0, 0};  // marks of each log that marks_ holds
};

}  // namespace hotloop

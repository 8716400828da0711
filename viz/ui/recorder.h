// What the viewer keeps of the selected world for its plots, and of all worlds' episodes.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "viz/source/world_source.h"

namespace hotloop {

// One number of a world's report.
struct Signal {
  enum class Kind : std::uint8_t {
    reward,
    episode_return,
    episode_length,
    energy,
    term,
    observation,
    action,
    qpos,
    qvel
  };
  Kind kind = Kind::reward;
  int index = 0;  // of those that are vectors
  friend bool operator==(const Signal&, const Signal&) = default;
};

// Every signal that `report` has, and its name: "reward", "observation[3]", "reward_forward" ...
std::vector<Signal> signals(const WorldReport& report);
std::string signal_name(const Signal& signal, const SourceInfo& info);
// NaN where the report has no such number.
double signal_value(const Signal& signal, const WorldReport& report);

class Recorder {
 public:
  static constexpr std::size_t kSamples = 2000, kEpisodes = 20000;

  struct Sample {
    double time;
    WorldReport report;
  };

  // Once a picture: asks the source about `world` where time has moved.
  void update(WorldSource& source, std::int64_t world);
  void clear();
  // Something other than time has changed the world: a joint set by hand.
  void refresh() { stale_ = true; }

  const WorldReport& report() const { return report_; }  // the newest
  const std::deque<Sample>& samples() const { return samples_; }
  const std::deque<WorldSource::EpisodeEnd>& episodes() const { return episodes_; }

  // The samples' times and the values of one signal, for a plot.
  void series(const Signal& signal, std::vector<double>& time, std::vector<double>& value) const;

 private:
  std::int64_t world_ = -1, position_ = -1;
  bool stale_ = false;
  WorldReport report_;
  std::deque<Sample> samples_;
  std::deque<WorldSource::EpisodeEnd> episodes_;
  std::vector<WorldSource::EpisodeEnd> ends_;
};

}  // namespace hotloop

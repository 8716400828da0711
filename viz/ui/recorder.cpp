#include "viz/ui/recorder.h"

#include <limits>

namespace hotloop {
namespace {

using Kind = Signal::Kind;

struct VectorSignal {
  Kind kind;
  const char* name;
  std::vector<float> WorldReport::*values;
};
constexpr VectorSignal kVectors[] = {{Kind::term, "term", &WorldReport::reward_terms},
                                     {Kind::observation, "observation", &WorldReport::observation},
                                     {Kind::action, "action", &WorldReport::action},
                                     {Kind::qpos, "qpos", &WorldReport::qpos},
                                     {Kind::qvel, "qvel", &WorldReport::qvel}};

}  // namespace

std::vector<Signal> signals(const WorldReport& report) {
  std::vector<Signal> all = {{Kind::reward}, {Kind::episode_return}, {Kind::episode_length}, {Kind::energy}};
  for (const VectorSignal& vector : kVectors)
    for (std::size_t i = 0; i < (report.*vector.values).size(); ++i) all.push_back({vector.kind, static_cast<int>(i)});
  return all;
}

std::string signal_name(const Signal& signal, const SourceInfo& info) {
  const auto index = static_cast<std::size_t>(signal.index);
  switch (signal.kind) {
    case Kind::reward:
      return "reward";
    case Kind::episode_return:
      return "episode return";
    case Kind::episode_length:
      return "episode length";
    case Kind::energy:
      return "energy";
    case Kind::term:
      if (index < info.reward_terms.size()) return info.reward_terms[index];
      break;
    default:
      break;
  }
  for (const VectorSignal& vector : kVectors)
    if (vector.kind == signal.kind) return std::string(vector.name) + "[" + std::to_string(signal.index) + "]";
  return {};
}

double signal_value(const Signal& signal, const WorldReport& report) {
  switch (signal.kind) {
    case Kind::reward:
      return report.reward;
    case Kind::episode_return:
      return report.episode_return;
    case Kind::episode_length:
      return static_cast<double>(report.episode_length);
    case Kind::energy:
      return report.energy;
    default:
      break;
  }
  for (const VectorSignal& vector : kVectors) {
    const std::vector<float>& values = report.*vector.values;
    if (vector.kind == signal.kind && static_cast<std::size_t>(signal.index) < values.size())
      return values[static_cast<std::size_t>(signal.index)];
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void Recorder::update(WorldSource& source, std::int64_t world) {
  const std::int64_t position = source.position();
  if (world != world_ || position < position_) samples_.clear();  // another story begins
  if (world == world_ && position == position_ && !stale_) return;
  stale_ = false;
  report_ = source.report(world);
  if (samples_.size() == kSamples) samples_.pop_front();
  samples_.push_back({source.time(), report_});
  world_ = world;
  position_ = position;
  ends_.clear();
  source.take_episode_ends(ends_);
  episodes_.insert(episodes_.end(), ends_.begin(), ends_.end());
  while (episodes_.size() > kEpisodes) episodes_.pop_front();
}

void Recorder::clear() {
  samples_.clear();
  episodes_.clear();
  world_ = position_ = -1;
}

void Recorder::series(const Signal& signal, std::vector<double>& time, std::vector<double>& value) const {
  time.clear();
  value.clear();
  for (const Sample& sample : samples_) {
    time.push_back(sample.time);
    value.push_back(signal_value(signal, sample.report));
  }
}

}  // namespace hotloop

#include "data/dataset/log_episodes.h"

#include <algorithm>
#include <map>

#include "data/dataset/action_check.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

constexpr std::int64_t kWindowBytes = 320 << 20;
constexpr const char *kObservation = kEpisodeKeys[0], *kAction = kEpisodeKeys[1], *kReward = kEpisodeKeys[2],
                     *kTerminated = kEpisodeKeys[3], *kTruncated = kEpisodeKeys[4];

// A log of any origin may hold something else under the name.
void check_key(const LogReader& log, const char* name, DType dtype, std::int64_t numel) {
  const LogKey& key = log.key(name);
  if (key.dtype != dtype || key.numel() != numel)
    throw Error(std::string("log: '") + name + "' holds " + std::to_string(key.numel()) + " " + dtype_name(key.dtype) +
                " a step: must be " + std::to_string(numel) + " " + dtype_name(dtype));
}

// The rows of some columns in memory, all keys that an episode needs.
class Window {
 public:
  Window(const LogReader& log, const EnvSpec& env)
      : log_(log),
        width_(static_cast<std::size_t>(log.obs_dim())),
        action_bytes_(action_bytes(env.action)),
        num_terms_(env.reward_terms.size()) {
    const ActionSpace& action = env.action;
    check_key(log, kAction, action.is_box() ? DType::f32 : DType::i64, action.dim());
    check_key(log, kObservation, DType::f32, log.obs_dim());
    check_key(log, kReward, DType::f32, 1);
    for (const char* key : {kTerminated, kTruncated}) check_key(log, key, DType::boolean, 1);
    if (num_terms_ > 0) check_key(log, kRewardTermsKey, DType::f32, static_cast<std::int64_t>(num_terms_));
  }

  std::int64_t row_bytes() const {
    return static_cast<std::int64_t>((width_ + num_terms_) * sizeof(float) + action_bytes_ + 6);
  }
  bool holds(const LoggedEpisode& e) const {
    return e.column >= column_ && e.column < column_ + columns_ && e.row >= row_ && e.row + e.length <= row_ + rows_;
  }

  void load(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    row_ = row, rows_ = rows, column_ = column, columns_ = columns;
    const auto count = static_cast<std::size_t>(rows * columns);
    observation_.resize(count * width_);
    action_.resize(count * action_bytes_);
    reward_.resize(count);
    terminated_.resize(count);
    truncated_.resize(count);
    reward_terms_.resize(count * num_terms_);
    const auto read = [&](const char* key, void* out) { log_.read(key, row, rows, column, columns, out); };
    read(kObservation, observation_.data());
    read(kAction, action_.data());
    read(kReward, reward_.data());
    read(kTerminated, terminated_.data());
    read(kTruncated, truncated_.data());
    if (num_terms_ > 0) read(kRewardTermsKey, reward_terms_.data());
  }

  void copy(const LoggedEpisode& from, const std::vector<float>& last, Episode& to) const {
    to.length = from.length;
    to.observations.clear(), to.actions.clear(), to.rewards.clear(), to.terminated.clear(), to.truncated.clear();
    to.reward_terms.clear();
    for (std::int64_t t = from.row; t < from.row + from.length; ++t) {
      const auto at = static_cast<std::size_t>((t - row_) * columns_ + from.column - column_);
      append(to.observations, &observation_[at * width_], width_);
      append(to.actions, &action_[at * action_bytes_], action_bytes_);
      to.rewards.push_back(reward_[at]);
      to.terminated.push_back(terminated_[at]);
      to.truncated.push_back(truncated_[at]);
      append(to.reward_terms, reward_terms_.data() + at * num_terms_, num_terms_);
    }
    append(to.observations, last.data(), width_);
  }

 private:
  template <class T>
  static void append(std::vector<T>& to, const T* from, std::size_t count) {
    to.insert(to.end(), from, from + count);
  }

  const LogReader& log_;
  std::size_t width_, action_bytes_, num_terms_;
  std::int64_t row_ = 0, rows_ = 0, column_ = 0, columns_ = 0;
  std::vector<float> observation_, reward_, reward_terms_;
  std::vector<std::byte> action_;
  std::vector<std::uint8_t> terminated_, truncated_;
};

// The true last observations of the episodes in some columns, by column and last row.
using Finals = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<float>>;
Finals read_finals(const LogReader& log, std::int64_t row, std::int64_t rows, std::int64_t column,
                   std::int64_t columns) {
  Finals finals;
  const std::int64_t steps = log.info().num_steps;
  const auto width = static_cast<std::ptrdiff_t>(log.obs_dim());
  for (std::int64_t i = row / steps; i * steps < row + rows; ++i) {
    const LogFinals all = log.read_finals(i);
    for (std::size_t k = 0; k < all.row.size(); ++k) {
      if (all.env[k] < column || all.env[k] >= column + columns) continue;
      const auto begin = all.observation.begin() + static_cast<std::ptrdiff_t>(k) * width;
      finals[{all.env[k], all.row[k]}].assign(begin, begin + width);
    }
  }
  return finals;
}

}  // namespace

LoggedEpisodes find_episodes(const LogReader& log, bool starts_whole) {
  for (const char* key : {kTerminated, kTruncated}) check_key(log, key, DType::boolean, 1);
  LoggedEpisodes found;
  const std::int64_t steps = log.info().num_steps, group = std::max<std::int64_t>(1, log.world_group());
  const auto iterations = static_cast<std::int64_t>(log.iterations().size());
  for (std::int64_t first = 0; first < log.num_worlds(); first += group) {
    const std::int64_t columns = std::min(group, log.num_worlds() - first);
    std::vector<std::uint8_t> terminated(static_cast<std::size_t>(steps * columns)), truncated(terminated.size());
    std::vector<std::int64_t> begin(static_cast<std::size_t>(columns), starts_whole ? 0 : -1);  // -1: not known
    std::vector<std::vector<LoggedEpisode>> of_column(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < iterations; ++i) {
      if (i > 0 && !log.continues(i))
        for (std::int64_t& b : begin) found.cut += b >= 0 && b < i * steps, b = -1;
      log.read(kTerminated, i * steps, steps, first, columns, terminated.data());
      log.read(kTruncated, i * steps, steps, first, columns, truncated.data());
      for (std::size_t at = 0; at < terminated.size(); ++at) {
        if (!terminated[at] && !truncated[at]) continue;
        const auto c = static_cast<std::int64_t>(at) % columns,
                   row = i * steps + static_cast<std::int64_t>(at) / columns;
        std::int64_t& b = begin[static_cast<std::size_t>(c)];
        if (b >= 0)
          of_column[static_cast<std::size_t>(c)].push_back({first + c, b, row + 1 - b});
        else
          ++found.begun_before;
        b = row + 1;
      }
    }
    for (const std::int64_t b : begin) found.unfinished += b < iterations * steps;
    for (const auto& list : of_column) found.whole.insert(found.whole.end(), list.begin(), list.end());
  }
  return found;
}

void read_episodes(const LogReader& log, const EnvSpec& env, const LoggedEpisodes& episodes,
                   const std::function<void(Episode&)>& take) {
  Window window(log, env);
  std::int64_t longest = 1;
  for (const LoggedEpisode& e : episodes.whole) longest = std::max(longest, e.length);
  const std::int64_t column_bytes = std::max<std::int64_t>(1, log.num_rows() * window.row_bytes());
  // HDF5 reads chunks whole: a group of worlds is read once for each window that it is cut into, so as few as can be
  const std::int64_t group = std::min(log.world_group(), log.num_worlds());
  const std::int64_t most = std::clamp<std::int64_t>(kWindowBytes / column_bytes, 1, group);
  const std::int64_t windows = (group + most - 1) / most, at_once = (group + windows - 1) / windows;
  const std::int64_t rows_at_once = std::max(longest, kWindowBytes / (at_once * window.row_bytes()));
  Finals finals;
  Episode episode;
  std::int64_t id = 0;
  for (const LoggedEpisode& e : episodes.whole) {
    if (!window.holds(e)) {
      // several columns go with all their rows; of a single one a piece from this episode on
      const std::int64_t first = e.column / group * group, end = std::min(first + group, log.num_worlds());
      const std::int64_t column = first + (e.column - first) / at_once * at_once, row = at_once > 1 ? 0 : e.row;
      const std::int64_t columns = std::min(at_once, end - column);
      const std::int64_t rows = std::min(rows_at_once, log.num_rows() - row);
      window.load(row, rows, column, columns);
      finals = read_finals(log, row, rows, column, columns);
    }
    const auto last = finals.find({e.column, e.row + e.length - 1});
    if (last == finals.end())
      throw Error("the log holds no last observation of the episode that ended in row " +
                  std::to_string(e.row + e.length - 1) + " of column " + std::to_string(e.column));
    window.copy(e, last->second, episode);
    if (const auto wrong = find_wrong_action(env.action, episode.actions.data(), episode.length))
      throw Error("the log's action " + wrong->value + " in row " + std::to_string(e.row + wrong->row) + " of column " +
                  std::to_string(e.column) + ": must be " + wrong->accepted);
    episode.world = log.env_index()[static_cast<std::size_t>(e.column)];
    episode.id = id++;
    take(episode);
  }
}

}  // namespace hotloop

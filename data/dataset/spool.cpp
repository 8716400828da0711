#include "data/dataset/spool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "data/crc32c.h"
#include "data/dataset/work_folder.h"
#include "data/json_text.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kRecording = "recording.json";
constexpr const char *kIndex = "episodes.bin", *kProgress = "progress.bin", *kRewardTerms = "reward_terms.bin";
constexpr const char* kData[] = {kIndex,           "observation.bin", "action.bin", "reward.bin",
                                 "terminated.bin", "truncated.bin",   kRewardTerms};
constexpr std::uint64_t kMaxRecordingBytes = 1 << 20;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;  // their bytes can be counted, whatever the task

struct Record {
  std::int64_t length = 0, seed = 0, world = 0;
  std::uint64_t checksum = 0;  // crc32c of what is before it
};
static_assert(sizeof(Record) == 32);

std::uint64_t checksum_of(const Record& record) { return crc32c(&record, offsetof(Record, checksum)); }

// Of the last flush.
struct Progress {
  std::int64_t episodes = 0;
  std::uint64_t recording = 0;  // crc32c of recording.json
  std::uint64_t checksum = 0;   // crc32c of what is before it
};
static_assert(sizeof(Progress) == 24);

std::uint64_t checksum_of(const Progress& progress) { return crc32c(&progress, offsetof(Progress, checksum)); }

std::optional<Progress> read_progress(const fs::path& folder) {
  std::ifstream file(folder / kProgress, std::ios::binary);
  Progress progress;
  if (!file.read(reinterpret_cast<char*>(&progress), sizeof progress)) return std::nullopt;
  return progress.checksum == checksum_of(progress) ? std::optional(progress) : std::nullopt;
}

// What a whole spool holds. Where the count is lost, data without any record are damage still.
std::int64_t least_episodes(const fs::path& folder) {
  const std::optional<Progress> progress = read_progress(folder);
  return progress ? progress->episodes : EpisodeSpool::holds_data(folder) ? 1 : 0;
}

[[noreturn]] void fail_damaged(const fs::path& folder) {
  throw Error("the interrupted recording of '" + target_of(folder).string() + "' is damaged; to record anew, " +
              remove_hint(folder));
}

// Where two values differ, as a user would say it: "seed 1, now 5".
std::string difference(const std::string& key, const Json& was, const Json& now) {
  const auto text = [](const Json& value) {
    return value.is_null() ? "none" : shown(value.is_string() ? value.get<std::string>() : value.dump());
  };
  return key + " " + text(was) + ", now " + text(now);
}

// The members of a value that is a JSON object in a text; null for others.
Json members(const Json& value) {
  const Json inner = value.is_string() ? Json::parse(value.get<std::string>(), nullptr, false) : Json();
  return inner.is_object() ? inner : Json();
}

// Which version has begun the recording; `version` where that is lost.
std::string version_of(const fs::path& folder, const std::string& version) {
  try {
    const auto recording = parse_json_object<Json>(EpisodeSpool::recording_of(folder), "");
    const auto was = recording.find("version");
    return was != recording.end() && was->is_string() ? was->get<std::string>() : version;
  } catch (const Error&) {
    return version;
  }
}

// The first difference of two objects; "" for none.
std::string first_difference(const Json& before, const Json& now) {
  for (const auto& [key, value] : now.items()) {
    const Json was = before.contains(key) ? before[key] : Json();
    if (was == value) continue;
    const Json inner_was = members(was), inner = members(value);
    const bool nested = !inner_was.is_null() && !inner.is_null();
    const std::string inside = nested ? first_difference(inner_was, inner) : "";
    return inside.empty() ? difference(key, was, value) : inside;
  }
  return "";
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// The files one behind the other, from their beginning.
class BackReader {
 public:
  explicit BackReader(fs::path path) : path_(std::move(path)), file_(path_, std::ios::binary) {}
  template <class T>
  void read(std::vector<T>& values, std::size_t count) {
    values.resize(count);
    file_.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
    if (!file_) throw Error(path_.string() + ": cannot be read back");
  }

 private:
  fs::path path_;
  std::ifstream file_;
};

}  // namespace

EpisodeSpool::EpisodeSpool(const fs::path& folder, detail::Descriptor lock, const EnvSpec& env)
    : folder_(folder),
      lock_(std::move(lock)),
      width_(static_cast<std::size_t>(env.obs_dim())),
      action_bytes_(action_bytes(env.action)),
      num_terms_(env.reward_terms.size()),
      index_(folder / kIndex),
      observation_(folder / "observation.bin"),
      action_(folder / "action.bin"),
      reward_(folder / "reward.bin"),
      terminated_(folder / "terminated.bin"),
      truncated_(folder / "truncated.bin"),
      reward_terms_(folder / kRewardTerms) {}

EpisodeSpool EpisodeSpool::create(const fs::path& folder, const std::string& recording, const EnvSpec& env) {
  make_folder(folder);
  detail::Descriptor lock = lock_work_folder(folder);  // before all else: the folder may be another process'
  if (!recording_of(folder).empty()) throw_file_error(folder, EEXIST);
  if (holds_data(folder)) fail_damaged(folder);
  try {
    EpisodeSpool spool(folder, std::move(lock), env);
    spool.recording_ = crc32c(recording);
    spool.write_progress();
    write_file(folder / kRecording, recording);
    return spool;
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    throw;
  }
}

std::string EpisodeSpool::recording_of(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / kRecording, ignored)) return "";
  return read_file(folder / kRecording, kMaxRecordingBytes);
}

bool EpisodeSpool::holds_data(const fs::path& folder) {
  std::error_code ignored;
  return std::any_of(std::begin(kData), std::end(kData), [&](const char* name) {
    return fs::is_regular_file(folder / name, ignored) && fs::file_size(folder / name, ignored) > 0;
  });
}

void EpisodeSpool::check_version(const fs::path& folder, const std::string& version) {
  const std::string was = version_of(folder, version);
  std::error_code ignored;
  // earlier versions had neither of the two
  const bool older = !fs::exists(folder / kProgress, ignored) && !fs::exists(folder / kRewardTerms, ignored);
  if (was == version && !older) return;
  throw Error("the interrupted recording of '" + target_of(folder).string() + "' was begun by " +
              (was == version ? "an earlier version of hotloop" : "hotloop " + shown(was) + ", this is " + version) +
              "; finish it with that, or to record anew, " + remove_hint(folder));
}

void EpisodeSpool::restore_recording(const fs::path& folder, const std::string& recording) {
  const detail::Descriptor lock = lock_work_folder(folder);
  const std::optional<Progress> progress = read_progress(folder);
  if (!progress || progress->recording != crc32c(recording)) fail_damaged(folder);
  write_file(folder / kRecording, recording);
}

void EpisodeSpool::check_recording(const fs::path& folder, const std::string& recording) {
  Json before;
  try {
    before = parse_json_object<Json>(recording_of(folder), "");
  } catch (const Error&) {
    fail_damaged(folder);
  }
  if (const std::string other = first_difference(before, Json::parse(recording)); !other.empty())
    throw Error("--resume: the interrupted recording of '" + target_of(folder).string() + "' was made with " + other +
                "; give the command as it was, or " + remove_hint(folder));
}

EpisodeSpool EpisodeSpool::resume(const fs::path& folder, const EnvSpec& env) {
  // before a missing one would be made
  std::error_code ignored;
  for (const char* name : kData)
    if (!fs::is_regular_file(folder / name, ignored)) fail_damaged(folder);
  EpisodeSpool spool(folder, lock_work_folder(folder), env);
  remove_temporaries(folder);
  spool.recording_ = crc32c(recording_of(folder));
  spool.take_records();
  return spool;
}

// Counts the whole records and cuts every file to them.
void EpisodeSpool::take_records() {
  std::ifstream file(folder_ / kIndex, std::ios::binary);
  Record record;
  while (file.read(reinterpret_cast<char*>(&record), sizeof record) && record.checksum == checksum_of(record)) {
    if (record.length < 1 || record.length > kMostSteps - steps_) fail_damaged(folder_);
    ++episodes_;
    steps_ += record.length;
    last_seed_ = record.seed;
    last_world_ = record.world;
  }
  if (episodes_ < least_episodes(folder_)) fail_damaged(folder_);
  const auto steps = static_cast<std::uint64_t>(steps_), episodes = static_cast<std::uint64_t>(episodes_);
  try {
    index_.truncate_to(episodes * sizeof(Record));
    observation_.truncate_to((steps + episodes) * width_ * sizeof(float));
    action_.truncate_to(steps * action_bytes_);
    reward_.truncate_to(steps * sizeof(float));
    terminated_.truncate_to(steps);
    truncated_.truncate_to(steps);
    reward_terms_.truncate_to(steps * num_terms_ * sizeof(float));
  } catch (const Error&) {
    fail_damaged(folder_);
  }
}

void EpisodeSpool::write_progress() const {
  Progress progress{episodes_, recording_};
  progress.checksum = checksum_of(progress);
  write_file(folder_ / kProgress, {reinterpret_cast<const char*>(&progress), sizeof progress});
}

void EpisodeSpool::append(const Episode& episode) {
  observation_.append(bytes_of(episode.observations));
  action_.append(bytes_of(episode.actions));
  reward_.append(bytes_of(episode.rewards));
  terminated_.append(bytes_of(episode.terminated));
  truncated_.append(bytes_of(episode.truncated));
  reward_terms_.append(bytes_of(episode.reward_terms));
  Record record{episode.length, episode.seed, episode.world};
  record.checksum = checksum_of(record);
  records_.append(reinterpret_cast<const char*>(&record), sizeof record);
  ++episodes_;
  steps_ += episode.length;
  last_seed_ = episode.seed;
  last_world_ = episode.world;
}

void EpisodeSpool::flush() {
  if (records_.empty()) return;
  for (AppendFile* file : {&observation_, &action_, &reward_, &terminated_, &truncated_, &reward_terms_}) file->flush();
  index_.append(records_);
  records_.clear();
  index_.flush();
  write_progress();
}

void EpisodeSpool::for_each(const std::function<void(Episode&)>& take) {
  flush();
  BackReader index(folder_ / kIndex), observation(observation_.path()), action(action_.path()), reward(reward_.path()),
      terminated(terminated_.path()), truncated(truncated_.path()), reward_terms(reward_terms_.path());
  Episode episode;
  std::vector<Record> record;
  for (std::int64_t id = 0; id < episodes_; ++id) {
    index.read(record, 1);
    episode.id = id;
    episode.length = record[0].length;
    episode.seed = record[0].seed;
    episode.world = record[0].world;
    const auto length = static_cast<std::size_t>(episode.length);
    observation.read(episode.observations, (length + 1) * width_);
    action.read(episode.actions, length * action_bytes_);
    reward.read(episode.rewards, length);
    terminated.read(episode.terminated, length);
    truncated.read(episode.truncated, length);
    reward_terms.read(episode.reward_terms, length * num_terms_);
    take(episode);
  }
}

void EpisodeSpool::remove() {
  std::error_code reason;
  fs::remove_all(folder_, reason);
  if (reason) throw_file_error(folder_, reason.value());
}

}  // namespace hotloop

// Where episodes wait while a dataset is recorded: plain files that only grow, so that a kill at any moment costs at
// most what was not flushed, and a later process goes on. A format is written from the spool once all episodes are
// there.
//
//   recording.json   what is recorded; a resumed recording must be of the same
//   progress.bin     how many episodes were there at the last flush, and the checksum of recording.json
//   episodes.bin     a record of fixed size an episode, each with a checksum
//   observation.bin action.bin reward.bin terminated.bin truncated.bin reward_terms.bin
//
// Order on disk: the data of episodes, then their records, then their number. What lies beyond the last whole record is
// cut off; fewer records than were counted are damage.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "data/dataset/episode.h"
#include "data/file.h"

namespace hotloop {

class EpisodeSpool {
 public:
  // A new spool in `folder`, which is created; `recording` is kept as recording.json. Error if a spool is there.
  static EpisodeSpool create(const std::filesystem::path& folder, const std::string& recording, const EnvSpec& env);
  // One that was left by a killed process, cut to its last whole episode. Error if it is missing, damaged, or in use.
  static EpisodeSpool resume(const std::filesystem::path& folder, const EnvSpec& env);
  // recording.json of the spool in `folder`; "" where there is none, or a kill came before it was written.
  static std::string recording_of(const std::filesystem::path& folder);
  // Whether episodes are in it, or parts of some.
  static bool holds_data(const std::filesystem::path& folder);
  // Error where another version of hotloop has left the spool in `folder`: `version` is this one's.
  static void check_version(const std::filesystem::path& folder, const std::string& version);
  // Writes recording.json, lost, anew. Error where `recording` is not what it was.
  static void restore_recording(const std::filesystem::path& folder, const std::string& recording);
  // Error naming the first key of the JSON object `recording` that the spool in `folder` has otherwise.
  static void check_recording(const std::filesystem::path& folder, const std::string& recording);

  void append(const Episode& episode);  // its id must be episodes()
  void flush();                         // durable: what was appended before survives

  std::int64_t episodes() const { return episodes_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t last_seed() const { return last_seed_; }  // of the last episode; -1: none
  std::int64_t last_world() const { return last_world_; }
  const std::filesystem::path& folder() const { return folder_; }

  // Flushes, then reads every episode back in order. `take` may take its content.
  void for_each(const std::function<void(Episode&)>& take);
  // Removes the folder.
  void remove();

 private:
  EpisodeSpool(const std::filesystem::path& folder, detail::Descriptor lock, const EnvSpec& env);
  void take_records();
  void write_progress() const;

  std::filesystem::path folder_;
  detail::Descriptor lock_;
  std::size_t width_, action_bytes_, num_terms_;
  AppendFile index_, observation_, action_, reward_, terminated_, truncated_, reward_terms_;
  std::string records_;          // not flushed yet
  std::uint64_t recording_ = 0;  // checksum of recording.json
  std::int64_t episodes_ = 0, steps_ = 0, last_seed_ = -1, last_world_ = -1;
};

}  // namespace hotloop

// The folder of one training run, and the only writer of it:
//   config.toml  machine.json  metrics.*  performance.csv  events.out.tfevents.*
//   checkpoints/00000050.safetensors ...   the newest of a few
//   latest.safetensors  best.safetensors   second names (hard links) of checkpoints, or files of their own
// A kill at any moment leaves each of these names with the old or the new whole file. A lock keeps a second process
// out.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/file.h"
#include "data/safetensors.h"

namespace hotloop {

class RunDir {
 public:
  // A new run in `path`, which is created; empty: "runs/<task>__<exp_name>__<seed>__<unix time>". Error if the folder
  // holds anything, cannot be written, or belongs to a running training.
  static RunDir create(const std::filesystem::path& path, const std::string& task, const std::string& exp_name,
                       std::int64_t seed, std::int64_t keep_checkpoints);
  // Goes on in the folder of an earlier run. Error if there is none, or it belongs to a running training.
  static RunDir resume(const std::filesystem::path& path, std::int64_t keep_checkpoints);

  // Called once something was trained. A new run that ends before that takes with it what create() has made, so that
  // the same command can be given again.
  void keep();

  const std::filesystem::path& path() const { return path_; }
  // False once somebody has removed, renamed or replaced the folder under the running training.
  bool is_there() const;
  // Makes the folder anew in its place. Error if another one is there that holds anything or is in use.
  void make_again();
  // A file of the run, replaced in one step: "config.toml", "machine.json".
  void write(const std::string& name, std::string_view text) const { write_file(path_ / name, text); }

  // checkpoints/<iteration>.safetensors, then latest.safetensors. Removes all but the newest keep_checkpoints, and
  // those of later iterations, which an earlier run beyond the resumed point has left.
  std::filesystem::path save_checkpoint(std::int64_t iteration, const std::vector<NamedTensor>& tensors,
                                        const Metadata& metadata) const;
  void save_best(const std::vector<NamedTensor>& tensors, const Metadata& metadata) const;
  // best.safetensors becomes the latest checkpoint, without writing it twice.
  void latest_is_best() const;

 private:
  class Discard;
  struct Deleter {
    void operator()(Discard* discard) const;
  };
  using DiscardPointer = std::unique_ptr<Discard, Deleter>;
  RunDir(std::filesystem::path path, std::int64_t keep_checkpoints);
  void rotate(std::int64_t newest) const;

  std::filesystem::path path_;
  std::int64_t keep_;
  detail::Descriptor lock_;
  std::pair<std::uint64_t, std::uint64_t> identity_;  // of the folder
  DiscardPointer discard_;                            // after lock_: the folder is still held while it is emptied
};

// What a training says once it has made its folder again.
std::string removed_text(const std::filesystem::path& run);

enum class CheckpointChoice : std::uint8_t { latest, best, best_or_latest };

// The checkpoint file that a RUN|CHECKPOINT argument means: a file itself, or the chosen one of a run folder. Error
// with what was looked for.
std::filesystem::path resolve_checkpoint(const std::filesystem::path& argument, CheckpointChoice choice);

// The numbered checkpoints of a run folder, newest first.
std::vector<std::filesystem::path> numbered_checkpoints(const std::filesystem::path& run);

}  // namespace hotloop

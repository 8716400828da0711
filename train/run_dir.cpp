#include "train/run_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuns = "runs";
constexpr const char* kLock = ".lock";
constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kLatest = "latest.safetensors";
constexpr const char* kBest = "best.safetensors";
constexpr const char* kSuffix = ".safetensors";

// What an aborted start leaves does not count.
bool holds_anything(const fs::path& folder) {
  std::error_code reason;
  for (fs::directory_iterator it(folder, reason), end; !reason && it != end; it.increment(reason))
    if (it->path().filename() != kLock && !is_temporary(it->path())) return true;
  if (reason) throw_file_error(folder, reason.value());
  return false;
}

void refuse_unless_empty(const fs::path& folder) {
  if (holds_anything(folder))
    throw Error("run folder '" + folder.string() + "' exists; use --resume " + folder.string() +
                " or another --run-dir");
}

// `folder` and those above it that do not exist, deepest first.
std::vector<fs::path> missing_folders(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (fs::path p = folder; !p.empty() && !fs::exists(p, ignored); p = p.parent_path()) {
    missing.push_back(p);
    if (p == p.parent_path()) break;
  }
  return missing;
}

// Two runs started in one second must not meet, so a folder that is there gets "-2" and so on.
fs::path new_default_folder(const std::string& task, const std::string& exp_name, std::int64_t seed) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto unix_time = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  make_folder(kRuns);
  const std::string name = task + "__" + exp_name + "__" + std::to_string(seed) + "__" + std::to_string(unix_time);
  for (int i = 1;; ++i) {
    const fs::path path = fs::path(kRuns) / (i == 1 ? name : name + "-" + std::to_string(i));
    std::error_code reason;
    if (fs::create_directory(path, reason)) return path;
    if (reason) throw_file_error(path, reason.value());
  }
}

// Held while the descriptor is open, so that no kill can leave it behind.
detail::Descriptor lock_folder(const fs::path& folder) {
  const fs::path path = folder / kLock;
  detail::Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.get() < 0) throw_file_error(folder, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) throw Error("run folder '" + folder.string() + "' is in use by another training");
  return lock;  // a file system without locks
}

// Device and number of what has this name; zeros where nothing has.
std::pair<std::uint64_t, std::uint64_t> identity_of(const fs::path& path) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino};
}

std::optional<std::int64_t> iteration_of(const fs::path& checkpoint) {
  if (checkpoint.extension() != kSuffix) return std::nullopt;
  const std::string stem = checkpoint.stem().string();
  std::int64_t iteration = 0;
  const auto [end, reason] = std::from_chars(stem.data(), stem.data() + stem.size(), iteration);
  if (reason != std::errc() || end != stem.data() + stem.size() || iteration < 0) return std::nullopt;
  return iteration;
}

std::string checkpoint_name(std::int64_t iteration) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%08lld", static_cast<long long>(iteration));
  return std::string(digits) + kSuffix;
}

}  // namespace

// Removes a run that came to nothing: the files a run writes, then the folders that were made for it. What another
// program has put there stays.
class RunDir::Discard {
 public:
  explicit Discard(std::vector<fs::path> made) : made_(std::move(made)) {}
  // Once this process alone writes there.
  void own(const fs::path& folder) { folder_ = folder; }
  void disarm() {
    folder_.clear();
    made_.clear();
  }
  ~Discard() {
    std::error_code ignored;
    std::vector<fs::path> ours;
    for (fs::directory_iterator it(folder_, ignored), end; !ignored && it != end; it.increment(ignored))
      if (is_of_a_run(it->path())) ours.push_back(it->path());
    for (const fs::path& path : ours) fs::remove(path, ignored);
    for (const fs::path& path : made_) fs::remove(path, ignored);  // fails where something is left in it
  }
  Discard(const Discard&) = delete;
  Discard& operator=(const Discard&) = delete;

 private:
  static bool is_of_a_run(const fs::path& path) {
    const std::string name = path.filename().string();
    for (const char* known : {kLock, kCheckpoints, "sweep.toml", "population.toml", "config.toml", "machine.json",
                              "metrics.csv", "metrics.jsonl", "performance.csv"})
      if (name == known) return true;
    return name.starts_with("events.out.tfevents.") || is_temporary(path);
  }

  fs::path folder_;             // empty: nothing in it is ours
  std::vector<fs::path> made_;  // deepest first
};

void RunDir::Deleter::operator()(Discard* discard) const { delete discard; }

void RunDir::keep() {
  if (discard_) discard_->disarm();
  discard_.reset();
}

RunDir::RunDir(fs::path path, std::int64_t keep_checkpoints)
    : path_(std::move(path)), keep_(std::max<std::int64_t>(1, keep_checkpoints)), lock_(lock_folder(path_)) {
  identity_ = identity_of(path_);
  remove_temporaries(path_);
  remove_temporaries(path_ / kCheckpoints);
}

RunDir RunDir::create(const fs::path& path, const std::string& task, const std::string& exp_name, std::int64_t seed,
                      std::int64_t keep_checkpoints) {
  std::vector<fs::path> made = missing_folders(path.empty() ? kRuns : path);
  fs::path folder = path;
  if (path.empty()) {
    folder = new_default_folder(task, exp_name, seed);
    made.insert(made.begin(), folder);
  }
  DiscardPointer discard(new Discard(std::move(made)));
  make_folder(folder);
  refuse_unless_empty(folder);  // before the lock, so that a folder of something else gets no file of ours
  RunDir run(folder, keep_checkpoints);
  refuse_unless_empty(folder);  // again: another process may have been quicker
  discard->own(folder);
  run.discard_ = std::move(discard);
  return run;
}

RunDir RunDir::resume(const fs::path& path, std::int64_t keep_checkpoints) {
  if (!fs::is_directory(path)) throw Error("no run folder '" + path.string() + "' to resume");
  return RunDir(path, keep_checkpoints);
}

bool RunDir::is_there() const { return identity_of(path_) == identity_; }

void RunDir::make_again() {
  make_folder(path_);
  refuse_unless_empty(path_);
  lock_ = lock_folder(path_);
  identity_ = identity_of(path_);
}

std::string removed_text(const fs::path& run) {
  return "run folder '" + run.string() +
         "' was removed while the training ran: made again, the metrics up to here are lost";
}

fs::path RunDir::save_checkpoint(std::int64_t iteration, const std::vector<NamedTensor>& tensors,
                                 const Metadata& metadata) const {
  const fs::path path = path_ / kCheckpoints / checkpoint_name(iteration);
  make_folder(path.parent_path());
  write_safetensors(path, tensors, metadata);
  link_file(path, path_ / kLatest);
  rotate(iteration);
  return path;
}

void RunDir::save_best(const std::vector<NamedTensor>& tensors, const Metadata& metadata) const {
  write_safetensors(path_ / kBest, tensors, metadata);
}

void RunDir::latest_is_best() const { link_file(path_ / kLatest, path_ / kBest); }

void RunDir::rotate(std::int64_t newest) const {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code reason;
  for (fs::directory_iterator it(path_ / kCheckpoints, reason), end; !reason && it != end; it.increment(reason)) {
    const auto iteration = iteration_of(it->path());
    if (iteration && *iteration > newest)
      found.emplace_back(-1, it->path());
    else if (iteration)
      found.emplace_back(*iteration, it->path());
  }
  std::sort(found.begin(), found.end());
  const auto keep = std::min<std::size_t>(found.size(), static_cast<std::size_t>(keep_));
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].first < 0 || i + keep < found.size()) fs::remove(found[i].second, reason);
}

fs::path resolve_checkpoint(const fs::path& argument, CheckpointChoice choice) {
  std::error_code ignored;
  if (fs::is_regular_file(argument, ignored)) return argument;
  if (fs::exists(argument, ignored) && !fs::is_directory(argument, ignored))
    throw Error("'" + argument.string() + "': is neither a run folder nor a regular file");
  if (!fs::is_directory(argument, ignored)) {
    std::vector<std::string> siblings;
    const fs::path parent = argument.has_parent_path() ? argument.parent_path() : fs::path(".");
    for (fs::directory_iterator it(parent, ignored), end; !ignored && it != end; it.increment(ignored))
      siblings.push_back((argument.has_parent_path() ? it->path() : it->path().filename()).string());
    throw Error("no run or checkpoint '" + argument.string() + "'" +
                (argument.empty() ? "" : suggestion(argument.string(), siblings)));
  }
  std::vector<std::string> names;
  if (choice != CheckpointChoice::latest) names.emplace_back(kBest);
  if (choice != CheckpointChoice::best) names.emplace_back(kLatest);
  std::string looked_for;
  for (const std::string& name : names) {
    if (fs::is_regular_file(argument / name, ignored)) return argument / name;
    looked_for += (looked_for.empty() ? "" : " nor ") + name;
  }
  throw Error("run folder '" + argument.string() + "' holds no " + looked_for);
}

std::vector<fs::path> numbered_checkpoints(const fs::path& run) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code ignored;
  for (fs::directory_iterator it(run / kCheckpoints, ignored), end; !ignored && it != end; it.increment(ignored))
    if (const auto iteration = iteration_of(it->path())) found.emplace_back(*iteration, it->path());
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> paths;
  for (const auto& [iteration, path] : found) paths.push_back(path);
  return paths;
}

}  // namespace hotloop

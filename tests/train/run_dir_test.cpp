#include "train/run_dir.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "tests/error_text.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kAny = UINT64_MAX;

// A checkpoint whose content says its iteration.
fs::path save(const RunDir& run, std::int64_t iteration) {
  const std::vector<std::int64_t> values(1000, iteration);
  return run.save_checkpoint(iteration, {{"i", DType::i64, {1000}, std::as_bytes(std::span(values))}}, {});
}

std::int64_t iteration_in(const fs::path& file) { return Safetensors::read(file).values<std::int64_t>("i").back(); }

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

RunDir create(const fs::path& path, std::int64_t keep = 3) {
  return RunDir::create(path, "CartPole-v1", "ppo", 7, keep);
}

// Whoever this process is, `body` runs without the right to write everywhere.
template <class Body>
std::string text_without_root(Body&& body) {
  const bool root = ::geteuid() == 0;
  if (root && ::seteuid(65534) != 0) return "cannot drop rights";
  const std::string text = error_text(body);
  if (root && ::seteuid(0) != 0) std::abort();
  return text;
}

class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& path) : before_(fs::current_path()) { fs::current_path(path); }
  ~WorkingFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

TEST(RunDir, DefaultNameSaysTaskExperimentSeedAndTime) {
  const TempFolder folder;
  const WorkingFolder here(folder.path());
  const RunDir first = create(""), second = create("");
  const std::string name = first.path().string();
  EXPECT_EQ(name.rfind("runs/CartPole-v1__ppo__7__", 0), 0u) << name;
  EXPECT_NE(first.path(), second.path()) << "two runs of one second";
  second.write("config.toml", "seed = 7\n");
  EXPECT_EQ(read_file(second.path() / "config.toml", kAny), "seed = 7\n");
}

TEST(RunDir, AFolderInUseOrFullOrForbiddenIsRefused) {
  const TempFolder folder;
  const fs::path path = folder / "a/run";
  {
    const RunDir run = create(path);
    EXPECT_EQ(error_text([&] { create(path); }), "run folder '" + path.string() + "' is in use by another training");
    EXPECT_EQ(error_text([&] { RunDir::resume(path, 3); }),
              "run folder '" + path.string() + "' is in use by another training");
  }
  {
    RunDir run = create(path);  // nothing was in it: an aborted start is no run
    run.write("config.toml", "");
    run.keep();
  }
  EXPECT_EQ(error_text([&] { create(path); }),
            "run folder '" + path.string() + "' exists; use --resume " + path.string() + " or another --run-dir");
  RunDir::resume(path, 3);
  write_file(folder / "file", "");
  EXPECT_EQ(error_text([&] { create(folder / "file"); }), (folder / "file").string() + ": Not a directory");
  EXPECT_EQ(error_text([&] { RunDir::resume(folder / "none", 3); }),
            "no run folder '" + (folder / "none").string() + "' to resume");
  EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST(RunDir, ARunThatTrainedNothingLeavesNoTrace) {
  const TempFolder folder;
  make_folder(folder / "empty");
  for (const char* name : {"a/b/run", "empty"}) {
    const RunDir run = create(folder / name);
    for (const char* file : {"config.toml", "machine.json", "metrics.csv", "events.out.tfevents.1.host.2"})
      run.write(file, "x");
  }
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"empty"});
  EXPECT_EQ(names_in(folder / "empty"), std::set<std::string>{});
  {
    const RunDir run = create(folder / "c/run");
    run.write("config.toml", "x");
    write_file(folder / "c/run/thesis.tex", "theirs");
  }
  EXPECT_EQ(names_in(folder / "c/run"), std::set<std::string>{"thesis.tex"});
  const WorkingFolder here(folder.path());
  { create(""); }
  EXPECT_FALSE(fs::exists("runs"));
  { create("").keep(); }
  EXPECT_FALSE(fs::is_empty("runs"));
}

TEST(RunDir, AForeignFolderStaysAsItIs) {
  const TempFolder folder;
  write_file(folder / "thesis.tex", "");
  EXPECT_NE(error_text([&] { create(folder.path()); }), "");
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"thesis.tex"});
}

TEST(RunDir, NoPermissionNamesTheFolder) {
  const TempFolder folder;
  make_folder(folder / "sealed");
  ::chmod(folder.path().c_str(), 0755);
  ::chmod((folder / "sealed").c_str(), 0555);
  EXPECT_EQ(text_without_root([&] { create(folder / "sealed"); }),
            (folder / "sealed").string() + ": Permission denied");
  EXPECT_EQ(text_without_root([&] { create(folder / "sealed/run"); }),
            (folder / "sealed/run").string() + ": Permission denied");
}

TEST(RunDir, KeepsTheNewestCheckpointsAndLatest) {
  const TempFolder folder;
  const RunDir run = create(folder.path(), 2);
  for (const int i : {5, 50, 500}) save(run, i);
  EXPECT_EQ(names_in(folder / "checkpoints"), (std::set<std::string>{"00000050.safetensors", "00000500.safetensors"}));
  EXPECT_EQ(iteration_in(folder / "latest.safetensors"), 500);
  const fs::path wide = save(run, 1'000'000'000);  // more digits than the padding: order by number, not by name
  EXPECT_EQ(names_in(folder / "checkpoints"),
            (std::set<std::string>{"00000500.safetensors", wide.filename().string()}));
  EXPECT_EQ(iteration_in(wide), 1'000'000'000);
}

TEST(RunDir, CheckpointsBeyondTheResumedPointGo) {
  const TempFolder folder;
  {
    const RunDir run = create(folder.path(), 3);
    for (const int i : {10, 20, 30}) save(run, i);
    write_file(folder / "checkpoints/notes.txt", "");
  }
  const RunDir run = RunDir::resume(folder.path(), 3);
  save(run, 15);
  EXPECT_EQ(names_in(folder / "checkpoints"),
            (std::set<std::string>{"00000010.safetensors", "00000015.safetensors", "notes.txt"}));
  EXPECT_EQ(iteration_in(folder / "latest.safetensors"), 15);
}

TEST(RunDir, BestStaysWhenItsCheckpointIsRotatedAway) {
  const TempFolder folder;
  const RunDir run = create(folder.path(), 1);
  save(run, 1);
  run.latest_is_best();
  run.latest_is_best();
  for (const int i : {2, 3}) save(run, i);
  EXPECT_EQ(iteration_in(folder / "best.safetensors"), 1);
  EXPECT_EQ(iteration_in(folder / "latest.safetensors"), 3);
  const std::vector<std::int64_t> values = {9};
  run.save_best({{"i", DType::i64, {1}, std::as_bytes(std::span(values))}}, {});
  EXPECT_EQ(iteration_in(folder / "best.safetensors"), 9);
  EXPECT_EQ(names_in(folder.path()),
            (std::set<std::string>{".lock", "best.safetensors", "checkpoints", "latest.safetensors"}));
}

TEST(RunDir, AKillAtAnyMomentLeavesWholeFiles) {
  const TempFolder folder;
  { save(create(folder.path(), 2), 0); }
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      const RunDir run = RunDir::resume(folder.path(), 2);
      for (std::int64_t i = iteration_in(folder / "latest.safetensors") + 1;; ++i) {
        save(run, i);
        run.latest_is_best();
      }
    }
    ::usleep(static_cast<useconds_t>(2000 + 1371 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_NO_THROW(iteration_in(folder / "latest.safetensors"));
    if (fs::exists(folder / "best.safetensors")) {
      EXPECT_NO_THROW(iteration_in(folder / "best.safetensors"));
    }
    for (const std::string& name : names_in(folder / "checkpoints"))
      if (!is_temporary(name)) {
        EXPECT_NO_THROW(iteration_in(folder.path() / "checkpoints" / name)) << name;
      }
  }
  EXPECT_GT(iteration_in(folder / "latest.safetensors"), 0) << "no child got as far as a checkpoint";
  const RunDir run = RunDir::resume(folder.path(), 2);  // the lock of a killed process is free, its temporaries go
  for (const fs::path& where : {folder.path(), folder / "checkpoints"})
    for (const std::string& name : names_in(where)) EXPECT_FALSE(is_temporary(name)) << name;
}

TEST(ResolveCheckpoint, FolderFileAndNothing) {
  const TempFolder folder;
  const fs::path run = folder / "run";
  make_folder(run);
  using Choice = CheckpointChoice;
  EXPECT_EQ(error_text([&] { resolve_checkpoint(run, Choice::best); }),
            "run folder '" + run.string() + "' holds no best.safetensors");
  EXPECT_EQ(error_text([&] { resolve_checkpoint(run, Choice::best_or_latest); }),
            "run folder '" + run.string() + "' holds no best.safetensors nor latest.safetensors");
  write_file(run / "latest.safetensors", "");
  EXPECT_EQ(resolve_checkpoint(run, Choice::best_or_latest), run / "latest.safetensors");
  EXPECT_THROW(resolve_checkpoint(run, Choice::best), Error);
  write_file(run / "best.safetensors", "");
  EXPECT_EQ(resolve_checkpoint(run, Choice::best_or_latest), run / "best.safetensors");
  EXPECT_EQ(resolve_checkpoint(run, Choice::latest), run / "latest.safetensors");
  EXPECT_EQ(resolve_checkpoint(run / "best.safetensors", Choice::latest), run / "best.safetensors");
  const std::string wrong = (folder / "rum").string();
  EXPECT_EQ(error_text([&] { resolve_checkpoint(wrong, Choice::latest); }),
            "no run or checkpoint '" + wrong + "' (did you mean '" + run.string() + "'?)");
  EXPECT_EQ(error_text([&] { resolve_checkpoint("", Choice::latest); }), "no run or checkpoint ''");
}

}  // namespace
}  // namespace hotloop

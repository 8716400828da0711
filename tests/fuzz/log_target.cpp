#include "data/dataset/log_episodes.h"
#include "data/file.h"
#include "data/inspect/inspect.h"
#include "data/inspect/repair.h"
#include "tests/data/log_rig.h"
#include "tests/fuzz/hdf5_edits.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostValues = 1 << 20;  // that `convert` is tried with: it holds whole columns

std::string valid_log() {
  const TempFolder folder;
  LogSpec spec = small_log_spec(3, 4, 16);
  spec.expected_iterations = 1;
  spec.keys.push_back(describe_log_key(kRewardTermsKey, DType::f32, {2}));
  spec.keys.back().names = {"near", "far"};
  write_small_log(folder / "log.h5", spec, {.num_threads = 1}, 0, 3);
  return read_file(folder / "log.h5", UINT64_MAX);
}

void convert(const fs::path& path) {
  const LogReader log(path);
  if (log.num_rows() > kMostValues / log.num_worlds() / std::max<std::int64_t>(1, log.obs_dim())) return;
  const LoggedEpisodes episodes = find_episodes(log, true);
  for (const ActionSpace& action : {ActionSpace::discrete(3), ActionSpace::box({-1, -1}, {1, 1})}) {
    EnvSpec env;
    env.action = action;
    if (log.contains(kRewardTermsKey)) env.reward_terms = log.key(kRewardTermsKey).names;
    expect_calm([&] { read_episodes(log, env, episodes, [](const Episode&) {}); });
  }
}

}  // namespace

void fuzz_log(std::string_view bytes) {
  const Hdf5Quiet quiet;
  static const TempFolder folder;
  static const std::string valid = valid_log();
  const fs::path path = folder / "log.h5", repaired = folder / "new.h5";
  put_file(path, valid);
  FuzzInput input(bytes);
  edit_hdf5(path, input);
  expect_calm([&] {
    const Report report = inspect(path);
    report.text();
    report.json();
  });
  expect_calm([&] { convert(path); });
  expect_calm([&] { repair_log(path, repaired); });
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (entry.path() != path) fs::remove(entry.path());
}

}  // namespace hotloop

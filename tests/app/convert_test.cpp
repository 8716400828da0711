// `hotloop convert`: a log's whole episodes, each with its own bits, in order of (world, start); what is left out.
#include <gtest/gtest.h>

#include <memory>

#include "data/dataset/work_folder.h"
#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/log/log_writer.h"
#include "data/log/space_json.h"
#include "sim/core/registry.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/reference_episodes.h"
#include "tests/app/small_disk.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"
#include "train/config.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kLimit = 120;  // [s]
constexpr std::int64_t kWorlds = 3, kSteps = 16, kIterations = 20;

LogSpec log_spec(const EnvSpec& env) {
  TrainConfig config;
  config.task = env.name;
  LogSpec spec;
  spec.info = {.task = env.name,
               .config = to_toml(config),
               .hotloop_version = "test",
               .device = "cpu",
               .source = "train",
               .observation_space = space_json(env.observation),
               .action_space = space_json(env.action),
               .seed = 1,
               .num_envs = kWorlds,
               .num_steps = kSteps,
               .max_episode_steps = env.max_episode_steps};
  spec.keys = {describe_log_key("observation", DType::f32, {env.obs_dim()}), describe_log_key("action", DType::i64, {}),
               describe_log_key("next/reward", DType::f32, {1}),
               describe_log_key("next/terminated", DType::boolean, {1}),
               describe_log_key("next/truncated", DType::boolean, {1})};
  spec.env_index = {0, 1, 2};
  spec.obs_dim = env.obs_dim();
  return spec;
}

// The episodes of a world while the log goes on; what is cut by the gap is thrown away.
struct World {
  Episode open;
  bool known = true;  // where the open episode began
  std::vector<Episode> whole;
};

// Random CartPole, logged but for iteration `gap` (-1: all); the whole episodes in the order that convert has.
std::vector<Episode> write_log(const fs::path& path, std::int64_t gap) {
  const EnvEntry& env = find_environment("CartPole-v1");
  BatchConfig config;
  config.num_envs = kWorlds;
  const std::unique_ptr<Batch> batch = env.make(config);
  StepBuffers io(env.spec, kWorlds, {});
  RandomActions random(env.spec.action, kWorlds, {}, 5);
  const auto d = static_cast<std::size_t>(env.spec.obs_dim());
  LogWriter writer(path, log_spec(env.spec), {});
  std::vector<World> worlds(kWorlds);
  batch->reset({}, io.observation.data(), nullptr);
  for (std::int64_t i = 0; i < kIterations; ++i) {
    std::vector<float> observation, reward;
    std::vector<std::int64_t> action;
    std::vector<std::uint8_t> terminated, truncated;
    LogIteration it;
    it.index = i;
    it.global_step = i * kSteps * kWorlds;
    if (i == gap)
      for (World& w : worlds) w.open = {}, w.known = false;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const std::vector<float> before(io.observation.data(), io.observation.data() + kWorlds * d);
      observation.insert(observation.end(), before.begin(), before.end());
      random.fill({}, static_cast<std::uint64_t>(i * kSteps + t), io.action.data());
      batch->step({}, io.io());
      for (std::size_t w = 0; w < worlds.size(); ++w) {
        Episode& e = worlds[w].open;
        const auto* const bytes = io.action.data() + 8 * w;
        action.push_back(reinterpret_cast<const std::int64_t*>(io.action.data())[w]);
        reward.push_back(io.reward.data()[w]);
        terminated.push_back(io.terminated.data()[w]);
        truncated.push_back(io.truncated.data()[w]);
        const auto at = static_cast<std::ptrdiff_t>(w * d), end = static_cast<std::ptrdiff_t>((w + 1) * d);
        e.observations.insert(e.observations.end(), before.begin() + at, before.begin() + end);
        e.actions.insert(e.actions.end(), bytes, bytes + 8);
        e.rewards.push_back(reward.back());
        e.terminated.push_back(terminated.back());
        e.truncated.push_back(truncated.back());
        ++e.length;
        if (!terminated.back() && !truncated.back()) continue;
        const float* const last = io.final_observation.data() + w * d;
        e.observations.insert(e.observations.end(), last, last + d);
        it.final_row.push_back(t);
        it.final_env.push_back(static_cast<std::int32_t>(w));
        it.final_observation.insert(it.final_observation.end(), last, last + d);
        if (worlds[w].known && i != gap) worlds[w].whole.push_back(e);
        worlds[w].known = i != gap;
        e = {};
      }
    }
    if (i == gap)
      for (World& w : worlds) w.open = {}, w.known = false;
    it.leaves = {reinterpret_cast<std::byte*>(observation.data()), reinterpret_cast<std::byte*>(action.data()),
                 reinterpret_cast<std::byte*>(reward.data()), reinterpret_cast<std::byte*>(terminated.data()),
                 reinterpret_cast<std::byte*>(truncated.data())};
    it.last_observation = io.observation.data();
    if (i != gap) writer.append(it);
  }
  writer.close();
  std::vector<Episode> all;
  for (World& w : worlds) all.insert(all.end(), w.whole.begin(), w.whole.end());
  return all;
}

TEST(Convert, WholeEpisodesWithTheirBitsInEveryFormat) {
  const TempFolder folder;
  std::vector<DatasetToCheck> datasets;
  for (const std::int64_t gap : {-1, 7}) {
    const std::string name = gap < 0 ? "all" : "gap";
    const fs::path log = folder.path() / (name + ".h5"), expected = folder.path() / (name + ".safetensors");
    const std::vector<Episode> episodes = write_log(log, gap);
    ASSERT_GT(episodes.size(), 20u);
    write_expected(expected, "CartPole-v1", episodes);
    for (const std::string& format : kDatasetFormats) {
      const fs::path dataset = folder.path() / (format + "_" + name);
      const ProgramResult result =
          run_program({"convert", log.string(), "--to", format, "-o", dataset.string()}, ".", kLimit);
      ASSERT_EQ(result.status, 0) << result.err;
      EXPECT_NE(result.err.find(std::to_string(episodes.size()) + " episodes, "), std::string::npos) << result.err;
      EXPECT_NE(result.err.find(gap < 0 ? "0 cut by a gap, 3 unfinished" : "3 cut by a gap"), std::string::npos)
          << result.err;
      datasets.push_back({format, dataset, expected, "CartPole-v1"});
    }
  }
  const int status = check_datasets(datasets, folder / "log");
  const std::string log = read_file(folder / "log", UINT64_MAX);
  if (status == 77 && !must_have_python()) GTEST_SKIP() << test_python() << ": " << log;
  EXPECT_EQ(status, 0) << log;
}

TEST(Convert, ASecondProcessIsToldAndWhatAKilledOneLeftIsCleared) {
  const TempFolder folder;
  write_log(folder / "log.h5", -1);
  const fs::path work = folder / ".x.converting";
  fs::create_directory(work);
  write_file(work / "dataset", "of a killed process\n");
  const std::vector<std::string> words = {"convert", "log.h5", "--to", "d4rl", "-o", "x"};
  {
    const detail::Descriptor lock = lock_work_folder(work);
    check_bad_input({words, "x': another process is writing it"}, folder.path());
  }
  const ProgramResult result = run_program(words, folder.path(), kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_FALSE(fs::exists(work));
}

TEST(Convert, AFullDiskLeavesNoFolders) {
  const TempFolder folder;
  write_log(folder / "log.h5", -1);
  SmallDisk disk(folder / "disk", "size=32k");
  if (!disk.failure().empty()) GTEST_SKIP() << "cannot mount a small tmpfs: " << disk.failure();
  check_bad_input({{"convert", "log.h5", "--to", "minari", "-o", "disk/sets"}, "No space left on device"},
                  folder.path());
}

TEST(Convert, BadInput) {
  const TempFolder folder;
  write_log(folder / "log.h5", -1);
  ASSERT_EQ(run_program({"train", "CartPole-v1", "--device", "cpu", "--quiet", "--run-dir", folder / "run",
                         "--total-timesteps", "1024", "--log-trajectories", folder / "few.h5", "--log-keys",
                         "observation,action,next/reward,next/terminated"},
                        ".", kLimit)
                .status,
            0);
  write_file(folder / "text.h5", "text\n");
  const std::vector<BadInput> cases = {
      {{"convert"}, "name a trajectory log"},
      {{"convert", "log.h5", "-o", "x"}, "--to is missing"},
      {{"convert", "log.h5", "-o", "x", "--to", "csv"}, "--to csv"},
      {{"convert", "log.h5", "--to", "d4rl"}, "-o: name the file"},
      {{"convert", "log.h5", "--to", "d4rl", "-o", "text.h5"}, "exists"},
      {{"convert", "log.h5", "--to", "d4rl", "-o", "nowhere/x"}, "nowhere is not there"},
      {{"convert", "log.h5", "--to", "minari", "-o", "nowhere/x"}, "nowhere is not there"},
      {{"convert", "log.h5", "--to", "minari", "-o", "x", "--dataset-id", "x"}, "--dataset-id x"},
      {{"convert", "none.h5", "--to", "d4rl", "-o", "x"}, "none.h5"},
      {{"convert", "text.h5", "--to", "d4rl", "-o", "x"}, "text.h5"},
      {{"convert", "few.h5", "--to", "d4rl", "-o", "x"},
       "few.h5: holds no 'next/truncated'; convert needs a log with --log-keys observation,action,"},
      {{"convert", ".", "--to", "d4rl", "-o", "x"}, "."},
  };
  for (const BadInput& bad : cases) check_bad_input(bad, folder.path());
}

}  // namespace
}  // namespace hotloop

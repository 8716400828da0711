// `hotloop convert` of a log far larger than the memory that it may take, beside a plain write of as many bytes:
// ./hotloop test --slow -R ConvertLarge -V
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/log/log_writer.h"
#include "data/log/space_json.h"
#include "sim/core/registry.h"
#include "tests/app/program.h"
#include "tests/temp_folder.h"
#include "train/config.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWorlds = 2048, kSteps = 32, kIterationsOfAGigabyte = 33;  // of Ant-v5
constexpr std::int64_t kMostMegabytes = 512;

// HOTLOOP_LARGE_GB: another size of the log, for a look.
std::int64_t gigabytes() {
  const char* const text = std::getenv("HOTLOOP_LARGE_GB");
  return text == nullptr ? 10 : std::max(1L, std::strtol(text, nullptr, 10));
}

LogSpec ant_spec(const EnvSpec& env, std::int64_t iterations) {
  TrainConfig config;
  config.task = env.name;
  LogSpec spec;
  spec.info.task = env.name;
  spec.info.config = to_toml(config);
  spec.info.hotloop_version = "test";
  spec.info.device = "cpu";
  spec.info.source = "train";
  spec.info.observation_space = space_json(env.observation);
  spec.info.action_space = space_json(env.action);
  spec.info.num_envs = kWorlds;
  spec.info.num_steps = kSteps;
  spec.info.max_episode_steps = env.max_episode_steps;
  spec.keys = {describe_log_key("observation", DType::f32, {env.obs_dim()}),
               describe_log_key("action", DType::f32, {env.action.dim()}),
               describe_log_key("next/reward", DType::f32, {1}),
               describe_log_key("next/terminated", DType::boolean, {1}),
               describe_log_key("next/truncated", DType::boolean, {1})};
  for (std::int32_t w = 0; w < kWorlds; ++w) spec.env_index.push_back(w);
  spec.obs_dim = env.obs_dim();
  spec.expected_iterations = iterations;
  return spec;
}

// Episodes of world w are 100 + 37 w mod 900 steps long; returns how many are whole.
std::int64_t write_large_log(const fs::path& path, const EnvSpec& env, std::int64_t iterations) {
  LogWriter writer(path, ant_spec(env, iterations), {});
  const auto rows = static_cast<std::size_t>(kWorlds * kSteps), width = static_cast<std::size_t>(env.obs_dim());
  const std::vector<float> observation(rows * width, 0.5f), action(rows * 8, 0.25f), reward(rows, 1.0f);
  std::vector<std::uint8_t> terminated(rows), truncated(rows);
  std::int64_t episodes = 0;
  for (std::int64_t k = 0; k < iterations; ++k) {
    LogIteration it;
    it.index = k;
    it.global_step = k * kSteps * kWorlds;
    for (std::int64_t t = 0; t < kSteps; ++t)
      for (std::int64_t w = 0; w < kWorlds; ++w) {
        const bool ends = (k * kSteps + t + 1) % (100 + 37 * w % 900) == 0;
        terminated[static_cast<std::size_t>(t * kWorlds + w)] = ends ? 1 : 0;
        if (!ends) continue;
        ++episodes;
        it.final_row.push_back(t);
        it.final_env.push_back(static_cast<std::int32_t>(w));
        it.final_observation.insert(it.final_observation.end(), width, 0.75f);
      }
    for (const void* leaf : {static_cast<const void*>(observation.data()), static_cast<const void*>(action.data()),
                             static_cast<const void*>(reward.data()), static_cast<const void*>(terminated.data()),
                             static_cast<const void*>(truncated.data())})
      it.leaves.push_back(static_cast<const std::byte*>(leaf));
    it.last_observation = observation.data();
    writer.append(it);
  }
  writer.close();
  return episodes;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double bytes_below(const fs::path& path) {
  if (fs::is_regular_file(path)) return static_cast<double>(fs::file_size(path));
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  return bytes;
}

// What the disk takes for as many bytes at that time.
double seconds_to_write(const fs::path& path, double bytes) {
  const std::string block(std::size_t{1} << 20, '\0');
  const auto start = Clock::now();
  {
    AppendFile file(path);
    for (double written = 0; written < bytes; written += static_cast<double>(block.size())) {
      file.append(block);
      file.drain();
    }
    file.flush();
  }
  const double seconds = seconds_since(start);
  fs::remove(path);
  return seconds;
}

TEST(ConvertLarge, SlowTenGigabytesInHalfAGigabyteOfMemory) {
  const TempFolder folder;
  const std::int64_t size = gigabytes();
  if (fs::space(folder.path()).available < 4e9 * static_cast<double>(size))
    GTEST_SKIP() << "needs " << 4 * size << " GB of disk";
  const fs::path log = folder / "log.h5", dataset = folder / "dataset";
  const std::int64_t episodes = write_large_log(log, find_environment("Ant-v5").spec, kIterationsOfAGigabyte * size);
  ASSERT_GT(fs::file_size(log), 0.99e9 * static_cast<double>(size));
  const std::vector<std::string> words = {"convert", log.string(), "--to", "tensordict", "-o", dataset.string()};
  // while the log is checked, and while it is converted
  for (const bool converting : {false, true}) {
    const fs::path work = folder / ".dataset.converting";
    Program program(words);
    ::usleep(300000);
    for (int tries = 0; converting && tries < 6000 && !fs::exists(work); ++tries) ::usleep(100000);
    program.signal(SIGINT);
    const ProgramResult stopped = program.wait(300);
    EXPECT_EQ(stopped.status, 128 + SIGINT);
    EXPECT_EQ(stopped.err, "stopped; nothing is kept\n");
    EXPECT_FALSE(fs::exists(work));
  }
  for (const std::string& format : kDatasetFormats) {
    const fs::path out = folder.path() / format;
    const auto start = Clock::now();
    const ProgramResult result = run_program(
        {"convert", log.string(), "--to", format, "-o", out.string(), "--dataset-id", "large-v0"}, ".", 3000);
    const double seconds = seconds_since(start);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_NE((result.out + result.err).find(std::to_string(episodes) + " episodes"), std::string::npos)
        << result.out << result.err;
    const double bytes = bytes_below(out);
    fs::remove_all(out);
    const double plain = seconds_to_write(folder / "plain", bytes);
    std::printf("%s: %.1f GB in %.1f s, %.0f MB/s; plain bytes %.0f MB/s; peak memory %ld MB\n", format.c_str(),
                1e-9 * bytes, seconds, 1e-6 * bytes / seconds, 1e-6 * bytes / plain, result.peak_kilobytes / 1024);
    EXPECT_LT(result.peak_kilobytes / 1024, kMostMegabytes);
  }
}

}  // namespace
}  // namespace hotloop

// Trajectory logs.
#include <fmt/format.h>

#include "data/dataset/action_check.h"
#include "data/hdf5_read.h"
#include "data/inspect/inspect.h"
#include "data/inspect/leaf.h"
#include "data/log/log_reader.h"
#include "data/log/space_json.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;

DataLeaf leaf_of(const LogReader& log, const LogKey& key) {
  DataLeaf leaf{key.name, key.dtype, log.num_rows(), {log.num_worlds()}};
  leaf.row_shape.insert(leaf.row_shape.end(), key.shape.begin(), key.shape.end());
  leaf.read = [&log, &key](std::int64_t row, std::int64_t rows, std::byte* out) {
    log.read(key.name, row, rows, 0, log.num_worlds(), out);
  };
  return leaf;
}

// Error for the first that is not of the space.
void check_actions(const LogReader& log, const ActionSpace& space) {
  const std::int64_t steps = log.info().num_steps, worlds = log.num_worlds();
  std::vector<std::byte> actions(static_cast<std::size_t>(steps * worlds) * log.key("action").bytes());
  for (std::int64_t row = 0; row < log.num_rows(); row += steps) {
    log.read("action", row, steps, 0, worlds, actions.data());
    if (const auto wrong = find_wrong_action(space, actions.data(), steps * worlds))
      throw Error(fmt::format("action: {} in row {} of column {}: must be {}", wrong->value, row + wrong->row / worlds,
                              wrong->row % worlds, wrong->accepted));
  }
}

struct World {
  bool known = false;  // its episode's first step is in the log
  double sum = 0;
  std::int64_t length = 0;
};

class Steps {
 public:
  Steps(const LogReader& log, Report& report)
      : log_(log), report_(report), worlds_(static_cast<std::size_t>(log.num_worlds())) {}

  // Flags and rewards iteration by iteration, in blocks of rows; the ends must be those in the tables of final/*.
  void read() {
    const auto iterations = static_cast<std::int64_t>(log_.iterations().size());
    for (std::int64_t i = 0; i < iterations; ++i) {
      if (!log_.continues(i)) begin(i);
      ended_ = 0;
      try {
        read_iteration(i * log_.info().num_steps);
        const std::int64_t finals = read_observations(i);
        if (finals != ended_)
          report_.problem(fmt::format("iteration {}: {} ends in the flags, {} last observations",
                                      log_.iterations()[static_cast<std::size_t>(i)].index, ended_, finals));
      } catch (const Error& e) {
        report_.problem(e.what());
        for (World& world : worlds_) world = {};
      }
    }
  }

 private:
  // Those beside the rows; returns how many episodes have a last one.
  std::int64_t read_observations(std::int64_t iteration) {
    const auto take = [&](const char* name, const std::vector<float>& values) {
      KeyReport& key = report_.key(name, dtype_name(DType::f32), {log_.obs_dim()});
      key.rows += static_cast<std::int64_t>(values.size()) / log_.obs_dim();
      key.non_finite += count_non_finite(DType::f32, reinterpret_cast<const std::byte*>(values.data()), values.size());
    };
    last_.resize(static_cast<std::size_t>(log_.num_worlds() * log_.obs_dim()));
    log_.read_last_observation(iteration, 0, log_.num_worlds(), last_.data());
    take("last_observation", last_);
    const LogFinals finals = log_.read_finals(iteration);
    take("final/observation", finals.observation);
    return static_cast<std::int64_t>(finals.row.size());
  }

  // A run begins with a reset of every world, unless these were at random times; after a gap nothing is known.
  void begin(std::int64_t iteration) {
    const bool random = log_.info().config.find("random_episode_start = true") != std::string::npos;
    const bool first = log_.iterations()[static_cast<std::size_t>(iteration)].index == 0 && !random;
    for (World& world : worlds_) world = {first};
  }

  void read_iteration(std::int64_t row) {
    const std::int64_t worlds = log_.num_worlds(), end = row + log_.info().num_steps;
    const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / (worlds * 4));
    for (; row < end; row += block) {
      const std::int64_t rows = std::min(block, end - row);
      const auto values = static_cast<std::size_t>(rows * worlds);
      reward_.resize(values), terminated_.resize(values), truncated_.resize(values);
      log_.read("next/terminated", row, rows, 0, worlds, terminated_.data());
      log_.read("next/truncated", row, rows, 0, worlds, truncated_.data());
      log_.read("next/reward", row, rows, 0, worlds, reward_.data());
      for (std::size_t k = 0; k < values; ++k) step(worlds_[k % worlds_.size()], k);
    }
  }

  void step(World& world, std::size_t k) {
    world.sum += static_cast<double>(reward_[k]);
    ++world.length;
    if (!terminated_[k] && !truncated_[k]) return;
    ++ended_;
    ++report_.episodes;
    if (world.known) report_.add_episode(world.sum, world.length);
    world = {true};
  }

  const LogReader& log_;
  Report& report_;
  std::vector<World> worlds_;
  std::vector<float> reward_, last_;
  std::vector<std::uint8_t> terminated_, truncated_;
  std::int64_t ended_ = 0;
};

// What the attributes say must be what readers take it for, and agree with the datasets.
void check_attributes(const LogReader& log, const CheckConfig& check_config, Report& report) {
  const auto attempt = [&](const auto& check) {
    try {
      check();
    } catch (const Error& e) {
      report.problem(e.what());
    }
  };
  attempt([&] {
    if (check_config) check_config(log.info());
  });
  attempt([&] {
    const char* const name = "attribute 'observation_space'";
    const auto width = static_cast<std::int64_t>(box_of_json(log.info().observation_space, name).low.size());
    if (width != log.obs_dim())
      throw Error(fmt::format("{}: has {} numbers, observations {}", name, width, log.obs_dim()));
  });
  attempt([&] {
    const char* const name = "attribute 'action_space'";
    const ActionSpace space = action_space_of_json(log.info().action_space, name);
    if (!log.contains("action")) return;
    const LogKey& key = log.key("action");
    if (key.numel() != space.dim() || key.dtype != action_dtype(space))
      throw Error(fmt::format("action: {} of {} a step: {} has {} of {}", key.numel(), dtype_name(key.dtype), name,
                              space.dim(), dtype_name(action_dtype(space))));
    check_actions(log, space);
  });
}

bool is_flat(const LogReader& log, const char* name, DType dtype) {
  return log.contains(name) && log.key(name).dtype == dtype && log.key(name).numel() == 1;
}

}  // namespace

void inspect_log(const fs::path& path, const CheckConfig& check_config, Report& report) {
  try {
    const LogReader log(path);
    const LogInfo& info = log.info();
    report.about = {{"task", info.task},
                    {"source", info.source},
                    {"device", info.device},
                    {"version", info.hotloop_version},
                    {"seed", std::to_string(info.seed)},
                    {"worlds", fmt::format("{} of {}", log.num_worlds(), info.num_envs)},
                    {"rows", fmt::format("{} iterations of {}", log.iterations().size(), info.num_steps)}};
    for (const std::string& problem : log.problems()) report.problem(problem);
    check_attributes(log, check_config, report);
    if (log.iterations().empty()) report.problem("holds no whole iteration");
    report.steps = log.num_rows() * log.num_worlds();
    for (const LogKey& key : log.keys()) scan_leaf(leaf_of(log, key), path.filename().string(), report);
    const bool complete = is_flat(log, "next/reward", DType::f32) && is_flat(log, "next/terminated", DType::boolean) &&
                          is_flat(log, "next/truncated", DType::boolean);
    if (complete) Steps(log, report).read();
  } catch (const Error& e) {
    report.problem(e.what());
  }
}

}  // namespace hotloop

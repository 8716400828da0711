// The parts of behaviour cloning: the order of rows, the loss and its gradient, the dataset as a stream of blocks.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "data/dataset/writer.h"
#include "data/file.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/train/device_data.h"
#include "train/policy_net.h"
#include "train/replay_source.h"
#include "train/shuffle.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

TEST(Shuffle, EveryRowOnceAnEpochInAnOrderOfItsOwn) {
  for (const std::int64_t n : {1, 2, 3, 5, 64, 1000, 4097}) {
    std::vector<std::int64_t> first, second;
    for (std::int64_t i = 0; i < n; ++i) first.push_back(drawn_row(7, i, n)), second.push_back(drawn_row(7, n + i, n));
    for (const auto* order : {&first, &second}) {
      const std::set<std::int64_t> rows(order->begin(), order->end());
      ASSERT_EQ(rows.size(), static_cast<std::size_t>(n));
      EXPECT_EQ(*rows.begin(), 0);
      EXPECT_EQ(*rows.rbegin(), n - 1);
    }
    if (n < 64) continue;
    EXPECT_NE(first, second);
    // of a random order, neighbours stay neighbours about twice in n
    std::int64_t neighbours = 0;
    for (std::size_t i = 1; i < first.size(); ++i) neighbours += std::abs(first[i] - first[i - 1]) == 1 ? 1 : 0;
    EXPECT_LT(neighbours, 12);
  }
}

// ---- the loss ------------------------------------------------------------------------------------------------------

struct LossCase {
  PolicySpec policy;
  std::vector<double> head, log_std, sample;
  std::vector<std::int64_t> action;
  std::int64_t rows = 3;

  // The loss, its gradients with respect to `head` and `log_std`.
  double operator()(std::vector<double>* d_head = nullptr, std::vector<double>* d_log_std = nullptr) const {
    ThreadPool pool(1);
    const Exec exec{{}, nullptr, &pool};
    const HeadArrays arrays(policy, {});
    const auto n = static_cast<std::size_t>(rows), dim = static_cast<std::size_t>(policy.action.dim());
    std::vector<double> d(head.size()), d_value(n, 7.0), d_std(dim), d_rows(n * dim), columns(1024);
    std::vector<LossTerms> scratch(static_cast<std::size_t>(loss_scratch(rows)));
    LossTerms out;
    LossIo<double> io;
    io.batch.action = action.data();
    io.batch.sample = sample.data();
    io.end = io.total = rows;
    io.head = head.data();
    io.d_head = d.data();
    io.d_value = d_value.data();
    if (policy.log_std >= 0) {
      io.log_std = log_std.data();
      io.d_log_std = d_std.data();
      io.d_log_std_rows = d_rows.data();
      io.column_scratch = columns.data();
    }
    io.scratch = scratch.data();
    io.out = &out;
    bc_loss(exec, arrays.view(), io);
    for (const double x : d_value) EXPECT_EQ(x, 0.0);
    if (d_head != nullptr) *d_head = d;
    if (d_log_std != nullptr) *d_log_std = d_std;
    return out.policy_loss / static_cast<double>(rows);
  }
};

TEST(BcLoss, ChoicesGradientIsTheLikelihoods) {
  TrainConfig config;
  config.task = "CartPole-v1";
  LossCase c;
  c.policy = make_policy_spec(config, find_environment(config.task).spec);
  c.head = {0.3, -0.7, 1.5, 0.2, -2.0, 0.1};
  c.action = {0, 1, 1};
  std::vector<double> gradient;
  const double loss = c(&gradient);
  EXPECT_NEAR(loss, (std::log1p(std::exp(-1.0)) + std::log1p(std::exp(1.3)) + std::log1p(std::exp(-2.1))) / 3, 1e-12);
  for (std::size_t i = 0; i < c.head.size(); ++i) {
    LossCase up = c, down = c;
    up.head[i] += 1e-5, down.head[i] -= 1e-5;
    EXPECT_NEAR(gradient[i], (up() - down()) / 2e-5, 1e-9);
  }
}

LossCase pendulum(const char* std_type) {
  TrainConfig config;
  config.task = "Pendulum-v1";
  config.std_type = std_type;
  LossCase c;
  c.policy = make_policy_spec(config, find_environment(config.task).spec);
  c.sample = {0.5, -1.2, 2.0};
  return c;
}

// Means: half the squared error. The deviation: the likelihood. The third action lies at its bound, 2.
TEST(BcLoss, GaussianMeansBySquaredErrorAndDeviationByLikelihood) {
  LossCase c = pendulum("global");
  c.head = {0.8, -1.0, 2.5};
  c.log_std = {-0.4};
  std::vector<double> d_head, d_log_std;
  c(&d_head, &d_log_std);
  EXPECT_NEAR(d_head[0], 0.3 / 3, 1e-12);
  EXPECT_NEAR(d_head[1], 0.2 / 3, 1e-12);
  EXPECT_EQ(d_head[2], 0.0) << "a mean beyond the bound is clipped to the action";
  LossCase up = c, down = c;
  up.log_std[0] += 1e-5, down.log_std[0] -= 1e-5;
  EXPECT_NEAR(d_log_std[0], (up() - down()) / 2e-5, 1e-8);
  c.head[2] = 1.9;
  c(&d_head, &d_log_std);
  EXPECT_NEAR(d_head[2], -0.1 / 3, 1e-12);
  c.log_std = {-6.0};
  c.head = c.sample;
  c(&d_head, &d_log_std);
  EXPECT_EQ(d_log_std[0], 0.0) << "an exact policy's deviation stops at its least";
}

TEST(BcLoss, DeviationsThatTheActorGives) {
  LossCase c = pendulum("state");
  c.head = {0.8, -0.4, -1.0, 0.3, 2.5, -0.1};
  std::vector<double> gradient;
  c(&gradient);
  EXPECT_NEAR(gradient[0], 0.3 / 3, 1e-12);
  for (const std::size_t i : {1u, 3u, 5u}) {
    LossCase up = c, down = c;
    up.head[i] += 1e-5, down.head[i] -= 1e-5;
    EXPECT_NEAR(gradient[i], (up() - down()) / 2e-5, 1e-8);
  }
}

// ---- the dataset ---------------------------------------------------------------------------------------------------

// Ten episodes of 30 steps whose observations and actions say which step they are.
void write_steps(const fs::path& path, const EnvSpec& env) {
  DatasetInfo info;
  info.env = env;
  const auto writer = make_dataset_writer(DatasetFormat::tensordict, path, info);
  const auto width = static_cast<std::size_t>(env.obs_dim());
  for (std::int64_t id = 0; id < 10; ++id) {
    Episode e;
    e.id = id;
    e.length = 30;
    for (std::size_t i = 0; i < 31 * width; ++i)
      e.observations.push_back(static_cast<float>(id * 100) + 0.25f * static_cast<float>(i));
    std::vector<float> actions(30);
    for (std::size_t t = 0; t < 30; ++t)
      actions[t] = 0.001f * static_cast<float>(100 * id + static_cast<std::int64_t>(t));
    const auto* bytes = reinterpret_cast<const std::byte*>(actions.data());
    e.actions.assign(bytes, bytes + actions.size() * sizeof(float));
    e.rewards.assign(30, 0.0f);
    e.terminated.assign(30, 0), e.truncated.assign(30, 0);
    e.truncated.back() = 1;
    writer->append(e);
  }
  writer->finish();
}

std::vector<float> drawn(const fs::path& path, Device device, std::size_t resident_bytes, std::int64_t blocks) {
  const EnvSpec& env = find_environment("Pendulum-v1").spec;
  TrainConfig config;
  config.task = env.name;
  const PolicySpec policy = make_policy_spec(config, env);
  ThreadPool pool(1);
  const StreamHandle stream(device);
  const Exec exec{device, stream.get(), &pool};
  const HeadArrays head(policy, device);
  ReplaySource source(StepData(path, env), env, device, 128, 3, resident_bytes);
  EXPECT_EQ(source.resident(), resident_bytes > 10000);
  Buffer<Control> control(device, 1);
  std::vector<float> all;
  for (std::int64_t k = 0; k < blocks; ++k) {
    Control c;
    c.iteration = k;
    copy_async(exec, control.data(), device, &c, {}, sizeof c);
    source.prepare(exec, k);
    source.draw(exec, head.view(), control.data());
    synchronize(exec);
    for (const char* name : {"observation", "action"}) {
      const Leaf& leaf = source.block().leaf(name);
      const std::vector<float> part =
          download(device, source.block().data<float>(name), static_cast<std::size_t>(leaf.numel));
      all.insert(all.end(), part.begin(), part.end());
    }
  }
  return all;
}

TEST(ReplaySource, BlocksHoldTheDatasetsStepsAndDoNotDependOnWhereItLies) {
  const TempFolder folder;
  write_steps(folder / "steps", find_environment("Pendulum-v1").spec);
  const std::vector<float> resident = drawn(folder / "steps", {}, 1 << 20, 20);
  EXPECT_EQ(drawn(folder / "steps", {}, 0, 20), resident);
  std::map<std::pair<int, int>, int> seen;
  for (std::size_t block = 0; block < 20; ++block)
    for (std::size_t j = 0; j < 128; ++j) {
      const float* observation = &resident[block * 512 + j * 3];
      const float action = resident[block * 512 + 384 + j];
      const auto code = static_cast<int>(std::lround(action * 1000));
      const int id = code / 100, t = code % 100;
      EXPECT_EQ(observation[0], static_cast<float>(id * 100) + 0.25f * static_cast<float>(3 * t));
      seen[{id, t}] += 1;
    }
  ASSERT_EQ(seen.size(), 300u);
  for (const auto& [step, times] : seen) EXPECT_TRUE(times == 8 || times == 9);  // 2560 draws of 300
}

TEST(ReplaySource, GpuDrawsTheSame) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const TempFolder folder;
  write_steps(folder / "steps", find_environment("Pendulum-v1").spec);
  const std::vector<float> cpu = drawn(folder / "steps", {}, 1 << 20, 20);
  const Device card{Device::Kind::cuda, 0};
  EXPECT_EQ(drawn(folder / "steps", card, 1 << 20, 20), cpu);
  EXPECT_EQ(drawn(folder / "steps", card, 0, 20), cpu);
}

TEST(StepData, RefusesWhatIsNoDatasetOfTheTask) {
  const TempFolder folder;
  const EnvSpec& env = find_environment("Pendulum-v1").spec;
  const auto text = [&](const fs::path& path) { return error_text([&] { StepData(path, env); }); };
  EXPECT_NE(text(folder / "none").find("is not a folder"), std::string::npos);
  const auto broken = [&](const char* name, auto change) {
    const fs::path path = folder / name;
    write_steps(path, env);
    change(path);
    return text(path);
  };
  const auto meta_with = [](const std::string& from, const std::string& to) {
    return [=](const fs::path& path) {
      std::string meta = read_file(path / "meta.json", 1 << 20);
      ASSERT_NE(meta.find(from), std::string::npos);
      write_file(path / "meta.json", meta.replace(meta.find(from), from.size(), to));
    };
  };
  EXPECT_NE(broken("a", [](const fs::path& p) { write_file(p / "meta.json", "{"); }).find("no JSON"),
            std::string::npos);
  EXPECT_NE(broken("b", meta_with("[300,3]", "[300,4]")).find("must be [steps, 3]"), std::string::npos);
  EXPECT_NE(broken("c", meta_with("[300,3]", "[-300,3]")).find("is not a list of sizes"), std::string::npos);
  EXPECT_NE(broken("d", meta_with("[300,3]", "[1099511627776,3]")).find("observations and"), std::string::npos);
  EXPECT_NE(broken("e", meta_with("torch.float32", "torch.float64")).find("must be torch.float32"), std::string::npos);
  EXPECT_NE(broken("f", [](const fs::path& p) { fs::resize_file(p / "observation.memmap", 17); }).find("has 17 bytes"),
            std::string::npos);
  EXPECT_NE(broken("g", [](const fs::path& p) { fs::remove(p / "action.memmap"); }).find("action.memmap"),
            std::string::npos);
  const auto nan = [](const fs::path& p) { write_file(p / "action.memmap", std::string(1200, '\xff')); };
  EXPECT_NE(broken("h", nan).find("at step 0: must be finite"), std::string::npos);
}

}  // namespace
}  // namespace hotloop

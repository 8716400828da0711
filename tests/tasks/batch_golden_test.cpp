// Batches of the tasks on models against single steps of Gymnasium's environments: what a training gets, in single
// precision, on every device that is there.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/core/registry.h"
#include "tests/tasks/golden.h"

namespace hotloop {
namespace {

const std::vector<std::string>& task_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const EnvEntry& entry : environments())
      if (!entry.model.empty()) all.push_back(entry.spec.name);
    return all;
  }();
  return names;
}

std::vector<float> to_float(const std::vector<double>& values) { return {values.begin(), values.end()}; }

// A batch with one world a row of a golden file, in the states of the rows.
class GoldenBatch {
 public:
  GoldenBatch(const std::string& task, const Safetensors& file, const std::string& prefix, const EnvOptions& options,
              Device device, int max_episode_steps = 0)
      : file_(file), prefix_(prefix), device_(device), stream_(device), exec_{device, stream_.get()} {
    BatchConfig config;
    rows_ = static_cast<std::size_t>(file.get(prefix + "reward").shape[0]);
    config.num_envs = static_cast<std::int64_t>(rows_);
    config.device = device;
    config.options = options;
    config.max_episode_steps = max_episode_steps;
    batch_ = find_environment(task).make(config);
    dim_ = static_cast<std::size_t>(batch_->spec().obs_dim());
    observation_ = Buffer<float>(device, rows_ * dim_);
    final_ = Buffer<float>(device, rows_ * dim_);
    reward_ = Buffer<float>(device, rows_);
    terms_ = Buffer<float>(device, rows_ * batch_->spec().reward_terms.size());
    terminated_ = Buffer<std::uint8_t>(device, rows_);
    truncated_ = Buffer<std::uint8_t>(device, rows_);
    action_ = Buffer<float>(device, rows_ * static_cast<std::size_t>(batch_->spec().action.dim()));
    batch_->reset(exec_, observation_.data(), nullptr);
    put_states();
    const std::vector<float> action = to_float(col("action").values);
    copy_async(exec_, action_.data(), device_, action.data(), {}, action_.bytes());
    synchronize(exec_);
  }

  void step() {
    StepIo io;
    io.action = action_.data();
    io.observation = observation_.data();
    io.final_observation = final_.data();
    io.reward = reward_.data();
    io.terminated = terminated_.data();
    io.truncated = truncated_.data();
    io.reward_terms = terms_.data();
    batch_->step(exec_, io);
  }
  Column col(const std::string& name) const { return column(file_, prefix_ + name); }
  std::size_t rows() const { return rows_; }
  std::size_t dim() const { return dim_; }
  template <class T>
  std::vector<T> host(const Buffer<T>& buffer) const {
    std::vector<T> out(buffer.size());
    copy_async(exec_, out.data(), {}, buffer.data(), device_, buffer.bytes());
    synchronize(exec_);
    return out;
  }
  // [rows][words] of the worlds, and how many words there are: qpos, qvel, qacc_warmstart, what the task carries
  std::vector<float> states() const {
    std::vector<float> all(rows_ * words());
    copy_async(exec_, all.data(), {}, batch_->raw_state(), device_, all.size() * sizeof(float));
    synchronize(exec_);
    return all;
  }
  std::size_t words() const { return col("qpos").width + 2 * col("qvel").width + (carries() ? 1 : 0); }
  std::vector<float> observations() const { return host(observation_); }
  std::vector<float> finals() const { return host(final_); }
  std::vector<float> rewards() const { return host(reward_); }
  std::vector<float> terms() const { return host(terms_); }  // [rows][terms] of the step
  std::vector<std::uint8_t> terminated() const { return host(terminated_); }
  // [rows][terms] of the worlds' first episodes
  std::vector<float> first_terms() const {
    std::vector<float> all(rows_ * batch_->spec().reward_terms.size());
    copy_async(exec_, all.data(), {}, batch_->first_terms(), device_, all.size() * sizeof(float));
    synchronize(exec_);
    return all;
  }

 private:
  bool stale() const { return file_.contains(prefix_ + "stale_xy"); }
  bool carries() const { return stale() || file_.contains(prefix_ + "info/x_velocity"); }
  void put_states() {
    const Column qpos = col("qpos"), qvel = col("qvel"), warm = col("qacc_warmstart");
    std::vector<float> all;
    for (std::size_t r = 0; r < rows_; ++r) {
      for (const Column* c : {&qpos, &qvel, &warm}) all.insert(all.end(), c->row(r), c->row(r) + c->width);
      if (carries()) all.push_back(static_cast<float>(stale() ? col("stale_xy").row(r)[0] : qpos.row(r)[0]));
    }
    copy_async(exec_, batch_->raw_state(), device_, all.data(), {}, all.size() * sizeof(float));
  }

  const Safetensors& file_;
  std::string prefix_;
  Device device_;
  StreamHandle stream_;
  Exec exec_;
  std::unique_ptr<Batch> batch_;
  std::size_t rows_ = 0, dim_ = 0;
  Buffer<float> observation_, final_, reward_, terms_, action_;
  Buffer<std::uint8_t> terminated_, truncated_;
};

// Single precision cannot be nearer than what rounding of the inputs alone changes (the golden's sensitivity). PGS
// stops before it converges, on sums that rounding reaches: of the Humanoids' rows one in 24 may be further off.
void check(const std::string& task, const std::string& prefix, const EnvOptions& options, Device device) {
  const Safetensors file = golden(task);
  GoldenBatch batch(task, file, prefix, options, device);
  const Column observation = batch.col("observation"), reward = batch.col("reward"), ended = batch.col("terminated"),
               next_qpos = batch.col("next_qpos"), next_qvel = batch.col("next_qvel");
  ASSERT_EQ(batch.dim(), observation.width);
  batch.step();
  const auto observations = batch.observations(), finals = batch.finals(), rewards = batch.rewards(),
             states = batch.states();
  const auto terminated = batch.terminated();
  std::string outliers;
  std::set<std::size_t> outlying;
  const double relative = device.is_cuda() ? 3e-4 : 1e-4;  // the card divides and takes roots to 2 ulp
  // Ant observes contact forces cut to +-1: they carry the rounding of forces a hundred times larger
  const double observed = task == "Ant-v5" ? 3 * relative : relative;
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    SCOPED_TRACE(task + " " + prefix + "row " + std::to_string(r) + " on " + device.str());
    const auto near = [&](const char* what, const float* ours, const double* theirs, std::size_t n, double share) {
      const double floor = prefix.empty() ? column(file, std::string("sensitivity/") + what).values[r] : 0;
      const double off = distance(ours, theirs, n), allowed = share * scale(theirs, n) + 4 * floor;
      if (off <= allowed) return;
      outlying.insert(r);
      outliers += "row " + std::to_string(r) + ": " + what + " is off by " + std::to_string(off) + ", allowed " +
                  std::to_string(allowed) + "\n";
    };
    const auto* seen = (terminated[r] != 0 ? finals : observations).data() + r * batch.dim();
    near("observation", seen, observation.row(r), observation.width, observed);
    near("reward", &rewards[r], reward.row(r), 1, relative);
    EXPECT_EQ(terminated[r], ended.row(r)[0]);
    if (terminated[r] != 0) continue;  // the state is the next episode's
    near("qpos", &states[r * batch.words()], next_qpos.row(r), next_qpos.width, relative);
    near("qvel", &states[r * batch.words() + next_qpos.width], next_qvel.row(r), next_qvel.width, relative);
  }
  const bool pgs = task.starts_with("Humanoid");
  EXPECT_LE(outlying.size(), pgs ? (batch.rows() + 23) / 24 : 0)
      << task << " " << prefix << " on " << device.str() << "\n"
      << outliers;
}

void check_all(Device device) {
  for (const std::string& task : task_names()) {
    check(task, "", {}, device);
    const Safetensors file = golden(task);
    for (std::size_t k = 0; k < num_variants(file); ++k)
      check(task, "variant" + std::to_string(k) + "/", variant_options(file, k), device);
  }
}

TEST(TaskBatch, StepsAreGymnasiums) { check_all({}); }

TEST(TaskBatch, GpuStepsAreGymnasiums) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_all({Device::Kind::cuda, 0});
}

// A step's terms are Gymnasium's info of it, also of a step that ends its episode; after episodes of one step so are a
// world's sums.
void check_terms(const std::string& task, const std::string& prefix, int max_episode_steps, Device device) {
  const Safetensors file = golden(task);
  const std::vector<std::string>& names = find_environment(task).spec.reward_terms;
  ASSERT_FALSE(names.empty()) << task;
  const EnvOptions options = prefix.empty() ? EnvOptions{} : variant_options(file, 0);
  GoldenBatch batch(task, file, prefix, options, device, max_episode_steps);
  batch.step();
  const auto terms = batch.terms(), rewards = batch.rewards();
  if (max_episode_steps == 1) {
    EXPECT_EQ(terms, batch.first_terms()) << task << " " << prefix;
  }
  for (std::size_t r = 0; r < batch.rows(); ++r) {
    SCOPED_TRACE(task + " " + prefix + "row " + std::to_string(r) + " on " + device.str());
    const double scale = std::max(1.0, std::abs(batch.col("reward").values[r]));
    const double floor = prefix.empty() ? column(file, "sensitivity/reward").values[r] : 0;
    double sum = unnamed_reward(task);
    for (std::size_t k = 0; k < names.size(); ++k) {
      const float term = terms[r * names.size() + k];
      sum += term;
      EXPECT_NEAR(term, batch.col("info/" + names[k]).values[r], 3e-4 * scale + 4 * floor) << names[k];
    }
    EXPECT_NEAR(sum, rewards[r], 1e-6 * scale);
  }
}

void check_terms(Device device) {
  for (const std::string& task : task_names())
    for (const std::string prefix : {"", "variant0/"})
      for (const int max_episode_steps : {1, 1000}) check_terms(task, prefix, max_episode_steps, device);
}

TEST(TaskBatch, TermsAreGymnasiums) { check_terms({}); }

TEST(TaskBatch, GpuTermsAreGymnasiums) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_terms({Device::Kind::cuda, 0});
}

// The goldens themselves: half of their states are where trained policies come to, over all numbers of contacts.
TEST(TaskBatch, GoldensAreSpreadStatesOfTrainedPolicies) {
  for (const std::string& task : task_names()) {
    SCOPED_TRACE(task);
    const Safetensors file = golden(task);
    const Column trained = column(file, "trained");
    const auto contacts = file.values<std::int64_t>("ncon");
    std::map<std::int64_t, int> of_trained;
    for (std::size_t r = 0; r < contacts.size(); ++r) of_trained[contacts[r]] += trained.values[r] != 0 ? 1 : 0;
    int sum = 0, most = 0, kinds = 0;
    for (const auto& [count, rows] : of_trained) {
      sum += rows;
      most = std::max(most, rows);
      kinds += rows > 0 ? 1 : 0;
    }
    EXPECT_GE(2 * sum, static_cast<int>(contacts.size()));
    if (of_trained.size() < 3) continue;  // a task that hardly touches anything
    EXPECT_GE(kinds, 3);
    EXPECT_LE(most, 2 * sum / 3);
  }
}

TEST(TaskBatch, SpacesAndLimitsAreGymnasiums) {
  EXPECT_EQ(task_names().size(), 11u);
  for (const std::string& task : task_names()) {
    SCOPED_TRACE(task);
    const Safetensors file = golden(task);
    const EnvEntry& entry = find_environment(task);
    EXPECT_EQ(entry.spec.action.low, file.values<float>("action_low"));
    EXPECT_EQ(entry.spec.action.high, file.values<float>("action_high"));
    EXPECT_EQ(entry.spec.obs_dim(), file.get("observation").shape[1]);
    EXPECT_EQ(std::to_string(entry.spec.max_episode_steps), file.metadata_value("max_episode_steps"));
    EXPECT_EQ(entry.options.at(0).key, "frame_skip");
    EXPECT_EQ(entry.options.at(0).preset, file.metadata_value("frame_skip"));
  }
}

}  // namespace
}  // namespace hotloop

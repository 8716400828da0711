// Networks of 16-bit numbers on a GPU, a kernel a layer, against those of the generic road in double.
#include "train/fused/layered_network.h"
#include "sim/core/error.h"
#include "tests/generic/network_cases.h"
#include "tests/generic/trainer_run.h"

namespace hotloop {
namespace {

constexpr Device kCard{Device::Kind::cuda, 0};

template <class T>
Buffer<T> on_card(const Exec& exec, const T* from, std::size_t n) {
  Buffer<T> to(kCard, n);
  copy_async(exec, to.data(), kCard, from, {}, to.bytes());
  return to;
}
void to_host(const Exec& exec, float* to, const float* from, std::size_t n) {
  copy_async(exec, to, {}, from, kCard, n * sizeof(float));
  synchronize(exec);
}

// A network on the card for callers whose numbers are on the host.
class FromHost final : public Network<float> {
 public:
  FromHost(const Case& c, Number16 number, const std::vector<float>& parameters)
      : c_(c), stream_(kCard), exec_{kCard, stream_.get(), nullptr} {
    parameters_ = on_card(exec_, parameters.data(), parameters.size());
    NetworkConfig config = network_config(c);
    config.device = kCard;
    config.num_shards = 1;
    network_ = make_layered_network(config, number, parameters_.data());
    network_->parameters_changed(exec_);
  }
  void act(const Exec&, std::int64_t rows, const float* observation, float* head, float* value) override {
    const std::size_t n = static_cast<std::size_t>(rows), dim = static_cast<std::size_t>(c_.policy.head_dim());
    const Buffer<float> x = on_card(exec_, observation, n * static_cast<std::size_t>(c_.policy.obs_dim));
    Buffer<float> out(kCard, n * dim), values(kCard, n), again(kCard, n);
    network_->act(exec_, rows, x.data(), out.data(), values.data());
    network_->evaluate(exec_, rows, x.data(), again.data());
    to_host(exec_, head, out.data(), n * dim);
    to_host(exec_, value, again.data(), n);
    std::vector<float> first(n);
    to_host(exec_, first.data(), values.data(), n);
    EXPECT_EQ(first, std::vector<float>(value, value + n));
  }
  void evaluate(const Exec&, std::int64_t, const float*, float*) override {}
  void forward_backward(const Exec&, const float* observation, float* gradients, const Loss& loss) override {
    const auto rows = static_cast<std::size_t>(c_.rows), dim = static_cast<std::size_t>(c_.policy.head_dim());
    const auto size = static_cast<std::size_t>(c_.policy.num_parameters);
    const Buffer<float> x = on_card(exec_, observation, rows * static_cast<std::size_t>(c_.policy.obs_dim));
    Buffer<float> sums = on_card(exec_, gradients, size);
    network_->forward_backward(exec_, x.data(), sums.data(), [&](const Exec& exec, const Part<float>& part) {
      std::vector<float> head(rows * dim), value(rows), d_head(rows * dim), d_value(rows), d_log_std(32);
      to_host(exec, head.data(), part.head, head.size());
      to_host(exec, value.data(), part.value, rows);
      const Part<float> host{part.index,   part.begin,    part.end,       head.data(),
                             value.data(), d_head.data(), d_value.data(), part.d_log_std ? d_log_std.data() : nullptr};
      loss(exec, host);
      const auto bring = [&](float* to, const std::vector<float>& from, std::size_t n) {
        copy_async(exec, to, kCard, from.data(), {}, n * sizeof(float));
      };
      bring(part.d_head, d_head, rows * dim);
      bring(part.d_value, d_value, rows);
      if (part.d_log_std) bring(part.d_log_std, d_log_std, static_cast<std::size_t>(c_.policy.action.dim()));
      synchronize(exec);
    });
    to_host(exec_, gradients, sums.data(), size);
  }
  std::int64_t parts() const override { return 1; }
  std::int64_t part_rows() const override { return c_.rows; }
  void parameters_changed(const Exec&) override {}

 private:
  const Case& c_;
  StreamHandle stream_;
  Exec exec_;
  Buffer<float> parameters_;
  std::unique_ptr<Network<float>> network_;
};

class GpuLayered : public ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

Passes<float> layered(const Case& c, Number16 number) {
  ThreadPool pool(1);
  Case one = c;
  one.shards = 1;
  FromHost network(one, number, parameters_of<float>(c));
  return Passes<float>(network, one, pool);
}

Case draw(std::uint32_t seed) {
  Case c = draw_case(seed, seed % 3 == 0 ? 300 : 90);
  if (seed % 5 == 0) c.rows += 3000 * c.shards, c.text += ", 3000 more a shard";
  return c;
}

constexpr std::uint32_t kCases = 40;
bool is_relu(std::uint32_t seed) { return seed % 4 == 1; }  // of draw_case

TEST_F(GpuLayered, EqualsTheGenericRoad) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    if (is_relu(seed)) continue;  // rounding turns units on and off
    const Case c = draw(seed);
    SCOPED_TRACE(c.text);
    const Passes<double> expected = exact(c);
    expect_close(c, layered(c, Number16::fp16), expected, 3e-3, 3e-3, 6e-3);
    expect_close(c, layered(c, Number16::bf16), expected, 3e-2, 3e-2, 5e-2);
  }
}

TEST_F(GpuLayered, IsExactWhereNothingIsRounded) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    if (!is_relu(seed)) continue;
    Case c = draw(seed);
    c.integers = true;
    SCOPED_TRACE(c.text);
    const Passes<double> expected = exact(c);
    for (const Number16 number : {Number16::fp16, Number16::bf16})
      expect_close(c, layered(c, number), expected, 1e-7, 1e-7, 1e-6);
  }
}

TrainConfig wide(const char* task, const char* precision) {
  TrainConfig c = small_config(task);
  c.hidden_sizes = {256, 256};
  c.num_envs = 64;
  c.precision = precision;
  return c;
}

Trace run(const TrainConfig& c, int iterations) {
  const std::unique_ptr<Trainer> trainer = make_trainer(c, find_environment(c.task), kCard);
  EXPECT_EQ(trainer->road(), Road::fused);
  Trace trace;
  run_iterations(*trainer, iterations, trace.metrics);
  trace.state = state_of(*trainer);
  return trace;
}

TEST_F(GpuLayered, SameSeedSameBits) {
  for (const char* task : {"CartPole-v1", "Ant-v5"})
    for (const char* precision : {"fp16", "bf16"}) {
      TrainConfig c = wide(task, precision);
      SCOPED_TRACE(to_toml(c));
      const Trace captured = run(c, 8);
      expect_same_bits(captured, run(c, 8));
      c.capture = "off";
      expect_same_bits(captured, run(c, 8));
    }
}

TEST_F(GpuLayered, LearnsCartPole) {
  for (const char* precision : {"fp16", "bf16"}) {
    TrainConfig c = wide("CartPole-v1", precision);
    c.num_envs = 256, c.update_epochs = 4, c.learning_rate = 1e-3;
    c.total_timesteps = c.num_envs * c.num_steps * 60;
    c.random_episode_start = false;
    const Trace t = run(c, 60);
    const double mean = mean_return(t, 50);
    std::printf("%s: %.1f\n", precision, mean);
    EXPECT_GT(mean, 200.0) << precision;
  }
}

}  // namespace
}  // namespace hotloop

// Networks of 16-bit numbers on a GPU, a kernel a layer or one for all, against those of the generic road in double.
#include "train/fused/layered_network.h"

#include <map>

#include "sim/core/error.h"
#include "tests/generic/network_cases.h"
#include "tests/generic/trainer_run.h"
#include "train/fused/chain_network.h"
#include "train/net_ops.h"
#include "train/policy_net.h"
#include "train/update_ops.h"

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

enum class Form { layers, chain };

// A network on the card for callers whose numbers are on the host.
class FromHost final : public Network<float> {
 public:
  FromHost(const Case& c, Form form, Number16 number, const std::vector<float>& parameters)
      : c_(c), stream_(kCard), exec_{kCard, stream_.get(), nullptr} {
    parameters_ = on_card(exec_, parameters.data(), parameters.size());
    NetworkConfig config = network_config(c);
    config.device = kCard;
    config.num_shards = 1;
    network_ = form == Form::layers ? make_layered_network(config, number, parameters_.data())
                                    : make_chain_network(config, number, parameters_.data());
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

Passes<float> passes(const Case& c, Form form, Number16 number) {
  ThreadPool pool(1);
  Case one = c;
  one.shards = 1;
  FromHost network(one, form, number, parameters_of<float>(c));
  return Passes<float>(network, one, pool);
}

constexpr std::uint32_t kDrawn = 40, kCases = 56;

// The last ones are as wide, deep and of as many inputs as a chain takes: their weights come through a ring.
Case draw(std::uint32_t seed) {
  Case c = seed < kDrawn ? draw_case(seed, seed % 3 == 0 ? 300 : 90) : draw_case(seed, 256, 3 + seed % 2, 384);
  if (seed % 5 == 0) c.rows += 3000 * c.shards, c.text += ", 3000 more a shard";
  return c;
}

bool is_relu(std::uint32_t seed) { return seed % 4 == 1; }  // of draw_case

// f(case, what an exact network makes of it) for each that the form takes; at least `least` of them.
template <class F>
void each_case(Form form, bool relu, int least, F f) {
  int taken = 0;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    if (is_relu(seed) != relu) continue;
    Case c = draw(seed);
    if (form == Form::chain && !chain_takes(c.policy, kCard)) continue;
    c.integers = relu;
    SCOPED_TRACE(c.text);
    f(c, exact(c));
    ++taken;
  }
  EXPECT_GE(taken, least);
}

void equals_the_generic_road(Form form, int least) {
  // rounding turns units of relu on and off
  each_case(form, false, least, [&](const Case& c, const Passes<double>& expected) {
    expect_close(c, passes(c, form, Number16::fp16), expected, 3e-3, 3e-3, 6e-3);
    expect_close(c, passes(c, form, Number16::bf16), expected, 3e-2, 3e-2, 5e-2);
  });
}

void is_exact_where_nothing_is_rounded(Form form, int least) {
  each_case(form, true, least, [&](const Case& c, const Passes<double>& expected) {
    for (const Number16 number : {Number16::fp16, Number16::bf16})
      expect_close(c, passes(c, form, number), expected, 1e-7, 1e-7, 1e-6);
  });
}

TEST_F(GpuLayered, EqualsTheGenericRoad) { equals_the_generic_road(Form::layers, 20); }
TEST_F(GpuLayered, IsExactWhereNothingIsRounded) { is_exact_where_nothing_is_rounded(Form::layers, 8); }

// The form of cards of compute capability 9.0.
class GpuChain : public ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    if (cuda_device_info(0).major != 9) GTEST_SKIP() << "no device of compute capability 9.0";
  }
};

TEST_F(GpuChain, EqualsTheGenericRoad) { equals_the_generic_road(Form::chain, 8); }
TEST_F(GpuChain, IsExactWhereNothingIsRounded) { is_exact_where_nothing_is_rounded(Form::chain, 6); }

// A minibatch on the card, drawn so that some ratios and values are clipped.
struct DrawnMinibatch {
  Buffer<float> observation, sample, log_prob, value, advantage, target;
  Buffer<std::int64_t> action;
  Buffer<AdvantageTerms> terms;

  DrawnMinibatch(const Exec& exec, const Case& c) {
    const auto rows = static_cast<std::size_t>(c.rows), dim = static_cast<std::size_t>(c.policy.action.dim());
    std::uint32_t seed = 10;
    const auto draw = [&](std::size_t n, double size) {
      const std::vector<float> x = numbers<float>(n, ++seed, size);
      return on_card(exec, x.data(), n);
    };
    observation = draw(rows * static_cast<std::size_t>(c.policy.obs_dim), 1.0);
    log_prob = draw(rows, 1.0), value = draw(rows, 1.0), target = draw(rows, 1.0), sample = draw(rows * dim, 0.5);
    const std::vector<float> a = numbers<float>(rows, 3, 1.0);
    AdvantageTerms sums;
    for (const float x : a) sums = sums + AdvantageTerms{x, x * static_cast<double>(x)};
    advantage = on_card(exec, a.data(), rows), terms = on_card(exec, &sums, 1);
    std::vector<std::int64_t> choices(rows * dim);
    for (std::size_t i = 0; i < choices.size(); ++i)
      choices[i] = c.policy.action.is_box() ? 0 : static_cast<std::int64_t>(i * 7) % c.policy.action.nvec[i % dim];
    action = on_card(exec, choices.data(), choices.size());
    synchronize(exec);
  }
  Samples<float> view(const PolicySpec& policy) const {
    const bool box = policy.action.is_box();
    return {observation.data(),
            box ? nullptr : action.data(),
            box ? sample.data() : nullptr,
            nullptr,
            log_prob.data(),
            value.data(),
            advantage.data(),
            target.data()};
  }
};

struct LossAndGradient {
  LossTerms terms;
  std::vector<float> gradient;
};

LossAndGradient with_ppo_loss(const Case& c, bool within) {
  const StreamHandle stream(kCard);
  const Exec exec{kCard, stream.get(), nullptr};
  const std::vector<float> start = parameters_of<float>(c);
  const Buffer<float> parameters = on_card(exec, start.data(), start.size());
  NetworkConfig config = network_config(c);
  config.device = kCard, config.num_shards = 1;
  const std::unique_ptr<Network<float>> network = make_chain_network(config, Number16::bf16, parameters.data());
  network->parameters_changed(exec);
  const DrawnMinibatch drawn(exec, c);
  const HeadArrays head(c.policy, kCard);
  const auto dim = static_cast<std::size_t>(c.policy.action.dim()), rows = static_cast<std::size_t>(c.rows);
  Buffer<float> gradients = on_card(exec, start.data(), start.size());
  Buffer<float> log_std_rows(kCard, rows * dim);
  Buffer<float> columns(kCard, static_cast<std::size_t>(bias_scratch(c.rows, c.policy.action.dim())));
  Buffer<LossTerms> scratch(kCard, static_cast<std::size_t>(loss_scratch(c.rows))), out(kCard, 1);
  PpoPass pass;
  pass.head = head.view(), pass.samples = drawn.view(c.policy), pass.advantage_terms = drawn.terms.data();
  pass.log_std = c.policy.log_std >= 0 ? parameters.data() + c.policy.log_std : nullptr;
  pass.gradients = gradients.data();
  if (within) {
    EXPECT_TRUE(network->has_ppo_pass());
    network->ppo_pass(exec, pass);
    network->ppo_loss(exec, out.data());
  } else {
    network->forward_backward(
        exec, pass.samples.observation, gradients.data(), [&](const Exec& e, const Part<float>& p) {
          LossIo<float> io{pass.samples, p.begin, p.end,        c.rows,   pass.advantage_terms,
                           p.head,       p.value, pass.log_std, p.d_head, p.d_value};
          io.d_log_std = p.d_log_std, io.d_log_std_rows = p.d_log_std ? log_std_rows.data() : nullptr;
          io.column_scratch = columns.data(), io.scratch = scratch.data(), io.out = out.data();
          ppo_loss(e, pass.update, pass.head, io);
        });
  }
  LossAndGradient result;
  result.gradient.resize(start.size());
  copy_async(exec, &result.terms, {}, out.data(), kCard, sizeof(LossTerms));
  to_host(exec, result.gradient.data(), gradients.data(), start.size());
  return result;
}

TEST_F(GpuChain, TheLossWithinEqualsTheLossBetween) {
  int taken = 0;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    const Case c = draw(seed);
    if (!chain_takes(c.policy, kCard)) continue;
    SCOPED_TRACE(c.text);
    const LossAndGradient within = with_ppo_loss(c, true), between = with_ppo_loss(c, false);
    const double LossTerms::*terms[] = {&LossTerms::policy_loss,   &LossTerms::value_loss, &LossTerms::entropy,
                                        &LossTerms::old_approx_kl, &LossTerms::approx_kl,  &LossTerms::clipfrac};
    for (const auto term : terms)
      EXPECT_NEAR(within.terms.*term, between.terms.*term, 1e-6 * std::abs(between.terms.*term));
    // weights and biases of a layer together: a bias's gradient alone may be what is left of a large sum
    std::map<std::string, std::pair<double, double>> layers;
    for (const ParameterSpec& p : c.policy.parameters)
      for (std::int64_t i = p.offset; i < p.offset + p.numel; ++i) {
        const double a = within.gradient[static_cast<std::size_t>(i)],
                     b = between.gradient[static_cast<std::size_t>(i)];
        auto& [difference, size] = layers[p.name.substr(0, p.name.rfind('.'))];
        difference += (a - b) * (a - b), size += b * b;
      }
    for (const auto& [name, of] : layers)
      EXPECT_LE(std::sqrt(of.first), 1e-2 * std::sqrt(of.second)) << name;  // the heads' gradients have 16 bits
    ++taken;
  }
  EXPECT_GE(taken, 20);
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

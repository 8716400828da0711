// Exported policies beside hotloop's own: every head, activation and setting of the normaliser, sizes that divide
// nothing. onnxruntime, torch.jit.load, a C compiler and numpy run what was exported (tests/python/check_export.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include "sim/core/error.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"
#include "train/export/formats.h"
#include "train/fused/cpu_network.h"
#include "train/generic/library.h"
#include "train/policy_net.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 1024, kOddRow = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Head {
  const char* name;
  ActionSpace action;
  const char *distribution, *std_type;
  bool mask;
};

std::vector<Head> heads() {
  const ActionSpace bounded = ActionSpace::box({-2.0f, -0.5f, 0.0f}, {2.0f, 0.25f, 1.0f});
  return {
      {"discrete", ActionSpace::discrete(2), "gaussian", "global", false},
      {"discrete_mask", ActionSpace::discrete(7), "gaussian", "global", true},
      {"multi_discrete", ActionSpace::multi_discrete({3, 2, 9}), "gaussian", "global", false},
      {"multi_discrete_mask", ActionSpace::multi_discrete({4, 5}), "gaussian", "global", true},
      {"gaussian", bounded, "gaussian", "global", false},
      {"gaussian_state_std", bounded, "gaussian", "state", false},
      {"gaussian_unbounded", ActionSpace::box({-kInfinity, -kInfinity}, {kInfinity, kInfinity}), "gaussian", "global",
       false},
      {"gaussian_half_bounded", ActionSpace::box({-kInfinity, -0.5f}, {0.5f, kInfinity}), "gaussian", "global", false},
      {"squashed", ActionSpace::box({-1.0f}, {1.0f}), "squashed_gaussian", "global", false},
      {"squashed_state_std", bounded, "squashed_gaussian", "state", false}};
}

struct Case {
  std::string name;
  TrainConfig config;
  EnvSpec env;
  PolicySpec policy;
};

Case draw_case(const Head& head, const std::string& activation, bool normalize, std::mt19937& random) {
  const auto any = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto sizes = [&](int least) {
    std::vector<std::int64_t> list;
    for (int n = any(least, 4); n > 0; --n) list.push_back(any(0, 3) == 0 ? 64 : any(1, 70));
    return list;
  };
  Case c;
  c.name = std::string(head.name) + "_" + activation + (normalize ? "_normalized" : "");
  c.config.task = "Drawn-v0";
  c.config.activation = activation;
  c.config.normalize_observation = normalize;
  c.config.clip_observation = any(0, 1) == 0 ? 10.0 : 3.0;
  c.config.action_distribution = head.distribution;
  c.config.std_type = head.std_type;
  c.config.shared_network = any(0, 2) == 0;
  c.config.hidden_sizes = sizes(1);
  if (!c.config.shared_network) c.config.critic_hidden_sizes = sizes(0);
  c.env.name = c.config.task;
  const auto obs_dim = static_cast<std::size_t>(any(1, 40));
  c.env.observation = {std::vector<float>(obs_dim, -kInfinity), std::vector<float>(obs_dim, kInfinity)};
  c.env.action = head.action;
  c.env.has_action_mask = head.mask;
  c.policy = make_policy_spec(c.config, c.env);
  return c;
}

// Weights that keep numbers near 1 from layer to layer, so that every part of an activation takes part.
std::vector<float> draw_parameters(const PolicySpec& policy, std::mt19937& random) {
  std::vector<float> parameters(static_cast<std::size_t>(policy.num_parameters));
  std::normal_distribution<float> normal;
  for (const auto* net : {&policy.trunk, &policy.actor, &policy.critic})
    for (const LayerSpec& l : *net) {
      const float gain = 1.3f / std::sqrt(static_cast<float>(l.in));
      for (std::int64_t i = 0; i < l.in * l.out; ++i)
        parameters[static_cast<std::size_t>(l.weight + i)] = gain * normal(random);
      for (std::int64_t i = 0; i < l.out; ++i) parameters[static_cast<std::size_t>(l.bias + i)] = 0.3f * normal(random);
    }
  return parameters;
}

std::vector<double> draw_normalizer(const PolicySpec& policy, std::mt19937& random) {
  std::vector<double> state;
  if (!policy.normalize_observation) return state;
  std::normal_distribution<double> normal;
  const double count = 5000;
  for (std::int64_t i = 0; i < policy.obs_dim; ++i) state.push_back(0.5 * normal(random));
  for (std::int64_t i = 0; i < policy.obs_dim; ++i) state.push_back(count * std::exp(0.5 * normal(random)));
  if (policy.obs_dim > 2) state[static_cast<std::size_t>(policy.obs_dim)] = 0;  // one that never changed
  state.push_back(count);
  return state;
}

// Ordinary numbers, and every eighth row one that is not: huge, tiny, zero. Without a normaliser up to 1e30, beyond
// which sums would overflow.
std::vector<float> draw_observations(const PolicySpec& policy, std::mt19937& random) {
  std::vector<float> x(static_cast<std::size_t>(kRows * policy.obs_dim));
  std::normal_distribution<float> normal;
  for (float& v : x) v = normal(random);
  const float huge = policy.normalize_observation ? std::numeric_limits<float>::max() : 1e30f;
  const std::vector<float> odd = {huge, -huge, 1e10f, -1e6f, 1e-30f, -1e-42f, 0.0f, 1e3f};
  for (std::int64_t row = 0; row < kRows; row += kOddRow) {
    const std::int64_t column = std::uniform_int_distribution<std::int64_t>(0, policy.obs_dim - 1)(random);
    x[static_cast<std::size_t>(row * policy.obs_dim + column)] =
        odd[static_cast<std::size_t>(row / kOddRow) % odd.size()];
  }
  return x;
}

std::vector<std::uint8_t> draw_mask(const ActionSpace& action, std::mt19937& random) {
  std::vector<std::uint8_t> mask;
  for (std::int64_t row = 0; row < kRows && !action.is_box(); ++row)
    for (const std::int64_t n : action.nvec) {
      const std::int64_t legal = std::uniform_int_distribution<std::int64_t>(0, n - 1)(random);
      for (std::int64_t k = 0; k < n; ++k) mask.push_back(k == legal || random() % 2 == 0);
    }
  return mask;
}

// What hotloop computes: actions by PolicyNet, as play and evaluations do, logits and values by the network.
class Reference {
 public:
  Reference(const Case& c, const std::vector<float>& parameters, const std::vector<double>& normalizer,
            std::mt19937& random)
      : observation_(draw_observations(c.policy, random)), mask_(draw_mask(c.env.action, random)) {
    const PolicySpec& policy = c.policy;
    const Exec exec;
    PolicyNet net(policy, Device{}, kRows);
    net.load(exec, parameters.data(), normalizer.empty() ? nullptr : normalizer.data());
    const auto actions = static_cast<std::size_t>(kRows * policy.action.dim());
    boxes_.resize(actions);
    choices_.resize(actions);
    void* action = policy.action.is_box() ? static_cast<void*>(boxes_.data()) : choices_.data();
    net.act(exec, kRows, observation_.data(), policy.has_action_mask ? mask_.data() : nullptr, true, DrawKey(), action);

    NetworkConfig config;
    config.policy = policy;
    config.max_rows = kRows;
    std::vector<float> x = observation_;
    if (policy.normalize_observation) {
      ObservationNormalizer own(Device{}, policy.obs_dim, policy.clip_observation);
      std::copy(normalizer.begin(), normalizer.end(), own.state());
      own.refresh(exec);
      own.apply(exec, kRows, observation_.data(), x.data());
    }
    head_.resize(static_cast<std::size_t>(kRows * policy.head_dim()));
    value_.resize(static_cast<std::size_t>(kRows));
    // rounding errors are as large as the largest numbers that meet
    scale_.assign(static_cast<std::size_t>(kRows), 1.0f);
    for (std::int64_t i = 0; i < kRows * policy.obs_dim; ++i) {
      const std::int64_t row = i / policy.obs_dim;
      float& scale = scale_[static_cast<std::size_t>(row)];
      if (row % kOddRow == 0) scale = std::max(scale, std::abs(x[static_cast<std::size_t>(i)]));
    }
    const auto network = make_cpu_network(config, parameters.data());
    network->parameters_changed(exec);
    network->act(exec, kRows, x.data(), head_.data(), value_.data());
  }
  void write(const fs::path& path, const PolicySpec& policy) const {
    const std::int64_t dim = policy.action.dim();
    std::vector<NamedTensor> tensors = {
        {"observation", DType::f32, {kRows, policy.obs_dim}, std::as_bytes(std::span(observation_))},
        {"action_mask", DType::u8, {kRows, policy.action.num_choices()}, std::as_bytes(std::span(mask_))},
        {"logits", DType::f32, {kRows, policy.head_dim()}, std::as_bytes(std::span(head_))},
        {"value", DType::f32, {kRows, 1}, std::as_bytes(std::span(value_))},
        {"scale", DType::f32, {kRows}, std::as_bytes(std::span(scale_))}};
    if (policy.action.is_box())
      tensors.push_back({"action", DType::f32, {kRows, dim}, std::as_bytes(std::span(boxes_))});
    else
      tensors.push_back({"action", DType::i64, {kRows, dim}, std::as_bytes(std::span(choices_))});
    write_safetensors(path, tensors);
  }

 private:
  std::vector<float> observation_, boxes_, head_, value_, scale_;
  std::vector<std::int64_t> choices_;
  std::vector<std::uint8_t> mask_;
};

// Without waiting for the disk.
void write(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

void write_case(const Case& c, const fs::path& folder, std::mt19937& random) {
  const std::vector<float> parameters = draw_parameters(c.policy, random);
  const std::vector<double> normalizer = draw_normalizer(c.policy, random);
  Reference(c, parameters, normalizer, random).write(folder / (c.name + ".ref.safetensors"), c.policy);
  const PolicyGraph graph = make_policy_graph(c.policy, parameters, normalizer, true);
  const EnvEntry entry{c.env};
  const OrderedJson metadata = export_metadata({c.config, {}, {}}, "0.0.0", entry, c.env, c.policy, graph);
  write(folder / (c.name + ".json"), metadata.dump());
  write(folder / (c.name + ".onnx"), onnx_content(graph, metadata));
  write(folder / (c.name + ".c"), c_content(graph, metadata, "policy"));
  write(folder / (c.name + ".pt"), torchscript_content(graph, metadata.dump()));
  write_policy_safetensors(folder / (c.name + ".safetensors"), graph, metadata);
}

void expect_same_actions(bool normalize) {
  if (!must_have_python() && !python_has("onnx, onnxruntime, torch, safetensors"))
    GTEST_SKIP() << test_python() << " has no onnx, onnxruntime, torch or safetensors";
  const TempFolder folder;
  std::mt19937 random(20);
  int cases = 0;
  for (const Head& head : heads())
    for (const char* activation : {"tanh", "relu", "elu", "silu"}) {
      write_case(draw_case(head, activation, normalize, random), folder.path(), random);
      ++cases;
    }
  EXPECT_EQ(cases, 40);
  const std::string command =
      test_python() + " '" HOTLOOP_SOURCE_DIR "/tests/python/check_export.py' '" + folder.path().string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Export, EveryFormatGivesHotloopsActions) { expect_same_actions(false); }
TEST(Export, EveryFormatGivesHotloopsActionsOfNormalizedObservations) { expect_same_actions(true); }

TEST(Export, ANumberThatIsNotFiniteIsRefused) {
  std::mt19937 random(1);
  const Case c = draw_case(heads()[0], "tanh", true, random);
  std::vector<float> parameters = draw_parameters(c.policy, random);
  std::vector<double> normalizer = draw_normalizer(c.policy, random);
  parameters[static_cast<std::size_t>(c.policy.actor.back().bias)] = NAN;
  const std::string name = c.policy.actor.back().name + ".bias";
  try {
    make_policy_graph(c.policy, parameters, normalizer, false);
    ADD_FAILURE() << "a policy with NaN was exported";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), name + " of the policy holds a number that is not finite");
  }
}

}  // namespace
}  // namespace hotloop

#include "train/policy_spec.h"

#include <cmath>

#include "sim/core/error.h"

namespace hotloop {
namespace {

// Parameters start on 32-byte boundaries in fp32 (16 in bf16): what tensor-core products want.
constexpr std::int64_t kParameterAlignment = 8;

Activation parse_activation(const std::string& name) {
  for (const Activation a : {Activation::tanh, Activation::relu, Activation::elu, Activation::silu})
    if (name == activation_name(a)) return a;
  throw Error("activation '" + name + "': must be one of tanh, relu, elu, silu");
}

class Builder {
 public:
  explicit Builder(PolicySpec& spec) : spec_(spec) {}

  std::int64_t place(const std::string& name, std::vector<std::int64_t> shape) {
    ParameterSpec p{name, std::move(shape), spec_.num_parameters, 1};
    for (const std::int64_t n : p.shape) p.numel *= n;
    spec_.num_parameters += (p.numel + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
    spec_.parameters.push_back(p);
    return p.offset;
  }
  void layer(std::vector<LayerSpec>& net, const std::string& net_name, std::int64_t in, std::int64_t out, Activation a,
             double gain) {
    LayerSpec l;
    l.in = in;
    l.out = out;
    l.activation = a;
    l.gain = gain;
    l.name = net_name + "." + std::to_string(net.size());
    l.weight = place(l.name + ".weight", {out, in});
    l.bias = place(l.name + ".bias", {out});
    net.push_back(l);
  }
  // Appends hidden layers; returns the width of the last.
  std::int64_t hidden(std::vector<LayerSpec>& net, const std::string& name, std::int64_t in,
                      const std::vector<std::int64_t>& sizes, Activation a) {
    for (const std::int64_t size : sizes) {
      layer(net, name, in, size, a, std::sqrt(2.0));
      in = size;
    }
    return in;
  }

 private:
  PolicySpec& spec_;
};

// Rows (or columns, whichever are fewer) made orthonormal by modified Gram-Schmidt, applied twice for accuracy.
void orthogonal(float* w, std::int64_t rows, std::int64_t cols, double gain, Rng& rng) {
  const bool transpose = rows > cols;
  const std::int64_t n = transpose ? cols : rows, m = transpose ? rows : cols;
  std::vector<double> v(static_cast<std::size_t>(n * m));
  for (double& x : v) x = rng.normal();
  for (std::int64_t i = 0; i < n; ++i) {
    double* vi = &v[static_cast<std::size_t>(i * m)];
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = 0; j < i; ++j) {
        const double* vj = &v[static_cast<std::size_t>(j * m)];
        double dot = 0;
        for (std::int64_t k = 0; k < m; ++k) dot += vi[k] * vj[k];
        for (std::int64_t k = 0; k < m; ++k) vi[k] -= dot * vj[k];
      }
    }
    double norm = 0;
    for (std::int64_t k = 0; k < m; ++k) norm += vi[k] * vi[k];
    norm = std::sqrt(norm);
    for (std::int64_t k = 0; k < m; ++k) vi[k] /= norm;
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      w[r * cols + c] = static_cast<float>(gain * v[static_cast<std::size_t>(transpose ? c * m + r : r * m + c)]);
}

}  // namespace

const char* activation_name(Activation a) {
  constexpr const char* kNames[] = {"none", "tanh", "relu", "elu", "silu"};
  return kNames[static_cast<int>(a)];
}

PolicySpec make_policy_spec(const TrainConfig& config, const EnvSpec& env) {
  PolicySpec spec;
  spec.obs_dim = env.obs_dim();
  spec.action = env.action;
  spec.has_action_mask = env.has_action_mask;
  spec.normalize_observation = config.normalize_observation;
  spec.clip_observation = config.clip_observation;
  spec.log_std_init = config.log_std_init;
  if (env.action.is_box()) {
    spec.head = config.action_distribution == "gaussian" ? HeadKind::gaussian : HeadKind::squashed_gaussian;
    spec.state_std = config.std_type == "state";
    if (spec.head == HeadKind::squashed_gaussian)
      for (std::size_t k = 0; k < env.action.low.size(); ++k)
        if (!std::isfinite(env.action.low[k]) || !std::isfinite(env.action.high[k]))
          throw Error("action_distribution squashed_gaussian: " + env.name + " has unbounded actions; use gaussian");
  }
  const Activation a = parse_activation(config.activation);
  const std::vector<std::int64_t>& critic_sizes =
      config.critic_hidden_sizes.empty() ? config.hidden_sizes : config.critic_hidden_sizes;
  Builder build(spec);
  std::int64_t actor_in = spec.obs_dim, critic_in = spec.obs_dim;
  if (config.shared_network) {
    if (!config.critic_hidden_sizes.empty())
      throw Error("critic_hidden_sizes: a shared network has no hidden layers of the critic's own");
    actor_in = critic_in = build.hidden(spec.trunk, "trunk", spec.obs_dim, config.hidden_sizes, a);
  } else {
    actor_in = build.hidden(spec.actor, "actor", actor_in, config.hidden_sizes, a);
  }
  build.layer(spec.actor, "actor", actor_in, spec.head_dim(), Activation::none, 0.01);
  if (!config.shared_network) critic_in = build.hidden(spec.critic, "critic", critic_in, critic_sizes, a);
  build.layer(spec.critic, "critic", critic_in, 1, Activation::none, 1.0);
  if (env.action.is_box() && !spec.state_std) spec.log_std = build.place("log_std", {env.action.dim()});
  return spec;
}

std::vector<float> initial_parameters(const PolicySpec& spec, std::uint64_t seed) {
  std::vector<float> p(static_cast<std::size_t>(spec.num_parameters), 0.0f);
  std::uint32_t index = 0;
  for (const auto* net : {&spec.trunk, &spec.actor, &spec.critic})
    for (const LayerSpec& l : *net) {
      Rng rng(seed, RngStream::init, index++, 0);
      orthogonal(&p[static_cast<std::size_t>(l.weight)], l.out, l.in, l.gain, rng);
    }
  const auto log_std = static_cast<float>(spec.log_std_init);
  if (spec.log_std >= 0)
    for (std::int64_t k = 0; k < spec.action.dim(); ++k) p[static_cast<std::size_t>(spec.log_std + k)] = log_std;
  if (spec.state_std)
    for (std::int64_t k = 0; k < spec.action.dim(); ++k)
      p[static_cast<std::size_t>(spec.actor.back().bias + spec.action.dim() + k)] = log_std;
  return p;
}

}  // namespace hotloop

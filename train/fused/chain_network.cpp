#include "train/fused/chain_network.h"

#include <algorithm>

#include "train/fused/chain_places.h"
#include "train/fused/network_layers.h"
#include "train/net_ops.h"

namespace hotloop {
namespace {

constexpr int kNumberBytes = 2;

// Where each number of a layer's image lies in the parameters, -1: nowhere. turned: rows and columns exchanged.
std::vector<std::int32_t> image_of(const LayerSizes& s, int columns, int rows, bool turned) {
  std::vector<std::int32_t> from(static_cast<std::size_t>(columns * rows), -1);
  for (int o = 0; o < s.out; ++o)
    for (int k = 0; k < s.in; ++k) {
      const int at = turned ? number_at(columns, k, o) : number_at(rows, o, k);
      from[static_cast<std::size_t>(at / kNumberBytes)] = static_cast<std::int32_t>(s.weight_at(o) + k);
    }
  return from;
}

class ChainNetwork final : public Network<float> {
 public:
  ChainNetwork(const NetworkConfig& config, Number16 number, const float* parameters)
      : policy_(config.policy), number_(number), minibatch_rows_(config.minibatch_rows) {
    pass_.parameters = parameters;
    pass_.inputs = static_cast<int>(policy_.obs_dim);
    pass_.multiprocessors = cuda_device_info(config.device.index).sm_count;
    plan(config.device);
    if (minibatch_rows_ == 0) return;
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    head_ = Buffer<float>(config.device, size(minibatch_rows_ * policy_.head_dim()));
    d_head_ = Buffer<float>(config.device, size(minibatch_rows_ * policy_.head_dim()));
    value_ = Buffer<float>(config.device, size(minibatch_rows_));
    d_value_ = Buffer<float>(config.device, size(minibatch_rows_));
    plan_own();
    partials_ = Buffer<float>(
        config.device, size(std::max(layer_splits(minibatch_rows_), own_ranges_.splits) * policy_.num_parameters));
    const std::int64_t terms = pass_.multiprocessors;
    terms_ = Buffer<LossTerms>(config.device, size(terms));
    terms_scratch_ = Buffer<LossTerms>(config.device, size(loss_scratch(terms)));
    squares_ = Buffer<double>(config.device, size(gradient_squares(policy_.num_parameters)));
    plan_ = Buffer<AdamPlan>(config.device, 1);
  }

  void act(const Exec& exec, std::int64_t rows, const float* observation, float* head, float* value) override {
    ChainPass pass = pass_of(rows);
    if (value == nullptr && pass.nets > 1) pass.nets = 1;
    chain_forward(exec, number_, {pass, {observation}, nullptr, head, value});
  }
  void evaluate(const Exec& exec, std::int64_t rows, const float* observation, float* value) override {
    ChainPass pass = pass_of(rows);
    pass.net[0] = pass.net[pass.nets - 1];
    pass.nets = 1;
    chain_forward(exec, number_, {pass, {observation}, nullptr, nullptr, value});
  }

  void forward_backward(const Exec& exec, const float* observation, float* gradients, const Loss& loss) override {
    const ChainPass pass = pass_of(minibatch_rows_);
    chain_forward(exec, number_, {pass, {observation}, x_, head_.data(), value_.data()});
    Part<float> part;
    part.end = minibatch_rows_;
    part.head = head_.data(), part.value = value_.data();
    part.d_head = d_head_.data(), part.d_value = d_value_.data();
    if (policy_.log_std >= 0) part.d_log_std = gradients + policy_.log_std;
    loss(exec, part);
    // not divided by the rows: fp16 would lose them
    const auto rows = static_cast<float>(minibatch_rows_);
    chain_backward(exec, number_, {pass, d_head_.data(), d_value_.data(), rows});
    weight_gradients(exec, pass, {}, log_stds(), gradients);
  }
  bool has_rollout(const RolloutWork& work) const override {
    return pass_.score_stride > 0 && chain_rolls_out(pass_, work);
  }
  void rollout(const Exec& exec, const RolloutWork& work) override {
    ChainPass actor = pass_of(work.num_envs);
    actor.nets = 1;
    chain_rollout(exec, number_, {actor, work});
    if (pass_.nets == 1) return;
    ChainPass critic = pass_of(work.num_steps * work.num_envs);
    critic.net[0] = critic.net[1], critic.nets = 1;
    chain_forward(exec, number_, {critic, {work.observation, nullptr, work.normalizer}, nullptr, nullptr, work.value});
  }
  bool has_ppo_pass() const override { return true; }
  void ppo_pass(const Exec& exec, const PpoPass& ppo) override {
    ChainTrain train{};
    train.pass = train_pass_;
    train.update = ppo.update, train.head = ppo.head, train.batch = ppo.samples;
    train.inputs = {ppo.samples.observation, ppo.index, ppo.normalizer};
    train.advantage_terms = ppo.advantage_terms, train.log_std = ppo.log_std;
    train.x = x_, train.terms = terms_.data();
    train.partials = partials_.data(), train.partial_stride = policy_.num_parameters;
    train.log_std_at = log_stds() > 0 ? policy_.log_std : -1;
    chain_train(exec, number_, train);
    weight_gradients(exec, train.pass, own_ranges_, 0, ppo.gradients);
  }
  void ppo_loss(const Exec& exec, LossTerms* out) override {
    sum_loss_terms(exec, pass_.multiprocessors, terms_.data(), terms_scratch_.data(), out);
  }
  void ppo_step(const Exec& exec, const PpoStep& step) override {
    const std::int64_t n = policy_.num_parameters;
    image_step(exec, number_,
               {n, minibatch_rows_, pass_.multiprocessors, gradient_squares(n), terms_.data(), squares_.data(),
                plan_.data(), place_.data(), pass_.ring ? second_place_.data() : nullptr, image_.data()},
               step);
  }
  std::int64_t parts() const override { return 1; }
  std::int64_t part_rows() const override { return minibatch_rows_; }

  void parameters_changed(const Exec& exec) override {
    layer_image(exec, number_, static_cast<std::int64_t>(image_of_.size()), image_of_.data(), pass_.parameters,
                image_.data());
  }

 private:
  void plan(Device device);
  void allocate(Device device);
  // The pass of ppo_pass, and which gradients come in parts of its own.
  void plan_own();
  // without: parameters from log_std on whose gradients came another way.
  void weight_gradients(const Exec& exec, const ChainPass& pass, const PartialRanges& own, int without,
                        float* gradients) {
    chain_gradient(exec, number_, pass, x_, partials_.data(), policy_.num_parameters);
    sum_partials(exec, policy_.num_parameters, layer_splits(minibatch_rows_), own, partials_.data(),
                 1.0f / static_cast<float>(minibatch_rows_), std::max<std::int64_t>(policy_.log_std, 0), without,
                 gradients, squares_.data());
  }
  // Parameters of the policy that no layer makes.
  int log_stds() const { return policy_.log_std >= 0 ? static_cast<int>(policy_.action.dim()) : 0; }
  ChainPass pass_of(std::int64_t rows) const {
    ChainPass pass = pass_;
    pass.rows = rows;
    return pass;
  }

  PolicySpec policy_;
  Number16 number_;
  std::int64_t minibatch_rows_;
  ChainPass pass_{}, train_pass_{};
  PartialRanges own_ranges_;
  Buffer<std::int32_t> image_of_;              // where each number of image_ lies in the parameters
  Buffer<std::int32_t> place_, second_place_;  // where each parameter lies in image_, -1: nowhere
  Buffer<std::byte> image_;
  void* x_ = nullptr;
  std::vector<Buffer<std::byte>> kept_;
  Buffer<float> head_, value_, d_head_, d_value_, partials_;
  Buffer<LossTerms> terms_, terms_scratch_;
  Buffer<double> squares_;
  Buffer<AdamPlan> plan_;
};

void ChainNetwork::plan_own() {
  train_pass_ = pass_of(minibatch_rows_);
  train_pass_.score_stride = chain_score_stride(static_cast<int>(policy_.head_dim()), log_stds());
  plan_own_gradients(train_pass_);
  own_ranges_.splits = chain_parts(train_pass_);
  const auto add = [&](std::int64_t begin, std::int64_t n) {
    own_ranges_.begin[own_ranges_.count] = begin;
    own_ranges_.end[own_ranges_.count++] = begin + n;
  };
  const auto add_layer = [&](const LayerSizes& s) {
    const int second = s.out - s.second;
    add(s.weight, static_cast<std::int64_t>(s.second) * s.in), add(s.bias, s.second);
    if (second > 0) add(s.second_weight, static_cast<std::int64_t>(second) * s.in), add(s.second_bias, second);
  };
  for (int n = 0; n < pass_.nets; ++n) {
    const ChainNet& net = pass_.net[n];
    if (train_pass_.own_head) add_layer(net.layer[net.layers - 1].size);
    if (train_pass_.own_first) add_layer(net.layer[0].size);
  }
  if (log_stds() > 0) add(policy_.log_std, log_stds());
}

void ChainNetwork::plan(Device device) {
  const std::vector<NetworkLayers> nets = network_layers(policy_);
  pass_.nets = static_cast<int>(nets.size());
  pass_.activation = nets[0][0].activation;
  for (int n = 0; n < pass_.nets; ++n) {
    const NetworkLayers& net = nets[static_cast<std::size_t>(n)];
    ChainNet& to = pass_.net[n];
    to.layers = static_cast<int>(net.size());
    to.actor = n == 0 ? static_cast<int>(policy_.head_dim()) : 0;
    for (int l = 0; l < to.layers; ++l) to.layer[l].size = net[static_cast<std::size_t>(l)].size;
  }
  pass_.score_stride = minibatch_rows_ == 0 ? 0 : chain_score_stride(static_cast<int>(policy_.head_dim()), log_stds());
  plan_chain(pass_);
  allocate(device);
}

// What a way back needs, and the images of the weights.
void ChainNetwork::allocate(Device device) {
  const std::int64_t tiles = chain_tiles(minibatch_rows_);
  const auto keep = [&](int panels) {
    kept_.emplace_back(device, static_cast<std::size_t>(tiles * panels * kPanelBytes));
    return kept_.back().data();
  };
  std::vector<std::int32_t> from;
  std::vector<std::pair<const void**, std::size_t>> images;  // and where they begin
  const auto add_image = [&](const void*& image, const LayerSizes& s, int columns, int rows, bool turned) {
    images.emplace_back(&image, from.size());
    const std::vector<std::int32_t> own = image_of(s, columns, rows, turned);
    from.insert(from.end(), own.begin(), own.end());
  };
  x_ = keep(panels_of(pass_.inputs));
  for (int n = 0; n < pass_.nets; ++n)
    for (int l = 0; l < pass_.net[n].layers; ++l) {
      const bool head = l + 1 == pass_.net[n].layers;
      ChainLayer& layer = pass_.net[n].layer[l];
      const int panels = head ? 1 : panels_of(pass_.width);
      layer.y = head ? nullptr : keep(panels);
      layer.d = keep(panels);
      add_image(layer.image, layer.size, input_columns(pass_, l), head ? pass_.head_rows : pass_.width, false);
      if (pass_.ring && !head && l > 0) add_image(layer.turned, layer.size, pass_.width, pass_.width, true);
    }
  const auto to_device = [&](Buffer<std::int32_t>& to, const std::vector<std::int32_t>& values) {
    to = Buffer<std::int32_t>(device, values.size());
    copy_async(Exec{device}, to.data(), device, values.data(), {}, to.bytes());
    synchronize(Exec{device});
  };
  std::vector<std::int32_t> place(static_cast<std::size_t>(policy_.num_parameters), -1), second = place;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] < 0) continue;
    std::int32_t& first = place[static_cast<std::size_t>(from[i])];
    (first < 0 ? first : second[static_cast<std::size_t>(from[i])]) = static_cast<std::int32_t>(i);
  }
  to_device(image_of_, from), to_device(place_, place), to_device(second_place_, second);
  image_ = Buffer<std::byte>(device, from.size() * kNumberBytes);
  for (const auto& [image, begin] : images) *image = image_.data() + begin * kNumberBytes;
}

}  // namespace

bool chain_takes(const PolicySpec& policy, Device device) {
  if (cuda_device_info(device.index).major != 9 || policy.obs_dim > kChainInputs) return false;
  for (const NetworkLayers& net : network_layers(policy)) {
    const auto hidden = static_cast<int>(net.size()) - 1;
    if (hidden < 1 || hidden > kChainLayers || net.back().size.out > kChainOutputs) return false;
    for (int l = 0; l < hidden; ++l) {
      const NetworkLayer& layer = net[static_cast<std::size_t>(l)];
      if (layer.size.out > kChainWidth || layer.activation == Activation::silu) return false;
    }
  }
  return true;
}

std::unique_ptr<Network<float>> make_chain_network(const NetworkConfig& config, Number16 number,
                                                   const float* parameters) {
  return std::make_unique<ChainNetwork>(config, number, parameters);
}

}  // namespace hotloop

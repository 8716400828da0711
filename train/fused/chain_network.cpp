#include "train/fused/chain_network.h"

#include <algorithm>

#include "train/fused/network_layers.h"
#include "train/fused/panel.h"
#include "train/net_ops.h"

namespace hotloop {
namespace {

constexpr int kNumberBytes = 2;

// Where number (row, column) of a matrix of panels with `rows` rows each lies [numbers].
std::size_t in_panels(int rows, int row, int column) {
  return static_cast<std::size_t>(column / kPanelColumns * rows * kPanelColumns +
                                  panel_at(row, column % kPanelColumns) / kNumberBytes);
}

// Where each number of a layer's image lies in the parameters, -1: nowhere.
std::vector<std::int32_t> image_of(const LayerSizes& s, int input_panels, int rows) {
  std::vector<std::int32_t> from(static_cast<std::size_t>(input_panels * rows * kPanelColumns), -1);
  for (int o = 0; o < s.out; ++o)
    for (int k = 0; k < s.in; ++k) from[in_panels(rows, o, k)] = static_cast<std::int32_t>(s.weight_at(o) + k);
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
    const std::int64_t log_stds_rows = 4 * chain_tiles(minibatch_rows_), terms = chain_terms(pass_.multiprocessors);
    terms_ = Buffer<LossTerms>(config.device, size(terms));
    terms_scratch_ = Buffer<LossTerms>(config.device, size(loss_scratch(terms)));
    if (policy_.log_std < 0) return;
    d_log_std_ = Buffer<float>(config.device, size(log_stds_rows * policy_.action.dim()));
    d_log_std_scratch_ = Buffer<float>(config.device, size(bias_scratch(log_stds_rows, policy_.action.dim())));
  }

  void act(const Exec& exec, std::int64_t rows, const float* observation, float* head, float* value) override {
    ChainPass pass = pass_of(rows);
    if (value == nullptr && pass.nets > 1) pass.nets = 1;
    chain_forward(exec, number_, {pass, observation, nullptr, head, value});
  }
  void evaluate(const Exec& exec, std::int64_t rows, const float* observation, float* value) override {
    ChainPass pass = pass_of(rows);
    pass.net[0] = pass.net[pass.nets - 1];
    pass.nets = 1;
    chain_forward(exec, number_, {pass, observation, nullptr, nullptr, value});
  }

  void forward_backward(const Exec& exec, const float* observation, float* gradients, const Loss& loss) override {
    const ChainPass pass = pass_of(minibatch_rows_);
    chain_forward(exec, number_, {pass, observation, x_.data(), head_.data(), value_.data()});
    Part<float> part;
    part.end = minibatch_rows_;
    part.head = head_.data(), part.value = value_.data();
    part.d_head = d_head_.data(), part.d_value = d_value_.data();
    if (policy_.log_std >= 0) part.d_log_std = gradients + policy_.log_std;
    loss(exec, part);
    // not divided by the rows: fp16 would lose them
    const auto rows = static_cast<float>(minibatch_rows_);
    chain_backward(exec, number_, {pass, d_head_.data(), d_value_.data(), rows});
    weight_gradients(exec, pass, {}, gradients);
  }
  bool ppo_pass(const Exec& exec, const PpoPass& ppo) override {
    ChainTrain train{};
    train.pass = train_pass_;
    train.update = ppo.update, train.head = ppo.head, train.batch = ppo.batch;
    train.advantage_terms = ppo.advantage_terms, train.log_std = ppo.log_std;
    train.x = x_.data(), train.terms = terms_.data();
    train.partials = partials_.data(), train.partial_stride = policy_.num_parameters;
    train.d_log_std = log_stds() > 0 ? d_log_std_.data() : nullptr;
    chain_train(exec, number_, train);
    sum_loss_terms(exec, chain_terms(pass_.multiprocessors), terms_.data(), terms_scratch_.data(), ppo.out);
    if (log_stds() > 0)
      sum_columns(exec, 4 * chain_tiles(minibatch_rows_), log_stds(), d_log_std_.data(), d_log_std_scratch_.data(),
                  ppo.gradients + policy_.log_std);
    weight_gradients(exec, train.pass, own_ranges_, ppo.gradients);
    return true;
  }
  std::int64_t parts() const override { return 1; }
  std::int64_t part_rows() const override { return minibatch_rows_; }

  void parameters_changed(const Exec& exec) override {
    layer_image(exec, number_, static_cast<std::int64_t>(image_of_.size()), image_of_.data(), pass_.parameters,
                image_.data());
  }

 private:
  void plan(Device device);
  // The pass of ppo_pass, and which gradients come in parts of its own.
  void plan_own();
  void weight_gradients(const Exec& exec, const ChainPass& pass, const PartialRanges& own, float* gradients) {
    chain_gradient(exec, number_, pass, x_.data(), partials_.data(), policy_.num_parameters);
    sum_partials(exec, policy_.num_parameters, layer_splits(minibatch_rows_), own, partials_.data(),
                 1.0f / static_cast<float>(minibatch_rows_), std::max<std::int64_t>(policy_.log_std, 0), log_stds(),
                 gradients);
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
  Buffer<std::int32_t> image_of_;  // where each number of image_ lies in the parameters
  Buffer<std::byte> image_, x_;
  std::vector<Buffer<std::byte>> kept_;
  Buffer<float> head_, value_, d_head_, d_value_, partials_, d_log_std_, d_log_std_scratch_;
  Buffer<LossTerms> terms_, terms_scratch_;
};

void ChainNetwork::plan_own() {
  train_pass_ = pass_of(minibatch_rows_);
  train_pass_.score_stride = chain_score_stride(static_cast<int>(policy_.head_dim()), log_stds());
  plan_own_gradients(train_pass_);
  if (!train_pass_.own_head && !train_pass_.own_first) return;
  own_ranges_.splits = chain_slots(train_pass_);
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
}

void ChainNetwork::plan(Device device) {
  const std::vector<NetworkLayers> nets = network_layers(policy_);
  int widest = 0;
  for (const NetworkLayers& net : nets)
    for (std::size_t l = 0; l + 1 < net.size(); ++l) widest = std::max(widest, net[l].size.out);
  pass_.nets = static_cast<int>(nets.size());
  pass_.width = chain_width(widest);
  pass_.activation = nets[0][0].activation;
  std::vector<std::int32_t> from;
  std::vector<std::size_t> images;
  // bulk copies bring whole tiles of every warpgroup of a block
  const std::int64_t tiles = (minibatch_rows_ + 2 * kTileRows - 1) / (2 * kTileRows) * 2;
  const auto keep = [&](int panels) {
    kept_.emplace_back(device, static_cast<std::size_t>(tiles * panels * kPanelBytes));
    return kept_.back().data();
  };
  x_ = Buffer<std::byte>(device, static_cast<std::size_t>(tiles * panels_of(pass_.inputs) * kPanelBytes));
  for (int n = 0; n < pass_.nets; ++n) {
    const NetworkLayers& net = nets[static_cast<std::size_t>(n)];
    ChainNet& to = pass_.net[n];
    to.layers = static_cast<int>(net.size());
    to.actor = n == 0 ? static_cast<int>(policy_.head_dim()) : 0;
    for (int l = 0; l < to.layers; ++l) {
      const bool head = l + 1 == to.layers;
      ChainLayer& layer = to.layer[l];
      layer.size = net[static_cast<std::size_t>(l)].size;
      const int panels = head ? 1 : panels_of(pass_.width);
      images.push_back(from.size());
      const std::vector<std::int32_t> own =
          image_of(layer.size, panels_of(l == 0 ? pass_.inputs : pass_.width), head ? kChainOutputs : pass_.width);
      from.insert(from.end(), own.begin(), own.end());
      layer.y = head ? nullptr : keep(panels);
      layer.d = keep(panels);
    }
  }
  image_of_ = Buffer<std::int32_t>(device, from.size());
  copy_async(Exec{device}, image_of_.data(), device, from.data(), {}, image_of_.bytes());
  synchronize(Exec{device});
  image_ = Buffer<std::byte>(device, from.size() * kNumberBytes);
  std::size_t i = 0;
  for (int n = 0; n < pass_.nets; ++n)
    for (int l = 0; l < pass_.net[n].layers; ++l)
      pass_.net[n].layer[l].image = image_.data() + images[i++] * kNumberBytes;
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

#include "train/fused/layered_network.h"

#include <algorithm>
#include <vector>

#include "train/fused/network_layers.h"

namespace hotloop {
namespace {

constexpr int kNumberBytes = 2;

// One layer's place in the image of its network's weights, and its buffers of [rows, stride(out)] numbers.
struct Layer {
  LayerSizes size;
  Activation activation = Activation::none;
  std::int64_t image = 0;  // [numbers]
  Buffer<std::byte> y, input, d;

  int in() const { return layer_stride(size.in); }
  int out() const { return layer_stride(size.out); }
};

using Net = std::vector<Layer>;  // the last layer is the head

std::vector<Net> nets_of(const PolicySpec& policy) {
  std::vector<Net> nets;
  for (const NetworkLayers& layers : network_layers(policy)) {
    Net& net = nets.emplace_back();
    for (const NetworkLayer& l : layers) {
      Layer& layer = net.emplace_back();
      layer.size = l.size, layer.activation = l.activation;
    }
  }
  return nets;
}

class LayeredNetwork final : public Network<float> {
 public:
  LayeredNetwork(const NetworkConfig& config, Number16 number, const float* parameters)
      : policy_(config.policy),
        number_(number),
        parameters_(parameters),
        minibatch_rows_(config.minibatch_rows),
        nets_(nets_of(config.policy)) {
    allocate(config.device, std::max(config.max_rows, config.minibatch_rows));
    if (minibatch_rows_ == 0) return;
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    head_ = Buffer<float>(config.device, size(minibatch_rows_ * policy_.head_dim()));
    d_head_ = Buffer<float>(config.device, size(minibatch_rows_ * policy_.head_dim()));
    value_ = Buffer<float>(config.device, size(minibatch_rows_));
    d_value_ = Buffer<float>(config.device, size(minibatch_rows_));
    partials_ = Buffer<float>(config.device, size(layer_splits(minibatch_rows_) * policy_.num_parameters));
  }

  void act(const Exec& exec, std::int64_t rows, const float* observation, float* head, float* value) override {
    forward(exec, rows, observation, 0, value == nullptr && nets_.size() > 1 ? 1 : nets_.size(), head, value);
  }
  void evaluate(const Exec& exec, std::int64_t rows, const float* observation, float* value) override {
    forward(exec, rows, observation, nets_.size() - 1, nets_.size(), nullptr, value);
  }

  void forward_backward(const Exec& exec, const float* observation, float* gradients, const Loss& loss) override {
    const std::int64_t rows = minibatch_rows_;
    forward(exec, rows, observation, 0, nets_.size(), head_.data(), value_.data());
    Part<float> part;
    part.end = rows;
    part.head = head_.data(), part.value = value_.data();
    part.d_head = d_head_.data(), part.d_value = d_value_.data();
    if (policy_.log_std >= 0) part.d_log_std = gradients + policy_.log_std;
    loss(exec, part);
    head_gradients(exec);
    for (std::size_t l = 0; l < layers(); ++l) {
      weight_gradients(exec, l);
      input_gradients(exec, l);
    }
    sum_partials(exec, policy_.num_parameters, layer_splits(rows), {}, partials_.data(),
                 1.0f / static_cast<float>(rows), std::max<std::int64_t>(policy_.log_std, 0),
                 policy_.log_std >= 0 ? policy_.action.dim() : 0, gradients);
  }
  std::int64_t parts() const override { return 1; }
  std::int64_t part_rows() const override { return minibatch_rows_; }

  void parameters_changed(const Exec& exec) override {
    layer_image(exec, number_, static_cast<std::int64_t>(image_of_.size()), image_of_.data(), parameters_,
                image_.data());
  }

 private:
  void allocate(Device device, std::int64_t rows);
  void forward(const Exec& exec, std::int64_t rows, const float* observation, std::size_t first, std::size_t last,
               float* head, float* value);
  void head_gradients(const Exec& exec);
  // Layers are counted from the heads here: 0 is the head.
  void weight_gradients(const Exec& exec, std::size_t l);
  void input_gradients(const Exec& exec, std::size_t l);
  // f(net, i) for the networks [first, last) that have such a layer l, their i-th.
  template <class Pass, class F>
  void each_net(Pass& pass, std::size_t first, std::size_t last, std::size_t l, F f) {
    pass.nets = 0;
    for (std::size_t n = first; n < last; ++n)
      if (l < nets_[n].size()) pass.net[pass.nets++] = f(nets_[n], nets_[n].size() - 1 - l);
  }
  std::size_t layers() const {
    std::size_t most = 0;
    for (const Net& n : nets_) most = std::max(most, n.size());
    return most;
  }
  const void* weights(const Layer& l) const { return image_.data() + l.image * kNumberBytes; }
  const void* input_of(const Net& net, std::size_t i) const { return i == 0 ? x_.data() : net[i - 1].y.data(); }

  PolicySpec policy_;
  Number16 number_;
  const float* parameters_;
  std::int64_t minibatch_rows_;
  std::vector<Net> nets_;
  Buffer<std::int32_t> image_of_;  // where each number of image_ lies in the parameters
  Buffer<std::byte> image_, x_;
  Buffer<float> head_, value_, d_head_, d_value_, partials_;
};

void LayeredNetwork::allocate(Device device, std::int64_t rows) {
  std::vector<std::int32_t> from;
  const auto numbers = [&](std::int64_t n, std::int64_t stride) {
    return Buffer<std::byte>(device, static_cast<std::size_t>(n * stride * kNumberBytes));
  };
  x_ = numbers(rows, layer_stride(policy_.obs_dim));
  for (Net& net : nets_)
    for (std::size_t i = 0; i < net.size(); ++i) {
      Layer& l = net[i];
      const LayerSizes& s = l.size;
      l.image = static_cast<std::int64_t>(from.size());
      for (int o = 0; o < l.out(); ++o)
        for (int k = 0; k < l.in(); ++k)
          from.push_back(o < s.out && k < s.in ? static_cast<std::int32_t>(s.weight_at(o) + k) : -1);
      const bool is_head = i + 1 == net.size();
      if (!is_head) l.y = numbers(rows, l.out());
      if (!is_head && l.activation == Activation::silu) l.input = numbers(rows, l.out());
      if (minibatch_rows_ > 0) l.d = numbers(minibatch_rows_, l.out());
    }
  image_of_ = Buffer<std::int32_t>(device, from.size());
  copy_async(Exec{device}, image_of_.data(), device, from.data(), {}, image_of_.bytes());
  synchronize(Exec{device});
  image_ = numbers(static_cast<std::int64_t>(from.size()), 1);
}

void LayeredNetwork::forward(const Exec& exec, std::int64_t rows, const float* observation, std::size_t first,
                             std::size_t last, float* head, float* value) {
  layer_rows(exec, number_, rows, static_cast<int>(policy_.obs_dim), observation, nullptr, 1.0f, x_.data(),
             layer_stride(policy_.obs_dim));
  for (std::size_t l = layers() - 1; l > 0; --l) {
    LayerForward pass{};
    pass.rows = rows, pass.parameters = parameters_;
    each_net(pass, first, last, l, [&](Net& net, std::size_t i) {
      pass.activation = net[i].activation;
      return LayerForward::Net{net[i].size, input_of(net, i), weights(net[i]), net[i].y.data(), net[i].input.data()};
    });
    if (pass.nets > 0) layer_forward(exec, number_, pass);
  }
  HeadForward pass{};
  pass.rows = rows, pass.parameters = parameters_;
  std::size_t n = first;
  each_net(pass, first, last, 0, [&](Net& net, std::size_t i) {
    const int actor = n++ == 0 ? static_cast<int>(policy_.head_dim()) : 0;
    return HeadForward::Net{net[i].size, input_of(net, i), weights(net[i]), head, value, actor};
  });
  head_forward(exec, number_, pass);
}

// The loss's gradients as numbers of 16 bits, not divided by the rows: they would be too small for fp16.
void LayeredNetwork::head_gradients(const Exec& exec) {
  const auto scale = static_cast<float>(minibatch_rows_);
  const int actor = static_cast<int>(policy_.head_dim());
  const bool both = nets_.size() == 1;
  Layer& first = nets_[0].back();
  layer_rows(exec, number_, minibatch_rows_, actor, d_head_.data(), both ? d_value_.data() : nullptr, scale,
             first.d.data(), first.out());
  if (both) return;
  Layer& second = nets_[1].back();
  layer_rows(exec, number_, minibatch_rows_, 1, d_value_.data(), nullptr, scale, second.d.data(), second.out());
}

void LayeredNetwork::weight_gradients(const Exec& exec, std::size_t l) {
  LayerGradient pass{};
  pass.rows = minibatch_rows_, pass.partials = partials_.data(), pass.partial_stride = policy_.num_parameters;
  each_net(pass, 0, nets_.size(), l, [&](Net& net, std::size_t i) {
    return LayerGradient::Net{net[i].size, net[i].d.data(), input_of(net, i)};
  });
  layer_gradient(exec, number_, pass);
}

void LayeredNetwork::input_gradients(const Exec& exec, std::size_t l) {
  LayerBackward pass{};
  pass.rows = minibatch_rows_;
  for (Net& net : nets_) {
    if (l + 1 >= net.size()) continue;
    const Layer& layer = net[net.size() - 1 - l];
    Layer& below = net[net.size() - 2 - l];
    pass.activation = below.activation;
    const void* known = below.activation == Activation::silu ? below.input.data() : below.y.data();
    pass.net[pass.nets++] = {layer.size, layer.d.data(), weights(layer), known, below.d.data()};
  }
  if (pass.nets > 0) layer_backward(exec, number_, pass);
}

}  // namespace

std::unique_ptr<Network<float>> make_layered_network(const NetworkConfig& config, Number16 number,
                                                     const float* parameters) {
  return std::make_unique<LayeredNetwork>(config, number, parameters);
}

}  // namespace hotloop

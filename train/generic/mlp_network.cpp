// The actor-critic of PolicySpec over LibTorch's matrix products.
#include <ATen/Functions.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/thread_pool.h"
#include "train/generic/cuda_support.h"
#include "train/generic/library.h"
#include "train/generic/net_pass.h"

namespace hotloop {
namespace {

// Trunk, actor and critic with buffers for one shard's rows.
template <class S>
class Worker {
 public:
  using R = Compute<S>;

  Worker(const PolicySpec& policy, Device device, std::int64_t rows, bool training)
      : obs_dim_(policy.obs_dim),
        device_(device),
        trunk_(policy.trunk, device, rows, training),
        actor_(policy.actor, device, rows, training),
        critic_(policy.critic, device, rows, training),
        branches_(device) {
    if (!std::is_same_v<S, R>) input_ = make_tensor<S>({rows, obs_dim_}, device);
    if (!training) return;
    head_ = make_tensor<R>({rows, policy.head_dim()}, device);
    value_ = make_tensor<R>({rows, 1}, device);
    d_head_ = make_tensor<R>({rows, policy.head_dim()}, device);
    d_value_ = make_tensor<R>({rows, 1}, device);
    if (!trunk_.empty()) {
      d_from_actor_ = make_tensor<S>({rows, policy.trunk.back().out}, device);
      d_from_critic_ = make_tensor<S>({rows, policy.trunk.back().out}, device);
    }
  }

  // head null: the critic alone.
  void forward(const Exec& exec, const Weights<S>& weights, std::int64_t rows, const R* observation, R* head,
               R* value) {
    at::Tensor x;
    if constexpr (std::is_same_v<S, R>) {
      x = wrap(observation, {rows, obs_dim_}, device_);
    } else {
      x = input_.narrow(0, 0, rows);
      convert(exec, rows * obs_dim_, observation, static_cast<S*>(x.data_ptr()));
    }
    x_ = x;
    hidden_ = trunk_.empty() ? x : trunk_.forward(exec, weights, x, nullptr);
    const auto critic = [&](const Exec& e) { critic_.forward(e, weights, hidden_, value); };
    if (head == nullptr) {
      critic(exec);
      return;
    }
    branches_.run(
        exec, [&](const Exec& e) { actor_.forward(e, weights, hidden_, head); }, critic);
  }

  void train(const Exec& exec, const Weights<S>& weights, const R* observation, R* gradients, Part<R> part,
             const typename Network<R>::Loss& loss) {
    R* const head = static_cast<R*>(head_.data_ptr());
    R* const value = static_cast<R*>(value_.data_ptr());
    forward(exec, weights, part.end - part.begin, observation, head, value);
    part.head = head;
    part.value = value;
    part.d_head = static_cast<R*>(d_head_.data_ptr());
    part.d_value = static_cast<R*>(d_value_.data_ptr());
    loss(exec, part);
    const bool trunk = !trunk_.empty();
    branches_.run(
        exec,
        [&](const Exec& e) {
          actor_.backward(e, weights, hidden_, part.d_head, gradients, trunk ? &d_from_actor_ : nullptr);
        },
        [&](const Exec& e) {
          critic_.backward(e, weights, hidden_, part.d_value, gradients, trunk ? &d_from_critic_ : nullptr);
        });
    if (!trunk) return;
    at::add_out(trunk_.d_hidden(), d_from_actor_, d_from_critic_);
    trunk_.backward(exec, weights, x_, nullptr, gradients, nullptr);
  }

 private:
  std::int64_t obs_dim_;
  Device device_;
  TorchNetPass<S> trunk_, actor_, critic_;
  TwoBranches branches_;
  at::Tensor input_, head_, value_, d_head_, d_value_, d_from_actor_, d_from_critic_;
  at::Tensor x_, hidden_;
};

template <class S>
class MlpNetwork final : public Network<Compute<S>> {
 public:
  using R = Compute<S>;

  MlpNetwork(const NetworkConfig& config, const R* parameters)
      : policy_(config.policy),
        device_(config.device),
        shards_(config.num_shards),
        minibatch_rows_(config.minibatch_rows) {
    if constexpr (!std::is_same_v<S, R>) copy_ = make_tensor<S>({policy_.num_parameters}, device_);
    weights_.exact = parameters;
    if constexpr (std::is_same_v<S, R>)
      weights_.products = parameters;
    else
      weights_.products = static_cast<const S*>(copy_.data_ptr());
    const std::int64_t act_rows = (config.max_rows + shards_ - 1) / shards_;
    for (std::int64_t s = 0; s < shards_; ++s) {
      act_.push_back(std::make_unique<Worker<S>>(policy_, device_, std::max<std::int64_t>(act_rows, 1), false));
      if (minibatch_rows_ > 0)
        train_.push_back(std::make_unique<Worker<S>>(policy_, device_, minibatch_rows_ / shards_, true));
    }
  }

  void act(const Exec& exec, std::int64_t rows, const R* observation, R* head, R* value) override {
    each_shard(exec, [&](const Exec& e, std::int64_t s) {
      const std::int64_t begin = rows * s / shards_, end = rows * (s + 1) / shards_;
      if (begin == end) return;
      R* const out = head == nullptr ? nullptr : head + begin * policy_.head_dim();
      act_[static_cast<std::size_t>(s)]->forward(e, weights_, end - begin, observation + begin * policy_.obs_dim, out,
                                                 value + begin);
    });
  }
  void evaluate(const Exec& exec, std::int64_t rows, const R* observation, R* value) override {
    act(exec, rows, observation, nullptr, value);
  }
  void forward_backward(const Exec& exec, const R* observation, R* gradients,
                        const typename Network<R>::Loss& loss) override {
    const std::int64_t rows = minibatch_rows_ / shards_;
    each_shard(exec, [&](const Exec& e, std::int64_t s) {
      Part<R> part;
      part.index = s;
      part.begin = rows * s;
      part.end = rows * (s + 1);
      R* const own = gradients + s * policy_.num_parameters;
      if (policy_.log_std >= 0) part.d_log_std = own + policy_.log_std;
      train_[static_cast<std::size_t>(s)]->train(e, weights_, observation + part.begin * policy_.obs_dim, own, part,
                                                 loss);
    });
  }
  std::int64_t parts() const override { return shards_; }
  std::int64_t part_rows() const override { return minibatch_rows_ / shards_; }
  void parameters_changed(const Exec& exec) override {
    if constexpr (!std::is_same_v<S, R>)
      convert(exec, policy_.num_parameters, weights_.exact, static_cast<S*>(copy_.data_ptr()));
    else
      (void)exec;
  }

 private:
  // Each shard on one thread; a shard's own work never splits further, so the threads' number cannot reach the bits.
  void each_shard(const Exec& exec, const std::function<void(const Exec&, std::int64_t)>& work) {
    if (exec.device.is_cuda() || shards_ == 1 || exec.pool == nullptr) {
      const TorchScope scope(exec);
      const Exec serial{exec.device, exec.stream, exec.device.is_cuda() ? exec.pool : nullptr};
      for (std::int64_t s = 0; s < shards_; ++s) work(serial, s);
      return;
    }
    exec.pool->run(static_cast<int>(shards_), [&](int s) {
      const Exec serial{exec.device, nullptr, nullptr};
      const TorchScope scope(serial);
      work(serial, s);
    });
  }

  PolicySpec policy_;
  Device device_;
  std::int64_t shards_, minibatch_rows_;
  at::Tensor copy_;
  Weights<S> weights_;
  std::vector<std::unique_ptr<Worker<S>>> act_, train_;
};

}  // namespace

std::unique_ptr<Network<float>> make_mlp(const NetworkConfig& config, const float* parameters) {
  const TorchScope scope(Exec{config.device});
  if (config.precision == Precision::bf16) return std::make_unique<MlpNetwork<Bf16>>(config, parameters);
  return std::make_unique<MlpNetwork<float>>(config, parameters);
}

std::unique_ptr<Network<double>> make_mlp_double(const NetworkConfig& config, const double* parameters) {
  const TorchScope scope(Exec{config.device});
  return std::make_unique<MlpNetwork<double>>(config, parameters);
}

}  // namespace hotloop

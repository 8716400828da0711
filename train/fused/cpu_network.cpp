#include "train/fused/cpu_network.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/core/thread_pool.h"
#include "train/fused/cpu_gemm.h"
#include "train/fused/cpu_pass.h"

namespace hotloop {
namespace {

// Rows that pass through the networks together: enough that weights are read seldom, few enough for the cache.
constexpr std::int64_t kChunk = 64;
// Below this, waking another thread takes longer than what it would do [operations].
constexpr std::int64_t kWorthAThread = 500'000;

struct CpuNets {
  CpuNets(const PolicySpec& policy, bool training)
      : trunk(policy.trunk, training, false),
        actor(policy.actor, training, !policy.trunk.empty()),
        critic(policy.critic, training, !policy.trunk.empty()) {}
  void pack(const float* parameters) {
    for (CpuLayers* net : {&trunk, &actor, &critic}) net->pack(parameters);
  }
  CpuLayers trunk, actor, critic;
};

void copy_rows(std::int64_t rows, std::int64_t cols, const float* from, std::int64_t from_stride, float* to,
               std::int64_t to_stride) {
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * to_stride, from + r * from_stride, static_cast<std::size_t>(cols) * sizeof(float));
}

// One thread's buffers for a chunk, and its sums of gradients.
class CpuWorker {
 public:
  CpuWorker(const PolicySpec& policy, const CpuNets& nets, bool training)
      : policy_(policy),
        trunk_(nets.trunk, kChunk, training),
        actor_(nets.actor, kChunk, training),
        critic_(nets.critic, kChunk, training),
        has_trunk_(!nets.trunk.empty()) {
    const auto floats = [](std::int64_t cols) { return Buffer<float>({}, static_cast<std::size_t>(kChunk * cols)); };
    input_ = floats(row_stride(policy.obs_dim));
    if (!training) return;
    head_ = floats(policy.head_dim());
    d_head_ = floats(policy.head_dim());
    value_ = floats(1);
    d_value_ = floats(1);
    d_log_std_ = Buffer<float>({}, policy.log_std < 0 ? 0 : static_cast<std::size_t>(policy.action.dim()));
  }

  // head null: the critic alone; value null: the actor alone.
  void forward(std::int64_t rows, const float* observation, float* head, float* value) {
    copy_rows(rows, policy_.obs_dim, observation, policy_.obs_dim, input_.data(), row_stride(policy_.obs_dim));
    hidden_ = has_trunk_ ? trunk_.forward(rows, input_.data()) : input_.data();
    const std::int64_t dim = policy_.head_dim();
    if (head != nullptr) copy_rows(rows, dim, actor_.forward(rows, hidden_), row_stride(dim), head, dim);
    if (value != nullptr) copy_rows(rows, 1, critic_.forward(rows, hidden_), row_stride(1), value, 1);
  }

  // Begins the sums of a shard, whose gradients go to `gradients`.
  void begin(float* gradients) {
    for (CpuPass* pass : {&trunk_, &actor_, &critic_}) pass->clear_gradients();
    gradients_ = gradients;
    if (policy_.log_std >= 0) std::memset(gradients + policy_.log_std, 0, d_log_std_.bytes());
  }

  void train(const Exec& exec, const float* observation, Part<float> part, const Network<float>::Loss& loss) {
    const std::int64_t rows = part.end - part.begin, dim = policy_.head_dim();
    forward(rows, observation, head_.data(), value_.data());
    part.head = head_.data();
    part.value = value_.data();
    part.d_head = d_head_.data();
    part.d_value = d_value_.data();
    part.d_log_std = policy_.log_std < 0 ? nullptr : d_log_std_.data();
    loss(exec, part);
    copy_rows(rows, dim, d_head_.data(), dim, actor_.d_out(), row_stride(dim));
    copy_rows(rows, 1, d_value_.data(), 1, critic_.d_out(), row_stride(1));
    float* const d_hidden = has_trunk_ ? trunk_.d_out() : nullptr;
    actor_.backward(rows, hidden_, d_hidden, false);
    critic_.backward(rows, hidden_, d_hidden, true);
    if (has_trunk_) trunk_.backward(rows, input_.data(), nullptr, false);
    for (std::size_t k = 0; k < d_log_std_.size(); ++k)
      gradients_[policy_.log_std + static_cast<std::int64_t>(k)] += d_log_std_.data()[k];
  }

  void end() {
    for (const CpuPass* pass : {&trunk_, &actor_, &critic_}) pass->write_gradients(gradients_);
  }

 private:
  const PolicySpec& policy_;
  CpuPass trunk_, actor_, critic_;
  bool has_trunk_;
  Buffer<float> input_, head_, value_, d_head_, d_value_, d_log_std_;
  const float* hidden_ = nullptr;
  float* gradients_ = nullptr;
};

class CpuNetwork final : public Network<float> {
 public:
  CpuNetwork(const NetworkConfig& config, const float* parameters)
      : policy_(config.policy),
        parameters_(parameters),
        shards_(config.num_shards),
        shard_rows_(config.minibatch_rows / config.num_shards),
        nets_(policy_, config.minibatch_rows > 0) {
    for (const auto* net : {&policy_.trunk, &policy_.actor, &policy_.critic})
      for (const LayerSpec& l : *net) row_operations_ += 2 * l.in * l.out;
  }

  void act(const Exec& exec, std::int64_t rows, const float* observation, float* head, float* value) override {
    const std::int64_t threads = exec.pool == nullptr ? 1 : exec.pool->size();
    const std::int64_t parts = std::clamp<std::int64_t>(rows * row_operations_ / kWorthAThread, 1,
                                                        std::min(threads, std::max<std::int64_t>(rows, 1)));
    const auto run = [&](std::int64_t part) {
      CpuWorker& worker = *act_[static_cast<std::size_t>(part)];
      const std::int64_t end = rows * (part + 1) / parts;
      for (std::int64_t r = rows * part / parts; r < end; r += kChunk)
        worker.forward(std::min(kChunk, end - r), observation + r * policy_.obs_dim,
                       head == nullptr ? nullptr : head + r * policy_.head_dim(),
                       value == nullptr ? nullptr : value + r);
    };
    grow(act_, parts, false);
    each(exec, parts, run);
  }

  void evaluate(const Exec& exec, std::int64_t rows, const float* observation, float* value) override {
    act(exec, rows, observation, nullptr, value);
  }

  void forward_backward(const Exec& exec, const float* observation, float* gradients, const Loss& loss) override {
    grow(train_, shards_, true);
    each(shard_rows_ * row_operations_ < kWorthAThread ? Exec{} : exec, shards_, [&](std::int64_t s) {
      CpuWorker& worker = *train_[static_cast<std::size_t>(s)];
      worker.begin(gradients + s * policy_.num_parameters);
      for (std::int64_t k = 0; k < chunks(); ++k) {
        Part<float> part;
        part.index = s * chunks() + k;
        part.begin = s * shard_rows_ + k * kChunk;
        part.end = std::min(part.begin + kChunk, (s + 1) * shard_rows_);
        worker.train({}, observation + part.begin * policy_.obs_dim, part, loss);
      }
      worker.end();
    });
  }

  std::int64_t parts() const override { return shards_ * chunks(); }
  std::int64_t part_rows() const override { return std::min(kChunk, shard_rows_); }
  void parameters_changed(const Exec&) override { nets_.pack(parameters_); }

 private:
  std::int64_t chunks() const { return (shard_rows_ + kChunk - 1) / kChunk; }

  void grow(std::vector<std::unique_ptr<CpuWorker>>& workers, std::int64_t count, bool training) const {
    while (static_cast<std::int64_t>(workers.size()) < count)
      workers.push_back(std::make_unique<CpuWorker>(policy_, nets_, training));
  }

  template <class F>
  static void each(const Exec& exec, std::int64_t count, const F& work) {
    if (count == 1 || exec.pool == nullptr)
      for (std::int64_t k = 0; k < count; ++k) work(k);
    else
      exec.pool->run(static_cast<int>(count), [&](int k) { work(k); });
  }

  PolicySpec policy_;
  const float* parameters_;
  std::int64_t shards_, shard_rows_;
  std::int64_t row_operations_ = 0;  // of one row forward
  CpuNets nets_;
  std::vector<std::unique_ptr<CpuWorker>> act_, train_;
};

}  // namespace

std::unique_ptr<Network<float>> make_cpu_network(const NetworkConfig& config, const float* parameters) {
  return std::make_unique<CpuNetwork>(config, parameters);
}

}  // namespace hotloop

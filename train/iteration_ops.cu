#include "train/iteration_ops.h"

#include <atomic>
#include <limits>

#include "sim/core/launch.h"

namespace hotloop {
namespace {

struct StartOp {
  UpdateSpec update;
  Control* control;
  SIM_HD void operator()(std::int64_t) const { begin_iteration(update, *control); }
};

SIM_HD void publish_fence() {
#ifdef __CUDA_ARCH__
  __threadfence_system();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

struct PublishOp {
  MetricsRing::Source source;
  MetricsRing::Slot* slots;

  SIM_HD double explained_variance() const {
    const VarianceTerms& v = *source.variance;
    const double n = source.samples;
    const double target = v.target_squares / n - (v.target / n) * (v.target / n);
    const double error = v.error_squares / n - (v.error / n) * (v.error / n);
    return target > 0 ? 1.0 - error / target : nan("");
  }
  SIM_HD double mean_std() const {
    if (source.log_std == nullptr) return nan("");
    double sum = 0;
    for (int k = 0; k < source.dim; ++k) sum += exp(static_cast<double>(source.log_std[k]));
    return sum / source.dim;
  }

  SIM_HD void operator()(std::int64_t) const {
    Control& c = *source.control;
    MetricsRing::Slot& slot = slots[c.iteration % MetricsRing::kDepth];
    const double n = c.updates > 0 ? static_cast<double>(c.updates) : 1.0;
    IterationMetrics m;
    m.iteration = c.iteration + 1;
    m.updates = c.updates;
    m.skipped_updates = c.skipped_updates;
    m.learning_rate = c.learning_rate;
    m.grad_norm = c.grad_norm_sum / n;
    m.explained_variance = explained_variance();
    m.std = mean_std();
    m.loss = {c.loss.policy_loss / n,   c.loss.value_loss / n, c.loss.entropy / n,
              c.loss.old_approx_kl / n, c.loss.approx_kl / n,  c.loss.clipfrac / n};
    m.episodes = *source.episodes;
    m.reward_terms = *source.reward_terms;
    slot.metrics = m;
    publish_fence();
    slot.sequence = c.iteration + 1;
    c.iteration += 1;
  }
};

}  // namespace

MetricsRing::MetricsRing(Device device) : slots_(device, kDepth, Memory::Kind::pinned) {}

void MetricsRing::clear() {
  for (std::int64_t i = 0; i < kDepth; ++i) slots_.data()[i].sequence = 0;
}

void MetricsRing::publish(const Exec& exec, const Source& source) const {
  parallel_for(exec, 1, PublishOp{source, slots_.data()}, 32);
}

std::optional<IterationMetrics> MetricsRing::poll(std::int64_t i) const {
  const Slot& slot = slots_.data()[i % kDepth];
  if (slot.sequence != i + 1) return std::nullopt;
  std::atomic_thread_fence(std::memory_order_acquire);
  return slot.metrics;
}

void start_iteration(const Exec& exec, const UpdateSpec& update, Control* control) {
  parallel_for(exec, 1, StartOp{update, control}, 32);
}

}  // namespace hotloop

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
  std::int64_t depth;

  SIM_HD double mean_std() const {
    if (source.log_std == nullptr) return nan("");
    double sum = 0;
    for (int k = 0; k < source.dim; ++k) sum += exp(static_cast<double>(source.log_std[k]));
    return sum / source.dim;
  }

  SIM_HD void operator()(std::int64_t) const {
    Control& c = *source.control;
    MetricsRing::Slot& slot = slots[c.iteration % depth];
    slot.metrics =
        iteration_metrics(c, *source.episodes, *source.reward_terms, *source.variance, source.samples, mean_std());
    publish_fence();
    slot.sequence = c.iteration + 1;
    c.iteration += 1;
  }
};

}  // namespace

MetricsRing::MetricsRing(Device device, std::int64_t depth, std::int64_t members)
    : depth_(depth),
      members_(members),
      slots_(device, static_cast<std::size_t>(depth * members), Memory::Kind::pinned) {}

void MetricsRing::clear() {
  for (std::int64_t i = 0; i < depth_ * members_; ++i) slots_.data()[i].sequence = 0;
}

void MetricsRing::publish(const Exec& exec, const Source& source) const {
  parallel_for(exec, 1, PublishOp{source, slots_.data(), depth_}, 32);
}

std::optional<IterationMetrics> MetricsRing::poll(std::int64_t i, std::int64_t member) const {
  const Slot& slot = slots_.data()[i % depth_ * members_ + member];
  if (slot.sequence != i + 1) return std::nullopt;
  std::atomic_thread_fence(std::memory_order_acquire);
  return slot.metrics;
}

void start_iteration(const Exec& exec, const UpdateSpec& update, Control* control) {
  parallel_for(exec, 1, StartOp{update, control}, 32);
}

}  // namespace hotloop

#include "train/update_ops.h"

#include "sim/core/launch.h"
#include "train/adam_step.h"
#include "train/column_sum.h"

namespace hotloop {
namespace {

constexpr std::int64_t kLossChunk = 256;  // one sample a lane: a minibatch fills the card
constexpr std::int64_t kNormChunk = 1024, kAdvantageChunk = 1024;
constexpr std::int64_t kWorthThreads = 1 << 16;  // parameters of a network

template <class Real>
struct GatherObservationOp {
  const Real* from;
  Real* to;
  const std::int32_t* index;
  std::int64_t dim;
  ObservationNormalizer::View view;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / dim, c = i % dim;
    const Real x = from[index[row] * dim + c];
    if (view.mean == nullptr)
      to[i] = x;
    else
      to[i] = clamp((x - Real(view.mean[c])) * Real(view.scale[c]), -Real(view.clip), Real(view.clip));
  }
};

template <class Real>
struct GatherTerm {
  Samples<Real> from;
  const std::int32_t* index;
  std::int64_t dim, choices;
  std::int64_t* action;
  std::uint8_t* mask;
  Real *sample, *log_prob, *value, *advantage, *value_target;

  SIM_HD AdvantageTerms operator()(std::int64_t i) const {
    const std::int64_t row = index[i];
    for (std::int64_t k = 0; k < dim; ++k) {
      if (from.sample != nullptr)
        sample[i * dim + k] = from.sample[row * dim + k];
      else
        action[i * dim + k] = from.action[row * dim + k];
    }
    if (from.mask != nullptr)
      for (std::int64_t k = 0; k < choices; ++k) mask[i * choices + k] = from.mask[row * choices + k];
    log_prob[i] = from.log_prob[row];
    value[i] = from.value[row];
    value_target[i] = from.value_target[row];
    const Real a = from.advantage[row];
    advantage[i] = a;
    return {static_cast<double>(a), static_cast<double>(a) * static_cast<double>(a)};
  }
};

// One sample's loss, its metrics and its gradients.
template <class Real>
struct LossTerm {
  UpdateSpec u;
  HeadView head;
  LossIo<Real> io;

  SIM_HD LossTerms operator()(std::int64_t r) const {
    const std::int64_t i = io.begin + r;
    const Samples<Real>& b = io.batch;
    const bool categorical = head.kind == HeadKind::categorical;
    const LossWeights<Real> weights = loss_weights<Real>(u);
    const Real scale = Real(1) / static_cast<Real>(io.total);
    Real advantage = b.advantage[i];
    if (normalises(u, io.total)) {
      const AdvantageScale a = advantage_scale(*io.advantage_terms, static_cast<double>(io.total));
      advantage = (advantage - Real(a.mean)) / (Real(a.deviation) + Real(1e-8));
    }
    const ActorTerms<Real> actor = actor_loss(
        weights, head, io.head + r * head.head_dim, io.log_std,
        b.mask == nullptr ? nullptr : b.mask + i * head.head_dim, categorical ? b.action + i * head.dim : nullptr,
        categorical ? nullptr : b.sample + i * head.dim, b.log_prob[i], advantage, scale, io.d_head + r * head.head_dim,
        io.d_log_std_rows == nullptr ? nullptr : io.d_log_std_rows + r * head.dim);
    Real d_value = 0;
    const Real value_loss = critic_loss(weights, io.value[r], b.value[i], b.value_target[i], d_value);
    io.d_value[r] = weights.value * d_value * scale;
    return {static_cast<double>(actor.loss),
            static_cast<double>(value_loss),
            static_cast<double>(actor.entropy),
            static_cast<double>(-actor.log_ratio),
            static_cast<double>(actor.ratio - Real(1) - actor.log_ratio),
            static_cast<double>(actor.clipped)};
  }
};

template <class Real>
struct RowsTerm {
  const Real* x;
  std::int64_t cols;
  SIM_HD Real operator()(std::int64_t r, std::int64_t c) const { return x[r * cols + c]; }
};

template <class Real>
struct AddShardOp {
  Real* total;
  const Real* shard;
  SIM_HD void operator()(std::int64_t i) const { total[i] += shard[i]; }
};

template <class Real>
struct SquareTerm {
  const Real* x;
  SIM_HD double operator()(std::int64_t i) const { return static_cast<double>(x[i]) * static_cast<double>(x[i]); }
};

struct PlanOp {
  UpdateSpec u;
  Control* control;
  const LossTerms* terms;
  std::int64_t parts;
  double rows;
  const double* norm_squared;
  AdamPlan* plan;

  SIM_HD void operator()(std::int64_t) const {
    LossTerms sum;
    for (std::int64_t k = 0; k < parts; ++k) sum = sum + terms[k];
    *plan = plan_step(u, *control, sum, rows, *norm_squared,
                      [](double beta, std::int64_t t) { return pow(beta, static_cast<double>(t)); });
  }
};

// Sums of a minibatch's advantages: of part `i` of them, and of a minibatch's parts.
struct AdvantagePart {
  const float* advantage;
  const std::int32_t* index;
  std::int64_t rows, parts;
  AdvantageTerms* out;
  struct Shared {
    AdvantageTerms lanes[kSumLanes];
  };
  template <class G>
  SIM_HD void operator()(const G& group, std::int64_t i, Shared& shared) const {
    const std::int64_t first = i % parts * kAdvantageChunk, left = rows - first;
    const std::int32_t* from = index + i / parts * rows + first;
    const auto count = static_cast<int>(left < kAdvantageChunk ? left : kAdvantageChunk);
    const AdvantageTerms sum = group.sum(count, shared.lanes, [&](int k) {
      const auto a = static_cast<double>(advantage[from[k]]);
      return AdvantageTerms{a, a * a};
    });
    group.once([&] { out[i] = sum; });
  }
};
struct AdvantageWhole {
  const AdvantageTerms* from;
  std::int64_t parts;
  AdvantageTerms* out;
  using Shared = AdvantagePart::Shared;
  template <class G>
  SIM_HD void operator()(const G& group, std::int64_t i, Shared& shared) const {
    const AdvantageTerms sum =
        group.sum(static_cast<int>(parts), shared.lanes, [&](int k) { return from[i * parts + k]; });
    group.once([&] { out[i] = sum; });
  }
};

}  // namespace

template <class Real>
Minibatch<Real>::Minibatch(Device device, std::int64_t rows, std::int64_t obs_dim, const HeadView& head, bool has_mask)
    : rows_(rows), obs_dim_(obs_dim), dim_(head.dim), choices_(has_mask ? head.head_dim : 0) {
  const auto n = static_cast<std::size_t>(rows);
  const auto components = n * static_cast<std::size_t>(head.dim);
  observation_ = Buffer<Real>(device, n * static_cast<std::size_t>(obs_dim));
  if (head.kind == HeadKind::categorical)
    action_ = Buffer<std::int64_t>(device, components);
  else
    sample_ = Buffer<Real>(device, components);
  mask_ = Buffer<std::uint8_t>(device, n * static_cast<std::size_t>(choices_));
  for (Buffer<Real>* b : {&log_prob_, &value_, &advantage_, &value_target_}) *b = Buffer<Real>(device, n);
  advantage_scratch_ = Buffer<AdvantageTerms>(device, static_cast<std::size_t>(tree_sum_scratch(rows, kLossChunk)));
  advantage_terms_ = Buffer<AdvantageTerms>(device, 1);
}

template <class Real>
void Minibatch<Real>::gather(const Exec& exec, const Samples<Real>& from, const std::int32_t* index,
                             const ObservationNormalizer::View& normalizer) {
  parallel_for(exec, rows_ * obs_dim_,
               GatherObservationOp<Real>{from.observation, observation_.data(), index, obs_dim_, normalizer});
  const GatherTerm<Real> term{from,
                              index,
                              dim_,
                              choices_,
                              action_.data(),
                              mask_.data(),
                              sample_.data(),
                              log_prob_.data(),
                              value_.data(),
                              advantage_.data(),
                              value_target_.data()};
  tree_sum(exec, rows_, term, advantage_scratch_.data(), advantage_terms_.data(), kLossChunk);
}

template <class Real>
Samples<Real> Minibatch<Real>::view() const {
  return {observation_.data(), action_.data(), sample_.data(),    choices_ > 0 ? mask_.data() : nullptr,
          log_prob_.data(),    value_.data(),  advantage_.data(), value_target_.data()};
}

std::int64_t loss_scratch(std::int64_t rows) { return tree_sum_scratch(rows, kLossChunk); }

template <class Real>
void ppo_loss(const Exec& exec, const UpdateSpec& update, const HeadView& head, const LossIo<Real>& io) {
  const std::int64_t rows = io.end - io.begin;
  tree_sum(exec, rows, LossTerm<Real>{update, head, io}, io.scratch, io.out, kLossChunk);
  if (io.d_log_std != nullptr)
    column_sum(exec, rows, head.dim, RowsTerm<Real>{io.d_log_std_rows, head.dim}, io.column_scratch, io.d_log_std);
}

void sum_loss_terms(const Exec& exec, std::int64_t n, const LossTerms* terms, LossTerms* scratch, LossTerms* out) {
  tree_sum(exec, n, PartialSum<LossTerms>{terms}, scratch, out);
}

template <class Real>
Adam<Real>::Adam(Device device, std::int64_t num_parameters)
    : n_(num_parameters),
      moment1_(device, static_cast<std::size_t>(num_parameters)),
      moment2_(device, static_cast<std::size_t>(num_parameters)),
      norm_scratch_(device, static_cast<std::size_t>(tree_sum_scratch(num_parameters, kNormChunk) + 1)),
      plan_(device, sizeof(AdamPlan) / sizeof(double)) {}

template <class Real>
void Adam<Real>::step(const Exec& given, const UpdateSpec& update, Control* control, std::int64_t shards,
                      std::int64_t parts, const LossTerms* terms, std::int64_t rows, Real* gradients,
                      Real* parameters) {
  // small networks on the CPU: another thread would wake up later than this one is done
  const Exec exec = !given.device.is_cuda() && n_ < kWorthThreads ? Exec{given.device} : given;
  for (std::int64_t s = 1; s < shards; ++s) parallel_for(exec, n_, AddShardOp<Real>{gradients, gradients + s * n_});
  double* norm = norm_scratch_.data();
  tree_sum(exec, n_, SquareTerm<Real>{gradients}, norm + 1, norm, kNormChunk);
  auto* plan = reinterpret_cast<AdamPlan*>(plan_.data());
  parallel_for(exec, 1, PlanOp{update, control, terms, parts, static_cast<double>(rows), norm, plan});
  parallel_for(exec, n_, adam_op<Real>(update, plan, gradients, parameters, moment1_.data(), moment2_.data()));
}

AdvantageSums::AdvantageSums(Device device, std::int64_t rows, std::int64_t minibatches)
    : rows_(rows), minibatches_(minibatches), parts_((rows + kAdvantageChunk - 1) / kAdvantageChunk) {
  sums_ = Buffer<AdvantageTerms>(device, static_cast<std::size_t>(minibatches));
  scratch_ = Buffer<AdvantageTerms>(device, static_cast<std::size_t>(minibatches * parts_));
}

void AdvantageSums::fill(const Exec& exec, const float* advantage, const std::int32_t* index) {
  parallel_groups<kSumLanes>(exec, minibatches_ * parts_,
                             AdvantagePart{advantage, index, rows_, parts_, scratch_.data()});
  parallel_groups<kSumLanes>(exec, minibatches_, AdvantageWhole{scratch_.data(), parts_, sums_.data()});
}

template class Minibatch<float>;
template class Minibatch<double>;
template void ppo_loss<float>(const Exec&, const UpdateSpec&, const HeadView&, const LossIo<float>&);
template void ppo_loss<double>(const Exec&, const UpdateSpec&, const HeadView&, const LossIo<double>&);
template class Adam<float>;
template class Adam<double>;

}  // namespace hotloop

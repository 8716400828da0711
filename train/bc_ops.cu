#include "train/bc_ops.h"

#include "sim/core/launch.h"
#include "train/column_sum.h"
#include "train/shuffle.h"

namespace hotloop {
namespace {

constexpr std::int64_t kLossChunk = 256;
// An expert without noise would drive deviations to 0 and the likelihood to infinity.
constexpr double kLeastLogStd = -5.0;
constexpr float kMostSquashed = 0.999999f;

template <class Action>
struct DrawOp {
  const float* observation;
  const Action* action;
  std::int64_t rows, count, obs_dim, dim;
  std::uint64_t seed;
  const Control* control;
  float* to_observation;
  Action* to_action;

  SIM_HD void operator()(std::int64_t j) const {
    const std::int64_t row = drawn_row(seed, control->iteration * count + j, rows);
    for (std::int64_t k = 0; k < obs_dim; ++k) to_observation[j * obs_dim + k] = observation[row * obs_dim + k];
    for (std::int64_t k = 0; k < dim; ++k) to_action[j * dim + k] = action[row * dim + k];
  }
};

struct SampleOp {
  HeadView head;
  const float* action;
  float* sample;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t k = i % head.dim;
    float x = action[i];
    if (head.kind == HeadKind::squashed_gaussian) {
      const float unit = 2.0f * (x - head.low[k]) / (head.high[k] - head.low[k]) - 1.0f;
      x = atanhf(clamp(unit, -kMostSquashed, kMostSquashed));
    }
    sample[i] = x;
  }
};

template <class Real>
struct BcTerm {
  HeadView head;
  LossIo<Real> io;

  // An action at its bound says of the mean only that it is there or beyond, where it is clipped.
  SIM_HD Real wanted(Real mean, Real sample, int k) const {
    if (head.kind != HeadKind::gaussian) return sample;
    const bool beyond =
        (sample >= Real(head.high[k]) && mean > sample) || (sample <= Real(head.low[k]) && mean < sample);
    return beyond ? mean : sample;
  }

  // Returns the log-likelihood.
  SIM_HD Real gaussian(const Real* row, const Real* sample, Real scale, Real* d_row, Real* d_log_std) const {
    Real value = 0;
    for (int k = 0; k < head.dim; ++k) {
      const Real ls = log_std_at(head, row, io.log_std, k);
      const Real error = row[k] - wanted(row[k], sample[k], k);
      const Real z = error * exp(-ls);
      value -= Real(0.5) * z * z + ls + Real(kHalfLog2Pi);
      Real d = (Real(1) - z * z) * scale;
      if (ls <= Real(kLeastLogStd) && d > Real(0)) d = Real(0);
      d_row[k] = error * scale;
      if (head.state_std)
        d_row[head.dim + k] = d;
      else
        d_log_std[k] = d;
    }
    return value;
  }

  SIM_HD LossTerms operator()(std::int64_t r) const {
    const std::int64_t i = io.begin + r;
    const Real* row = io.head + r * head.head_dim;
    Real* d_row = io.d_head + r * head.head_dim;
    const Real scale = Real(1) / static_cast<Real>(io.total);
    LogProb<Real> now;
    if (head.kind == HeadKind::categorical) {
      const std::int64_t* action = io.batch.action + i * head.dim;
      now = log_prob_categorical<Real>(head, row, nullptr, action);
      backward_categorical<Real>(head, row, nullptr, action, -scale, Real(0), d_row);
    } else {
      const Real* sample = io.batch.sample + i * head.dim;
      now = log_prob_gaussian(head, row, io.log_std, sample);
      const Real value = gaussian(row, sample, scale, d_row,
                                  io.d_log_std_rows == nullptr ? nullptr : io.d_log_std_rows + r * head.dim);
      if (head.kind == HeadKind::gaussian) now.value = value;
    }
    io.d_value[r] = Real(0);
    return {static_cast<double>(-now.value), 0.0, static_cast<double>(now.entropy), 0.0, 0.0, 0.0};
  }
};

template <class Real>
struct RowsOf {
  const Real* x;
  std::int64_t cols;
  SIM_HD Real operator()(std::int64_t r, std::int64_t c) const { return x[r * cols + c]; }
};

}  // namespace

void draw_steps(const Exec& exec, const ResidentSteps& from, std::uint64_t seed, const Control* control,
                std::int64_t count, std::int64_t obs_dim, const HeadView& head, float* observation, void* action) {
  const auto draw = [&]<class Action>(Action* to) {
    parallel_for(exec, count,
                 DrawOp<Action>{from.observation, static_cast<const Action*>(from.action), from.rows, count, obs_dim,
                                head.dim, seed, control, observation, to});
  };
  if (head.kind == HeadKind::categorical)
    draw(static_cast<std::int64_t*>(action));
  else
    draw(static_cast<float*>(action));
}

void samples_of_actions(const Exec& exec, std::int64_t count, const HeadView& head, const float* action,
                        float* sample) {
  parallel_for(exec, count * head.dim, SampleOp{head, action, sample});
}

template <class Real>
void bc_loss(const Exec& exec, const HeadView& head, const LossIo<Real>& io) {
  const std::int64_t rows = io.end - io.begin;
  tree_sum(exec, rows, BcTerm<Real>{head, io}, io.scratch, io.out, kLossChunk);
  if (io.d_log_std != nullptr)
    column_sum(exec, rows, head.dim, RowsOf<Real>{io.d_log_std_rows, head.dim}, io.column_scratch, io.d_log_std);
}

template void bc_loss<float>(const Exec&, const HeadView&, const LossIo<float>&);
template void bc_loss<double>(const Exec&, const HeadView&, const LossIo<double>&);

}  // namespace hotloop

#include "train/net_ops.h"

#include "train/activation.h"
#include "train/column_sum.h"

namespace hotloop {
namespace {

template <class S>
struct BiasActivationOp {
  std::int64_t cols;
  S* x;
  const Compute<S>* bias;
  Activation a;
  S* pre;
  SIM_HD void operator()(std::int64_t i) const {
    const Compute<S> z = static_cast<Compute<S>>(x[i]) + bias[i % cols];
    if (pre != nullptr) pre[i] = S(z);
    x[i] = S(activate(a, z));
  }
};

template <class S>
struct BiasOutputOp {
  std::int64_t cols;
  const S* x;
  const Compute<S>* bias;
  Compute<S>* out;
  SIM_HD void operator()(std::int64_t i) const { out[i] = static_cast<Compute<S>>(x[i]) + bias[i % cols]; }
};

template <class S>
struct ActivationBackwardTerm {
  std::int64_t cols;
  S* d;
  const S *h, *pre;
  Activation a;
  SIM_HD Compute<S> operator()(std::int64_t r, std::int64_t c) const {
    using R = Compute<S>;
    const std::int64_t i = r * cols + c;
    const R x = pre == nullptr ? R(0) : static_cast<R>(pre[i]);
    const R g = static_cast<R>(d[i]) * slope(a, static_cast<R>(h[i]), x);
    d[i] = S(g);
    return g;
  }
};

template <class S>
struct OutputBackwardTerm {
  std::int64_t cols;
  const Compute<S>* d_out;
  S* d;
  SIM_HD Compute<S> operator()(std::int64_t r, std::int64_t c) const {
    const Compute<S> g = d_out[r * cols + c];
    d[r * cols + c] = S(g);
    return g;
  }
};

template <class From, class To>
struct ConvertOp {
  const From* from;
  To* to;
  SIM_HD void operator()(std::int64_t i) const { to[i] = To(static_cast<Compute<From>>(from[i])); }
};

}  // namespace

std::int64_t bias_scratch(std::int64_t rows, std::int64_t cols) { return column_sum_scratch(rows, cols); }

template <class S>
void bias_activation(const Exec& exec, std::int64_t rows, std::int64_t cols, S* x, const Compute<S>* bias, Activation a,
                     S* pre) {
  parallel_for(exec, rows * cols, BiasActivationOp<S>{cols, x, bias, a, pre}, 256);
}

template <class S>
void bias_output(const Exec& exec, std::int64_t rows, std::int64_t cols, const S* x, const Compute<S>* bias,
                 Compute<S>* out) {
  parallel_for(exec, rows * cols, BiasOutputOp<S>{cols, x, bias, out});
}

template <class S>
void activation_backward(const Exec& exec, std::int64_t rows, std::int64_t cols, S* d, const S* h, const S* pre,
                         Activation a, Compute<S>* bias_grad, Compute<S>* scratch) {
  column_sum(exec, rows, cols, ActivationBackwardTerm<S>{cols, d, h, pre, a}, scratch, bias_grad);
}

template <class S>
void output_backward(const Exec& exec, std::int64_t rows, std::int64_t cols, const Compute<S>* d_out, S* d,
                     Compute<S>* bias_grad, Compute<S>* scratch) {
  column_sum(exec, rows, cols, OutputBackwardTerm<S>{cols, d_out, d}, scratch, bias_grad);
}

template <class From, class To>
void convert(const Exec& exec, std::int64_t n, const From* from, To* to) {
  parallel_for(exec, n, ConvertOp<From, To>{from, to}, 256);
}

#define INSTANTIATE(S)                                                                                              \
  template void bias_activation<S>(const Exec&, std::int64_t, std::int64_t, S*, const Compute<S>*, Activation, S*); \
  template void bias_output<S>(const Exec&, std::int64_t, std::int64_t, const S*, const Compute<S>*, Compute<S>*);  \
  template void activation_backward<S>(const Exec&, std::int64_t, std::int64_t, S*, const S*, const S*, Activation, \
                                       Compute<S>*, Compute<S>*);                                                   \
  template void output_backward<S>(const Exec&, std::int64_t, std::int64_t, const Compute<S>*, S*, Compute<S>*,     \
                                   Compute<S>*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Bf16)
#undef INSTANTIATE
template void convert<float, Bf16>(const Exec&, std::int64_t, const float*, Bf16*);
template void convert<Bf16, float>(const Exec&, std::int64_t, const Bf16*, float*);
template void convert<float, float>(const Exec&, std::int64_t, const float*, float*);
template void convert<float, double>(const Exec&, std::int64_t, const float*, double*);

}  // namespace hotloop

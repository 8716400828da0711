// The parts of a network that are not matrix products: bias, activation and their backward, in one pass each. S is how
// values are stored (float, double, Bf16); biases and gradients are Compute<S>. All pointers on exec's device, matrices
// row-major [rows, cols].
#pragma once
#include <cstdint>

#include "sim/core/device.h"
#include "train/bf16.h"
#include "train/policy_spec.h"

namespace hotloop {

// x = activation(x + bias) in place. silu keeps x + bias in `pre` for the backward pass; others may pass null.
template <class S>
void bias_activation(const Exec& exec, std::int64_t rows, std::int64_t cols, S* x, const Compute<S>* bias, Activation a,
                     S* pre);

// out = x + bias, for the last layer of a net (out may be x where S is Compute<S>).
template <class S>
void bias_output(const Exec& exec, std::int64_t rows, std::int64_t cols, const S* x, const Compute<S>* bias,
                 Compute<S>* out);

// d = d * activation'(...) in place, from the activation's output h (and `pre` for silu); bias_grad[c] = sum over rows
// of the result. scratch: bias_scratch(rows, cols) elements.
template <class S>
void activation_backward(const Exec& exec, std::int64_t rows, std::int64_t cols, S* d, const S* h, const S* pre,
                         Activation a, Compute<S>* bias_grad, Compute<S>* scratch);

// The same for a layer without activation whose gradient arrives as Compute<S>: stored in d as S for the products.
template <class S>
void output_backward(const Exec& exec, std::int64_t rows, std::int64_t cols, const Compute<S>* d_out, S* d,
                     Compute<S>* bias_grad, Compute<S>* scratch);

std::int64_t bias_scratch(std::int64_t rows, std::int64_t cols);

// to[i] = from[i] as another type; accumulate: to[i] += from[i].
template <class From, class To>
void convert(const Exec& exec, std::int64_t n, const From* from, To* to);

}  // namespace hotloop

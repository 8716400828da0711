#include "train/fused/cpu_pass.h"

#include <cstring>

#include "train/fused/cpu_gemm.h"
#include "train/fused/float8.h"

namespace hotloop {
namespace {

std::int64_t whole(std::int64_t cols) { return (cols + kLanes - 1) / kLanes * kLanes; }

Buffer<float> matrix(std::int64_t rows, std::int64_t cols) {
  return Buffer<float>({}, static_cast<std::size_t>(rows * row_stride(cols)));
}

// Calls f with the activation as a constant.
template <class F>
void with_activation(Activation a, const F& f) {
  switch (a) {
    case Activation::tanh:
      return f(std::integral_constant<Activation, Activation::tanh>());
    case Activation::relu:
      return f(std::integral_constant<Activation, Activation::relu>());
    case Activation::elu:
      return f(std::integral_constant<Activation, Activation::elu>());
    case Activation::silu:
      return f(std::integral_constant<Activation, Activation::silu>());
    case Activation::none:
      return f(std::integral_constant<Activation, Activation::none>());
  }
}

}  // namespace

CpuLayers::CpuLayers(const std::vector<LayerSpec>& layers, bool training, bool input_gradient) : layers_(layers) {
  std::int64_t total = 0;
  const auto take = [&](std::int64_t floats) {
    const std::int64_t at = total;
    total += whole(floats);
    return at;
  };
  for (const LayerSpec& l : layers_) {
    const bool backward = training && (input_gradient || !at_.empty());
    Offsets o{};
    o.forward = take(packed_size(l.in, l.out));
    o.backward = backward ? take(packed_size(l.out, l.in)) : -1;
    o.bias = take(l.out);
    at_.push_back(o);
  }
  packed_ = Buffer<float>({}, static_cast<std::size_t>(total));
}

void CpuLayers::pack(const float* parameters) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerSpec& l = layers_[i];
    const float* const weight = parameters + l.weight;  // [out, in]
    hotloop::pack(l.in, l.out, weight, 1, l.in, packed_.data() + at_[i].forward);
    if (at_[i].backward >= 0) hotloop::pack(l.out, l.in, weight, l.in, 1, packed_.data() + at_[i].backward);
    std::memcpy(packed_.data() + at_[i].bias, parameters + l.bias, static_cast<std::size_t>(l.out) * sizeof(float));
  }
}

CpuPass::CpuPass(const CpuLayers& layers, std::int64_t max_rows, bool training) : layers_(layers) {
  for (std::int64_t i = 0; i < layers.size(); ++i) {
    const LayerSpec& l = layers.layer(i);
    Work w;
    w.out = matrix(max_rows, l.out);
    if (l.activation == Activation::silu) w.pre = matrix(max_rows, l.out);
    if (training) {
      w.d = matrix(max_rows, l.out);
      w.weight_sums = matrix(l.out, l.in);
      w.bias_sums = matrix(1, l.out);
      w.chunk_bias_sums = matrix(1, l.out);
    }
    work_.push_back(std::move(w));
  }
}

void CpuPass::activate(std::int64_t rows, const LayerSpec& layer, Work& work) const {
  const std::int64_t stride = row_stride(layer.out), width = whole(layer.out);
  with_activation(layer.activation, [&](auto a) {
    if constexpr (a() == Activation::none) return;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; c += kLanes) {
        const std::int64_t i = r * stride + c;
        const Float8 x = load8(work.out.data() + i);
        if constexpr (a() == Activation::silu) store8(work.pre.data() + i, x);
        store8(work.out.data() + i, activate8<a()>(x));
      }
  });
}

const float* CpuPass::forward(std::int64_t rows, const float* x) {
  for (std::int64_t i = 0; i < layers_.size(); ++i) {
    const LayerSpec& l = layers_.layer(i);
    Work& w = work_[static_cast<std::size_t>(i)];
    multiply(rows, l.out, l.in, x, layers_.forward_weights(i), layers_.bias(i), w.out.data());
    activate(rows, l, w);
    x = w.out.data();
  }
  return x;
}

void CpuPass::activation_backward(std::int64_t rows, const LayerSpec& layer, Work& work) const {
  const std::int64_t stride = row_stride(layer.out), width = whole(layer.out);
  float* const sums = work.chunk_bias_sums.data();
  std::memset(sums, 0, work.chunk_bias_sums.bytes());
  with_activation(layer.activation, [&](auto a) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; c += kLanes) {
        const std::int64_t i = r * stride + c;
        Float8 d = load8(work.d.data() + i);
        if constexpr (a() != Activation::none) {
          const Float8 pre = a() == Activation::silu ? load8(work.pre.data() + i) : all8(0.0f);
          d = d * slope8<a()>(load8(work.out.data() + i), pre);
          store8(work.d.data() + i, d);
        }
        store8(sums + c, load8(sums + c) + d);
      }
  });
  // a chunk's sum first, then the sum of the chunks: small terms do not vanish beside a large total
  for (std::int64_t c = 0; c < width; c += kLanes)
    store8(work.bias_sums.data() + c, load8(work.bias_sums.data() + c) + load8(sums + c));
}

void CpuPass::backward(std::int64_t rows, const float* x, float* d_x, bool accumulate) {
  for (std::int64_t i = layers_.size() - 1; i >= 0; --i) {
    const LayerSpec& l = layers_.layer(i);
    Work& w = work_[static_cast<std::size_t>(i)];
    activation_backward(rows, l, w);
    Work* const below = i == 0 ? nullptr : &work_[static_cast<std::size_t>(i - 1)];
    const float* const input = below == nullptr ? x : below->out.data();
    multiply_transposed_add(l.out, l.in, rows, w.d.data(), input, w.weight_sums.data());
    float* const d_input = below == nullptr ? d_x : below->d.data();
    if (d_input == nullptr) continue;
    if (below == nullptr && accumulate)
      multiply_add(rows, l.in, l.out, w.d.data(), layers_.backward_weights(i), d_input);
    else
      multiply(rows, l.in, l.out, w.d.data(), layers_.backward_weights(i), nullptr, d_input);
  }
}

void CpuPass::clear_gradients() {
  for (Work& w : work_)
    for (Buffer<float>* sums : {&w.weight_sums, &w.bias_sums}) std::memset(sums->data(), 0, sums->bytes());
}

void CpuPass::write_gradients(float* gradients) const {
  for (std::int64_t i = 0; i < layers_.size(); ++i) {
    const LayerSpec& l = layers_.layer(i);
    const Work& w = work_[static_cast<std::size_t>(i)];
    const auto copy = [](std::int64_t n, const float* from, float* to) {
      std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
    };
    for (std::int64_t o = 0; o < l.out; ++o)
      copy(l.in, w.weight_sums.data() + o * row_stride(l.in), gradients + l.weight + o * l.in);
    copy(l.out, w.bias_sums.data(), gradients + l.bias);
  }
}

}  // namespace hotloop

#include "train/generic/net_pass.h"

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>

#include <type_traits>

namespace hotloop {
namespace {

template <class T>
constexpr at::ScalarType scalar_type() {
  if constexpr (std::is_same_v<T, float>)
    return at::kFloat;
  else if constexpr (std::is_same_v<T, double>)
    return at::kDouble;
  else {
    static_assert(std::is_same_v<T, Bf16>);
    return at::kBFloat16;
  }
}

at::TensorOptions options(at::ScalarType type, Device device) {
  const auto kind = device.is_cuda() ? at::kCUDA : at::kCPU;
  return at::TensorOptions().dtype(type).device(kind,
                                                device.is_cuda() ? static_cast<c10::DeviceIndex>(device.index) : -1);
}

template <class T>
T* pointer(const at::Tensor& t) {
  return t.defined() ? static_cast<T*>(t.data_ptr()) : nullptr;
}

}  // namespace

template <class T>
at::Tensor wrap(const T* data, at::IntArrayRef shape, Device device) {
  return at::from_blob(const_cast<T*>(data), shape, options(scalar_type<T>(), device));
}

template <class T>
at::Tensor make_tensor(at::IntArrayRef shape, Device device) {
  return at::empty(shape, options(scalar_type<T>(), device));
}

template <class S>
TorchNetPass<S>::TorchNetPass(std::vector<LayerSpec> layers, Device device, std::int64_t rows, bool training)
    : layers_(std::move(layers)), rows_(rows) {
  std::int64_t widest = 1;
  for (const LayerSpec& l : layers_) {
    Work w;
    w.out = make_tensor<S>({rows, l.out}, device);
    if (l.activation == Activation::silu) w.pre = make_tensor<S>({rows, l.out}, device);
    if (training) {
      w.d = make_tensor<S>({rows, l.out}, device);
      if (!std::is_same_v<S, R>) w.weight_grad = make_tensor<S>({l.out, l.in}, device);
    }
    widest = std::max(widest, l.out);
    work_.push_back(std::move(w));
  }
  if (training) scratch_ = make_tensor<R>({bias_scratch(rows, widest)}, device);
}

template <class S>
at::Tensor TorchNetPass<S>::forward(const Exec& exec, const Weights<S>& weights, const at::Tensor& x, R* out) {
  at::Tensor input = x;
  const std::int64_t rows = x.size(0);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerSpec& l = layers_[i];
    at::Tensor y = rows == rows_ ? work_[i].out : work_[i].out.narrow(0, 0, rows);
    const at::Tensor weight = wrap(weights.products + l.weight, {l.out, l.in}, exec.device);
    const R* bias = weights.exact + l.bias;
    if (l.activation == Activation::none && out != nullptr) {
      if constexpr (std::is_same_v<S, R>) y = wrap(out, {rows, l.out}, exec.device);
      at::mm_out(y, input, weight.t());
      bias_output(exec, rows, l.out, pointer<S>(y), bias, out);
    } else {
      at::mm_out(y, input, weight.t());
      bias_activation(exec, rows, l.out, pointer<S>(y), bias, l.activation, pointer<S>(work_[i].pre));
    }
    input = y;
  }
  return input;
}

template <class S>
void TorchNetPass<S>::backward(const Exec& exec, const Weights<S>& weights, const at::Tensor& x, const R* d_out,
                               R* gradients, at::Tensor* d_x) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const LayerSpec& l = layers_[i];
    Work& w = work_[i];
    R* bias_grad = gradients + l.bias;
    if (l.activation == Activation::none)
      output_backward(exec, rows_, l.out, d_out, pointer<S>(w.d), bias_grad, pointer<R>(scratch_));
    else
      activation_backward(exec, rows_, l.out, pointer<S>(w.d), pointer<S>(w.out), pointer<S>(w.pre), l.activation,
                          bias_grad, pointer<R>(scratch_));
    const at::Tensor& input = i == 0 ? x : work_[i - 1].out;
    if constexpr (std::is_same_v<S, R>) {
      at::Tensor weight_grad = wrap(gradients + l.weight, {l.out, l.in}, exec.device);
      at::mm_out(weight_grad, w.d.t(), input);
    } else {
      at::mm_out(w.weight_grad, w.d.t(), input);
      convert(exec, l.out * l.in, pointer<S>(w.weight_grad), gradients + l.weight);
    }
    at::Tensor* d_input = i == 0 ? d_x : &work_[i - 1].d;
    if (d_input == nullptr) continue;
    const at::Tensor weight = wrap(weights.products + l.weight, {l.out, l.in}, exec.device);
    at::mm_out(*d_input, w.d, weight);
  }
}

template class TorchNetPass<float>;
template class TorchNetPass<double>;
template class TorchNetPass<Bf16>;
template at::Tensor wrap<float>(const float*, at::IntArrayRef, Device);
template at::Tensor wrap<double>(const double*, at::IntArrayRef, Device);
template at::Tensor wrap<Bf16>(const Bf16*, at::IntArrayRef, Device);
template at::Tensor make_tensor<float>(at::IntArrayRef, Device);
template at::Tensor make_tensor<double>(at::IntArrayRef, Device);
template at::Tensor make_tensor<Bf16>(at::IntArrayRef, Device);

}  // namespace hotloop

#include "train/fused/layered_ops.h"

#include <stdexcept>

#include "sim/core/launch.h"

#ifdef __CUDACC__
#include "train/fused/activate.h"
#include "train/fused/matmul.h"
#endif

namespace hotloop {

int layer_splits(std::int64_t rows) {
  // each split's sums should be worth its way through memory; the number depends on the rows alone, and so do the bits
  const std::int64_t splits = rows / 1024;
  return static_cast<int>(splits < 1 ? 1 : (splits < kMostSplits ? splits : kMostSplits));
}

// A parameter a lane: its parts come from memory, many at once.
constexpr std::int64_t kSquareChunk = 256;

std::int64_t gradient_squares(std::int64_t n) { return (n + kSquareChunk - 1) / kSquareChunk; }

#ifdef __CUDACC__
namespace {

// A layer of more outputs (inputs, outputs) than a narrow tile takes gets a wide one.
constexpr int kNarrow = 32, kMiddle = 64, kWide = 128;

template <class T>
__device__ __forceinline__ Matrix<T> matrix(const void* data, std::int64_t rows, int columns) {
  return {static_cast<const T*>(data), rows, columns, columns};
}

// f with the activation as a type: code that all elements pass should not ask for it at each.
template <class F>
__device__ __forceinline__ void with_activation(Activation a, const F& f) {
  switch (a) {
    case Activation::tanh:
      return f(std::integral_constant<Activation, Activation::tanh>{});
    case Activation::relu:
      return f(std::integral_constant<Activation, Activation::relu>{});
    case Activation::elu:
      return f(std::integral_constant<Activation, Activation::elu>{});
    case Activation::silu:
      return f(std::integral_constant<Activation, Activation::silu>{});
    default:
      return f(std::integral_constant<Activation, Activation::none>{});
  }
}

__device__ __forceinline__ float bias_of(const float* parameters, const LayerSizes& s, int o) {
  return o < s.out ? parameters[s.bias_at(o)] : 0.0f;
}

// A tile of results on its way to global memory: lanes put pairs, then all threads write 16 bytes each.
template <int kM, int kN, int kThreads>
struct Staged {
  static constexpr int kChunks = kN / 8, kBytes = 16 * kM * kChunks;
  std::byte* memory;
  __device__ __forceinline__ std::uint32_t& at(int row, int column) const {
    return *reinterpret_cast<std::uint32_t*>(memory + 16 * chunk_at<kChunks>(row, column / 8) + column % 8 * 2);
  }
  template <class T>
  __device__ __forceinline__ void write(T* to, std::int64_t rows, int columns, std::int64_t m, int n) const {
    constexpr int kSteps = kThreads / kChunks;  // rows at a time
    static_assert(kSteps % 8 == 0);
    const int r = static_cast<int>(threadIdx.x) / kChunks, c = static_cast<int>(threadIdx.x) % kChunks;
    if (n + 8 * c >= columns) return;
    const std::byte* from = memory + 16 * chunk_at<kChunks>(r, c);
    T* at = to + (m + r) * columns + n + 8 * c;
    const int left = static_cast<int>(rows - m < kM ? rows - m : kM) - r;
#pragma unroll
    for (int i = 0; i < kM; i += kSteps) {
      if (i < left) *reinterpret_cast<uint4*>(at) = *reinterpret_cast<const uint4*>(from + 16 * kChunks * i);
      at += kSteps * columns;
    }
  }
};

// Where a block's tile begins; tiles of the same rows are next to each other.
struct TilePlace {
  std::int64_t m;
  int n;
};
template <int kM, int kN>
__device__ __forceinline__ TilePlace tile_place(int columns) {
  const int across = (columns + kN - 1) / kN, i = static_cast<int>(blockIdx.x);
  return {static_cast<std::int64_t>(i / across) * kM, i % across * kN};
}
template <int kM, int kN>
dim3 tile_grid(std::int64_t rows, int columns, int nets) {
  return dim3(grid_size((rows + kM - 1) / kM * ((columns + kN - 1) / kN), 1), static_cast<unsigned>(nets));
}

template <class T, int kN>
struct ForwardOp {
  using Product = Matmul<T, false, false, kWide, kN, kN == kWide ? 64 : 32, kN == kNarrow ? 16 : 32>;
  using Out = Staged<kWide, kN, Product::kThreads>;
  static constexpr int kThreads = Product::kThreads, kMinBlocks = 2, kRingBytes = Product::kRingBytes;
  static constexpr int kBytes = kRingBytes > Out::kBytes ? kRingBytes : Out::kBytes;
  LayerForward layer;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    const LayerForward::Net& net = layer.net[blockIdx.y];
    const int in = layer_stride(net.size.in), out = layer_stride(net.size.out);
    const TilePlace at = tile_place<kWide, kN>(out);
    if (at.m >= layer.rows) return;
    Product product;
    product.run(shared_address(memory), matrix<T>(net.x, layer.rows, in), at.m, matrix<T>(net.w, out, in), at.n, 0, in,
                [&](int column) { return bias_of(layer.parameters, net.size, at.n + column); });
    const Out staged{memory};
    const auto write = [&](auto activation, void* to) {
      constexpr Activation kActivation = decltype(activation)::value;
      product.each([&](int row, int column, float v0, float v1) {
        staged.at(row, column) = T::pack(fast_activate<kActivation, true>(v0), fast_activate<kActivation, true>(v1));
      });
      __syncthreads();
      staged.write(static_cast<T*>(to), layer.rows, out, at.m, at.n);
    };
    if (net.input != nullptr) {
      write(std::integral_constant<Activation, Activation::none>{}, net.input);
      __syncthreads();
    }
    with_activation(layer.activation, [&](auto activation) { write(activation, net.y); });
  }
};

template <class T>
struct HeadOp {
  using Product = Matmul<T, false, false, kWide, kNarrow, 16, kNarrow>;
  static constexpr int kThreads = Product::kThreads, kMinBlocks = 2, kBytes = Product::kRingBytes;
  HeadForward layer;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    const HeadForward::Net& net = layer.net[blockIdx.y];
    const int in = layer_stride(net.size.in), out = layer_stride(net.size.out);
    const TilePlace at = tile_place<kWide, kNarrow>(out);
    if (at.m >= layer.rows) return;
    Product product;
    product.run(shared_address(memory), matrix<T>(net.x, layer.rows, in), at.m, matrix<T>(net.w, out, in), at.n, 0, in,
                [&](int column) { return bias_of(layer.parameters, net.size, at.n + column); });
    const auto put_one = [&](std::int64_t row, int column, float v) {
      if (row >= layer.rows || column >= net.size.out) return;
      if (column >= net.actor && net.value != nullptr) net.value[row] = v;
      if (column < net.actor && net.head != nullptr) net.head[row * net.actor + column] = v;
    };
    product.each([&](int row, int column, float v0, float v1) {
      put_one(at.m + row, at.n + column, v0);
      put_one(at.m + row, at.n + column + 1, v1);
    });
  }
};

template <class T, int kN>
struct BackwardOp {
  using Product = Matmul<T, false, true, kWide, kN, kN == kWide ? 64 : 32, 32>;
  using Tile = Staged<kWide, kN, Product::kThreads>;
  static constexpr int kThreads = Product::kThreads, kMinBlocks = 2, kBytes = Product::kRingBytes + Tile::kBytes;
  LayerBackward layer;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    const LayerBackward::Net& net = layer.net[blockIdx.y];
    const int in = layer_stride(net.size.in), out = layer_stride(net.size.out);
    const TilePlace at = tile_place<kWide, kN>(in);
    if (at.m >= layer.rows) return;
    const Tile tile{memory + Product::kRingBytes};
    // on its way while the product is made
    TileCopy<kWide, Tile::kChunks, kThreads, T>(matrix<T>(net.known, layer.rows, in), at.m,
                                                at.n)(shared_address(tile.memory));
    Product product;
    product.run(shared_address(memory), matrix<T>(net.d_y, layer.rows, out), at.m, matrix<T>(net.w, out, in), at.n, 0,
                out, [](int) { return 0.0f; });
    with_activation(layer.activation, [&](auto activation) {
      constexpr Activation kActivation = decltype(activation)::value;
      product.each([&](int row, int column, float v0, float v1) {
        std::uint32_t& both = tile.at(row, column);
        const float y0 = T::unpack(static_cast<std::uint16_t>(both));
        const float y1 = T::unpack(static_cast<std::uint16_t>(both >> 16));
        both = T::pack(v0 * fast_slope<kActivation, true>(y0), v1 * fast_slope<kActivation, true>(y1));
      });
    });
    __syncthreads();
    tile.write(static_cast<T*>(net.d_x), layer.rows, in, at.m, at.n);
  }
};

template <class T, int kM>
struct GradientOp {
  using Product = Matmul<T, true, true, kM, kWide, kM == kNarrow ? 16 : 64, 32>;
  static constexpr int kThreads = Product::kThreads, kMinBlocks = 2, kBytes = Product::kRingBytes;
  LayerGradient layer;
  std::int64_t split_rows;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    const LayerGradient::Net& net = layer.net[blockIdx.y];
    const int in = layer_stride(net.size.in), out = layer_stride(net.size.out);
    const TilePlace at = tile_place<kM, kWide>(in);
    if (at.m >= out) return;
    const std::int64_t begin = blockIdx.z * split_rows;
    const std::int64_t end = begin + split_rows < layer.rows ? begin + split_rows : layer.rows;
    float* const to = layer.partials + blockIdx.z * layer.partial_stride;
    Product product;
    const bool biases = at.n == 0 && product.first_n == 0;
    product.template run<true>(
        shared_address(memory), matrix<T>(net.d_y, layer.rows, out), at.m, matrix<T>(net.x, layer.rows, in), at.n,
        begin, end, [](int) { return 0.0f; }, biases);
    product.each([&](int row, int column, float v0, float v1) {
      const int o = static_cast<int>(at.m) + row, i = at.n + column;
      if (o >= net.size.out || i >= net.size.in) return;
      float* const place = to + net.size.weight_at(o) + i;
      place[0] = v0;
      if (i + 1 < net.size.in) place[1] = v1;
    });
    const int lane = threadIdx.x % 32;
    if (!biases || lane % 4 != 0) return;
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof product.left_sums / sizeof product.left_sums[0]); ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int o = static_cast<int>(at.m) + product.first_m + 16 * i + 8 * h + lane / 4;
        if (o < net.size.out) to[net.size.bias_at(o)] = product.left_sums[i][2 * h];
      }
  }
};

// A gradient from its parts; the square of it.
struct SumPartials {
  int splits;
  PartialRanges ranges;
  std::int64_t stride, skip, skipped;
  const float* partials;
  float scale;
  float* gradients;
  SIM_HD double operator()(std::int64_t i) const {
    if (i >= skip && i < skip + skipped) return 0.0;
    int parts = splits;
    for (int r = 0; r < ranges.count; ++r)
      if (i >= ranges.begin[r] && i < ranges.end[r]) parts = ranges.splits;
    float sum = 0.0f;
#pragma unroll 16
    for (int s = 0; s < parts; ++s) sum += partials[s * stride + i];
    const float g = scale * sum;
    gradients[i] = g;
    return static_cast<double>(g) * static_cast<double>(g);
  }
};
struct SumPartialsOp {
  SumPartials sum;
  SIM_HD void operator()(std::int64_t i) const { (void)sum(i); }
};

// The plan of a step, by one group.
struct PlanStepOp {
  ImageStep step;
  UpdateSpec update;
  Control* control;
  struct Shared {
    double squares[kSumLanes], power[2];
    LossTerms terms[kSumLanes];
  };
  template <class G>
  SIM_HD void operator()(const G& group, std::int64_t, Shared& shared) const {
    // Adam's own count is one more if the step is made, and not asked for if it is not
    const std::int64_t t = control->adam_step + 1;
    group.for_each(2, [&](int k) {
      shared.power[k] = pow(k == 0 ? update.adam_beta1 : update.adam_beta2, static_cast<double>(t));
    });
    const double norm_squared =
        group.sum(static_cast<int>(step.square_parts), shared.squares, [&](int k) { return step.squares[k]; });
    const LossTerms sum =
        group.sum(static_cast<int>(step.term_parts), shared.terms, [&](int k) { return step.terms[k]; });
    group.once([&] {
      *step.plan =
          plan_step(update, *control, sum, static_cast<double>(step.rows), norm_squared,
                    [&](double beta, std::int64_t) { return shared.power[beta == update.adam_beta1 ? 0 : 1]; });
    });
  }
};

template <class T>
struct ImageAdamOp {
  AdamOp<float> adam;
  const std::int32_t *place, *second_place;
  T* image;
  __device__ void operator()(std::int64_t i) const {
    adam(i);
    const std::int32_t to = place[i];
    if (to < 0) return;
    put(image + to, adam.parameter[i]);
    if (second_place != nullptr && second_place[i] >= 0) put(image + second_place[i], adam.parameter[i]);
  }
};

template <class T>
struct ImageOp {
  const std::int32_t* from;
  const float* parameters;
  T* to;
  __device__ void operator()(std::int64_t i) const { put(to + i, from[i] < 0 ? 0.0f : parameters[from[i]]); }
};

template <class T>
struct RowsOp {
  int columns, stride;
  const float *from, *last;
  float scale;
  T* to;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t pairs = stride / 2, row = i / pairs;
    const auto column = static_cast<int>(i % pairs * 2);
    const auto value = [&](int c) {
      if (c < columns) return scale * from[row * columns + c];
      return last != nullptr && c == columns ? scale * last[row] : 0.0f;
    };
    put(to + row * stride + column, value(column), value(column + 1));
  }
};

// One thread for each of n.
template <class Op>
struct EachOp {
  static constexpr int kThreads = 256, kMinBlocks = 1, kBytes = 0;
  std::int64_t n;
  Op op;
  __device__ __forceinline__ void operator()(std::byte*) const {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i < n) op(i);
  }
};
template <class Op>
void launch_each(const Exec& exec, std::int64_t n, const Op& op) {
  launch_blocks(exec, dim3(grid_size(n, EachOp<Op>::kThreads)), EachOp<Op>{n, op});
}

template <class F>
void with_number(Number16 number, F f) {
  if (number == Number16::fp16)
    f(Fp16Bits{});
  else
    f(Bf16Bits{});
}

template <class Layer>
int widest(const Layer& layer, int LayerSizes::*side) {
  int most = 0;
  for (int k = 0; k < layer.nets; ++k) most = std::max(most, layer_stride(layer.net[k].size.*side));
  return most;
}

}  // namespace

void layer_forward(const Exec& exec, Number16 number, const LayerForward& layer) {
  const int out = widest(layer, &LayerSizes::out);
  with_number(number, [&]<class T>(T) {
    if (out <= kNarrow)
      launch_blocks(exec, tile_grid<kWide, kNarrow>(layer.rows, out, layer.nets), ForwardOp<T, kNarrow>{layer});
    else if (out <= kMiddle)
      launch_blocks(exec, tile_grid<kWide, kMiddle>(layer.rows, out, layer.nets), ForwardOp<T, kMiddle>{layer});
    else
      launch_blocks(exec, tile_grid<kWide, kWide>(layer.rows, out, layer.nets), ForwardOp<T, kWide>{layer});
  });
}

void head_forward(const Exec& exec, Number16 number, const HeadForward& layer) {
  const int out = widest(layer, &LayerSizes::out);
  with_number(number, [&]<class T>(T) {
    launch_blocks(exec, tile_grid<kWide, kNarrow>(layer.rows, out, layer.nets), HeadOp<T>{layer});
  });
}

void layer_backward(const Exec& exec, Number16 number, const LayerBackward& layer) {
  const int in = widest(layer, &LayerSizes::in);
  with_number(number, [&]<class T>(T) {
    if (in <= kMiddle)
      launch_blocks(exec, tile_grid<kWide, kMiddle>(layer.rows, in, layer.nets), BackwardOp<T, kMiddle>{layer});
    else
      launch_blocks(exec, tile_grid<kWide, kWide>(layer.rows, in, layer.nets), BackwardOp<T, kWide>{layer});
  });
}

void layer_gradient(const Exec& exec, Number16 number, const LayerGradient& layer) {
  const int in = widest(layer, &LayerSizes::in), out = widest(layer, &LayerSizes::out);
  const int splits = layer_splits(layer.rows);
  const std::int64_t split_rows = ((layer.rows + splits - 1) / splits + 31) / 32 * 32;
  with_number(number, [&]<class T>(T) {
    const auto launch = [&]<int kM>(std::integral_constant<int, kM>) {
      dim3 grid = tile_grid<kM, kWide>(out, in, layer.nets);
      grid.z = static_cast<unsigned>(splits);
      launch_blocks(exec, grid, GradientOp<T, kM>{layer, split_rows});
    };
    if (out <= kNarrow)
      launch(std::integral_constant<int, kNarrow>{});
    else
      launch(std::integral_constant<int, kWide>{});
  });
}

void sum_partials(const Exec& exec, std::int64_t n, int splits, const PartialRanges& ranges, const float* partials,
                  float scale, std::int64_t skip, std::int64_t skipped, float* gradients, double* squares) {
  const SumPartials sum{splits, ranges, n, skip, skipped, partials, scale, gradients};
  if (squares == nullptr)
    parallel_for(exec, n, SumPartialsOp{sum});
  else
    parallel_groups<kSumLanes>(exec, gradient_squares(n),
                               TreeSumOp<double, SumPartials>{n, kSquareChunk, sum, squares});
}

void image_step(const Exec& exec, Number16 number, const ImageStep& step, const PpoStep& adam) {
  parallel_groups<kSumLanes>(exec, 1, PlanStepOp{step, adam.update, adam.control});
  const AdamOp<float> op =
      adam_op<float>(adam.update, step.plan, adam.gradients, adam.parameters, adam.moment1, adam.moment2);
  with_number(number, [&]<class T>(T) {
    launch_each(exec, step.n, ImageAdamOp<T>{op, step.place, step.second_place, static_cast<T*>(step.image)});
  });
}

void layer_image(const Exec& exec, Number16 number, std::int64_t n, const std::int32_t* from, const float* parameters,
                 void* to) {
  with_number(number, [&]<class T>(T) { launch_each(exec, n, ImageOp<T>{from, parameters, static_cast<T*>(to)}); });
}

void layer_rows(const Exec& exec, Number16 number, std::int64_t rows, int columns, const float* from, const float* last,
                float scale, void* to, int stride) {
  with_number(number, [&]<class T>(T) {
    launch_each(exec, rows * stride / 2, RowsOp<T>{columns, stride, from, last, scale, static_cast<T*>(to)});
  });
}

#else  // no CUDA: never called, as there is no such device

void image_step(const Exec&, Number16, const ImageStep&, const PpoStep&) { throw std::logic_error("layers: no CUDA"); }

void layer_forward(const Exec&, Number16, const LayerForward&) { throw std::logic_error("layers: without CUDA"); }
void head_forward(const Exec&, Number16, const HeadForward&) { throw std::logic_error("layers: without CUDA"); }
void layer_backward(const Exec&, Number16, const LayerBackward&) { throw std::logic_error("layers: without CUDA"); }
void layer_gradient(const Exec&, Number16, const LayerGradient&) { throw std::logic_error("layers: without CUDA"); }
void sum_partials(const Exec&, std::int64_t, int, const PartialRanges&, const float*, float, std::int64_t, std::int64_t,
                  float*, double*) {
  throw std::logic_error("layers: without CUDA");
}
void layer_image(const Exec&, Number16, std::int64_t, const std::int32_t*, const float*, void*) {
  throw std::logic_error("layers: without CUDA");
}
void layer_rows(const Exec&, Number16, std::int64_t, int, const float*, const float*, float, void*, int) {
  throw std::logic_error("layers: without CUDA");
}

#endif

}  // namespace hotloop

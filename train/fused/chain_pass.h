// One multiprocessor's way through a chain of layers: a warp brings panels of weights into a ring, warpgroups pass a
// tile of 64 rows each through all layers.
#pragma once
#include "train/fused/activate.h"
#include "train/fused/chain_places.h"
#include "train/fused/stage_ring.h"
#include "train/fused/tile_tensor.h"

namespace hotloop {

// f with the activation as a type: code that all elements pass should not ask for it at each.
template <class F>
__device__ __forceinline__ void with_chain_activation(Activation a, const F& f) {
  switch (a) {
    case Activation::tanh:
      return f(std::integral_constant<Activation, Activation::tanh>{});
    case Activation::relu:
      return f(std::integral_constant<Activation, Activation::relu>{});
    default:
      return f(std::integral_constant<Activation, Activation::elu>{});
  }
}

// A pair of what layers make: activations of v0 and v1, and v0 and v1 times the slope at what they had made.
template <class T, Activation kActivation>
__device__ __forceinline__ std::uint32_t activate_pair(float v0, float v1) {
  return T::pack(fast_activate<kActivation, true>(v0), fast_activate<kActivation, true>(v1));
}
template <class T, Activation kActivation>
__device__ __forceinline__ std::uint32_t slope_pair(float v0, float v1, std::uint32_t y) {
  if constexpr (kActivation == Activation::tanh)
    return T::multiply(T::pack(v0, v1), T::fma(y ^ 0x80008000u, y, T::kOnes));
  return T::pack(v0 * fast_slope<kActivation, true>(T::unpack(static_cast<std::uint16_t>(y))),
                 v1 * fast_slope<kActivation, true>(T::unpack(static_cast<std::uint16_t>(y >> 16))));
}

template <class T, int kN, int kTiles>
class ChainBlock {
 public:
  using Places = ChainPlaces<kN, kTiles>;
  static constexpr int kPanels = Places::kPanels, kStageBytes = Places::kStageBytes;
  // A stage of weights is a panel's 64 inputs (outputs) by 128 outputs (inputs): a part of the results.
  static constexpr int kPart = 128, kParts = kN / kPart;
  static constexpr int kTileBytes = kPanels * kPanelBytes;
  using Results = float[kParts][kPart / 2];  // this thread's of a layer; local to each, so that none outlives its use
  static constexpr int kConsumers = 128 * kTiles, kThreads = kConsumers + 128;

  __device__ __forceinline__ ChainBlock(const ChainPass& pass, std::byte* memory)
      : pass_(pass), net_(pass.net[blockIdx.x % pass.nets]) {
    const int hidden = net_.layers - 1, most = hidden_layers(pass);
    const int panels = Places::tile_panels(most, panels_of(pass.inputs));
    const unsigned base = (shared_address(memory) + 1023) / 1024 * 1024;
    const unsigned ring = base + kTiles * (panels + 1) * kPanelBytes;
    tiles_ = base + slot() * (panels + 1) * kPanelBytes;
    d_head_ = tiles_ + panels * kPanelBytes;
    const int stages = Places::stages_of(pass);
    const unsigned biases = ring + stages * kStageBytes, barriers = biases + (most * kN + 32) * 4;
    ring_ = {ring, barriers, kStageBytes, stages};
    loaded_ = barriers + 16 * stages + 8 * slot();
    biases_ = memory + (biases - shared_address(memory));
    own_ = memory + (barriers - shared_address(memory)) + 256 + slot() * Places::slot_bytes(pass);
    if (threadIdx.x == 0) {
      ring_.init(kConsumers / 32);
      for (int t = 0; t < kTiles; ++t) barrier_init(barriers + 16 * stages + 8 * t, 1);
      barrier_init_done();
    }
    for (int l = 0; l < hidden; ++l)
      for (int o = static_cast<int>(threadIdx.x); o < kN; o += kThreads)
        bias(l)[bias_place(o)] = bias_of(net_.layer[l].size, o);
    for (int o = static_cast<int>(threadIdx.x); o < 32; o += kThreads)
      bias(hidden)[o] = bias_of(net_.layer[hidden].size, o);
    // sums of gradients, which begin at zero
    auto* const sums = reinterpret_cast<float*>(memory + (barriers - shared_address(memory)) + 256);
    for (int e = static_cast<int>(threadIdx.x); e < kTiles * Places::slot_bytes(pass) / 4; e += kThreads)
      sums[e] = 0.0f;
    __syncthreads();
  }

  // Which of the block's tiles this thread works at.
  __device__ __forceinline__ static int slot() { return static_cast<int>(threadIdx.x) / 128; }
  __device__ __forceinline__ static int index() { return static_cast<int>(threadIdx.x) % 128; }  // in its tile
  __device__ __forceinline__ static bool brings() { return threadIdx.x >= kConsumers; }
  __device__ __forceinline__ static bool leads() { return threadIdx.x % 128 == 0; }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  // Registers go from the warps that bring to those that multiply: of 168 for each thread at the start.
  __device__ __forceinline__ static void take_registers() {
    if constexpr (kTiles == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  }
  __device__ __forceinline__ static void give_registers() {
    if constexpr (kTiles == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  }
  // Calls bring(tile) in one thread of the bringing warps for each of this block's rounds, and pass() in all others.
  template <class Bring, class Pass>
  __device__ __forceinline__ void run(const Bring& bring, const Pass& pass) const {
    if (brings()) {
      give_registers();
      if (threadIdx.x == kConsumers) each_tile(bring);
    } else {
      take_registers();
      pass();
    }
  }
  // The first of the two rows of a tile whose results this thread holds, and the first of two columns in each eight.
  __device__ __forceinline__ static int row() { return static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane() / 4; }
  __device__ __forceinline__ static int column() { return lane() % 4 * 2; }
  // Of the threads at one tile.
  __device__ __forceinline__ static void tile_barrier() {
    asm volatile("bar.sync %0, 128;" ::"r"(slot() + 1) : "memory");
  }

  // f(tile): for each of this block's, of this thread's slot.
  template <class F>
  __device__ __forceinline__ void each_tile(const F& f) const {
    const std::int64_t rounds = (chain_tiles(pass_.rows) + kTiles - 1) / kTiles;
    for (std::int64_t r = blockIdx.x / pass_.nets; r < rounds; r += gridDim.x / pass_.nets)
      f(r * kTiles + (brings() ? 0 : slot()));
  }

  // What the bringing warp does for a way forward, and for one back.
  __device__ __forceinline__ void bring_forward() {
    for (int l = 0; l < net_.layers - 1; ++l) {
      const int inputs = l == 0 ? panels_of(pass_.inputs) : kPanels;
      for (int i = 0; i < inputs * kParts; ++i)
        ring_.fill(kStageBytes,
                   [&](unsigned to, unsigned full) { bulk_load(to, image(l) + i * kStageBytes, kStageBytes, full); });
    }
    bring_head();
  }
  __device__ __forceinline__ void bring_backward() {
    bring_head();
    for (int l = net_.layers - 2; l > 0; --l)
      for (int o = 0; o < kPanels; ++o)
        for (int i = 0; i < kPanels; i += 2)
          ring_.fill(kStageBytes, [&](unsigned to, unsigned full) {
            for (int p = 0; p < 2; ++p)
              bulk_load(to + p * kPanelBytes, image(l) + ((i + p) * kPanels + o) * kPanelBytes, kPanelBytes, full);
          });
  }

  // A tile of observations becomes the first layer's input. A first layer whose gradient is added up here finds it, and
  // a one for its biases, beside the heads' gradients.
  __device__ __forceinline__ void read_rows(const float* from, std::int64_t tile) const {
    begin_writes();
    const auto value = [&](int r, int c) {
      const std::int64_t at = tile * kTileRows + r;
      return at < pass_.rows && c < pass_.inputs ? from[at * pass_.inputs + c] : 0.0f;
    };
    if (pass_.own_first)
      write_columns<32, 32>(d_head_, [&](int r, int c) { return c - 32 == pass_.inputs ? 1.0f : value(r, c - 32); });
    else
      for (int p = 0; p < panels_of(pass_.inputs); ++p)
        write_columns<0, 64>(input_tile() + p * kPanelBytes, [&](int r, int c) { return value(r, 64 * p + c); });
    end_writes();
  }

  // The way forward of a tile, from the input that is there. keep: write what layers make.
  __device__ __forceinline__ void forward(std::int64_t tile, bool keep) {
    for (int l = 0; l < net_.layers - 1; ++l) {
      Results results;
      if (l == 0 && pass_.own_first)
        multiply_short(results);
      else
        multiply_along(results, l == 0 ? input_tile() : tile_of(l - 1), l == 0 ? panels_of(pass_.inputs) : kPanels);
      begin_writes();
      with_chain_activation(pass_.activation, [&](auto activation) {
        each_sixteen([&](int part, int j, int c) {
          const float4 b = *reinterpret_cast<const float4*>(bias(l) + bias_place(c));
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float* v = results[part] + 4 * j + 2 * i;
            write_pair(
                tile_of(l), row() + i % 2 * 8, c + i / 2 * 8,
                activate_pair<T, decltype(activation)::value>(v[0] + (i < 2 ? b.x : b.z), v[1] + (i < 2 ? b.y : b.w)));
          }
        });
      });
      end_writes();
      if (keep && !(pass_.own_head && l == net_.layers - 2)) store(net_.layer[l].y, tile, kPanels, tile_of(l));
    }
  }
  // put(row, column, value) for each output of the heads.
  template <class F>
  __device__ __forceinline__ void heads(const F& put) {
    float h[16];
    ring_.use([&](unsigned from) {
#pragma unroll
      for (int k = 0; k < kN / 16; ++k)
        group_product<T, 32, false, false>(h, operand_at(tile_of(net_.layers - 2) + k / 4 * kPanelBytes + k % 4 * 32),
                                           operand_at(from + k / 4 * kHeadPanelBytes + k % 4 * 32), k > 0);
    });
    ring_.drain();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int c = i / 4 * 8 + column() + i % 2;
      put(row() + i % 4 / 2 * 8, c, h[i] + bias(net_.layers - 1)[c]);
    }
  }

  // The heads' gradients: value(row, column) of the outputs.
  template <class F>
  __device__ __forceinline__ void read_gradients(const F& value) const {
    begin_writes();
    write_columns<0, 32>(d_head_, [&](int r, int c) { return c < outputs() ? value(r, c) : 0.0f; });
    end_writes();
  }
  // The way back of a tile, from the heads' gradients and what the layers made. kOwn: with own_head and own_first.
  template <bool kOwn>
  __device__ __forceinline__ void backward(std::int64_t tile) {
    if (!kOwn || !pass_.own_head)
      store(net_.layer[net_.layers - 1].d, tile, 1, d_head_);
    else
      add_gradient(tile_of(net_.layers - 2), d_head_, head_sums(), outputs());
    for (int l = net_.layers - 2; l >= 0; --l) {
      Results results;
      if (l == net_.layers - 2)
        multiply_head_down(results);
      else
        multiply_down(results, tile_of(l + 1));
      begin_writes();
      with_chain_activation(pass_.activation, [&](auto activation) {
        each_sixteen([&](int part, int j, int c) {
          std::uint32_t y[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) y[i] = read_pair(tile_of(l), row() + i % 2 * 8, c + i / 2 * 8);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float* v = results[part] + 4 * j + 2 * i;
            write_pair(tile_of(l), row() + i % 2 * 8, c + i / 2 * 8,
                       slope_pair<T, decltype(activation)::value>(v[0], v[1], y[i]));
          }
        });
      });
      end_writes();
      if (!kOwn || l > 0 || !pass_.own_first) store(net_.layer[l].d, tile, kPanels, tile_of(l));
    }
    if (kOwn && pass_.own_first) add_gradient(tile_of(0), d_head_ + 64, first_sums(), pass_.inputs + 1);
  }
  // After the last tile: the sums become the slot's part of the gradients. head_bias: sums over this thread's rows,
  // index() / 32 * 16 and fifteen more, of output index() % 32.
  __device__ __forceinline__ void write_sums(float* partials, std::int64_t stride, float head_bias) const {
    float* const to = partials + (blockIdx.x / pass_.nets * kTiles + slot()) * stride;
    const LayerSizes &head = net_.layer[net_.layers - 1].size, &first = net_.layer[0].size;
    float* const parts = reinterpret_cast<float*>(own_);  // nobody needs terms any more
    tile_barrier();
    parts[index()] = head_bias;
    tile_barrier();
    if (pass_.own_head) {
      for (int e = index(); e < head.out * kN; e += 128)
        if (e % kN < head.in) to[head.weight_at(e / kN) + e % kN] = head_sums()[e];
      float sum = 0.0f;
      for (int k = 0; k < 4; ++k) sum += parts[k * 32 + index() % 32];
      if (index() < head.out) to[head.bias_at(index())] = sum;
    }
    if (!pass_.own_first) return;
    for (int e = index(); e < (first.in + 1) * kN; e += 128) {
      const int i = e / kN, o = e % kN;
      if (o < first.out) to[i < first.in ? first.weight_at(o) + i : first.bias_at(o)] = first_sums()[e];
    }
  }

  // Brings what the layers made on the way forward.
  __device__ __forceinline__ void load_layers(std::int64_t tile) {
    show_to_engines();
    begin_writes();
    if (leads()) {
      barrier_expect(loaded_, (net_.layers - 1) * kTileBytes);
      for (int l = 0; l < net_.layers - 1; ++l)
        bulk_load(tile_of(l), static_cast<const std::byte*>(net_.layer[l].y) + tile * kTileBytes, kTileBytes, loaded_);
    }
    barrier_wait(loaded_, loads_);
    loads_ ^= 1;
  }

  __device__ __forceinline__ LossTerms* terms() const { return reinterpret_cast<LossTerms*>(own_); }  // a row's
  __device__ __forceinline__ float* scores() const {
    return reinterpret_cast<float*>(own_ + kTileRows * Places::kTermBytes);
  }
  // [outputs, kN], and [inputs and one more, kN]: the last row is the biases'
  __device__ __forceinline__ float* head_sums() const {
    return reinterpret_cast<float*>(own_ + Places::loss_bytes(pass_));
  }
  __device__ __forceinline__ float* first_sums() const {
    return reinterpret_cast<float*>(own_ + Places::loss_bytes(pass_) + Places::head_sum_bytes(pass_));
  }
  __device__ __forceinline__ unsigned input_tile() const { return tiles_ + kTileBytes; }
  __device__ __forceinline__ void store(void* to, std::int64_t tile, int panels, unsigned from) const {
    if (!leads()) return;
    bulk_store(static_cast<std::byte*>(to) + tile * panels * kPanelBytes, from, panels * kPanelBytes);
    close_bulk_stores();
  }
  __device__ __forceinline__ const ChainNet& net() const { return net_; }
  __device__ __forceinline__ int outputs() const { return outputs_of(net_); }

 private:
  __device__ __forceinline__ float bias_of(const LayerSizes& s, int o) const {
    return o < s.out ? pass_.parameters[s.bias_at(o)] : 0.0f;
  }
  // Pairs of columns that one thread needs one after another lie side by side.
  __device__ __forceinline__ static int bias_place(int o) {
    return o / 16 * 16 + o % 8 / 2 * 4 + o / 8 % 2 * 2 + o % 2;
  }
  __device__ __forceinline__ float* bias(int l) const { return reinterpret_cast<float*>(biases_) + l * kN; }
  __device__ __forceinline__ const std::byte* image(int l) const {
    return static_cast<const std::byte*>(net_.layer[l].image);
  }
  __device__ __forceinline__ unsigned tile_of(int l) const { return tiles_ + l * kTileBytes; }

  // Before and after this tile's threads write to its part of shared memory, which bulk stores and products may read.
  __device__ __forceinline__ void begin_writes() const {
    if (leads()) wait_bulk_reads();
    tile_barrier();
  }
  __device__ __forceinline__ void end_writes() const {
    show_to_engines();
    tile_barrier();
  }
  // Their order among each other and with barriers is the program's; other code may move around them, so that many
  // loads are under way at once.
  __device__ __forceinline__ static void write_pair(unsigned tile, int r, int c, std::uint32_t pair) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(tile + c / 64 * kPanelBytes + panel_at(r, c % 64)), "r"(pair));
  }
  __device__ __forceinline__ static std::uint32_t read_pair(unsigned tile, int r, int c) {
    std::uint32_t pair;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(pair) : "r"(tile + c / 64 * kPanelBytes + panel_at(r, c % 64)));
    return pair;
  }

  __device__ __forceinline__ void bring_head() {
    ring_.fill(kPanels * kHeadPanelBytes, [&](unsigned to, unsigned full) {
      bulk_load(to, image(net_.layers - 1), kPanels * kHeadPanelBytes, full);
    });
  }
  // results = tile * weights^T: sums over the inputs.
  __device__ __forceinline__ void multiply_along(Results& results, unsigned tile, int panels) {
#pragma unroll 1
    for (int i = 0; i < panels; ++i)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        ring_.use([&](unsigned from) {
#pragma unroll
          for (int k = 0; k < 4; ++k)
            group_product<T, kPart, false, false>(results[part], operand_at(tile + i * kPanelBytes + 32 * k),
                                                  operand_at(from + 32 * k), i > 0 || k > 0);
        });
    ring_.drain();
  }
  // results = input * weights^T of a first layer of few inputs.
  __device__ __forceinline__ void multiply_short(Results& results) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      ring_.use([&](unsigned from) {
        group_product<T, kPart, false, false>(results[part], operand_at(d_head_ + 64), operand_at(from), false);
      });
    ring_.drain();
  }
  // sums [columns, kN] += right^T left over the tile's rows: left has kN columns, right 16, of which `columns` count.
  __device__ __forceinline__ void add_gradient(unsigned left, unsigned right, float* sums, int columns) const {
#pragma unroll 1
    for (int m = 0; m < kPanels; ++m) {
      float h[8];
      open_products();
#pragma unroll
      for (int k = 0; k < 4; ++k)
        group_product<T, 16, true, true>(h, operand_at(left + m * kPanelBytes + k * 16 * kPanelRowBytes),
                                         operand_at(right + k * 16 * kPanelRowBytes, kPanelBytes), k > 0);
      close_products();
      wait_products<0>();
      float* const to = sums + 64 * m + row();
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int c = i / 4 * 8 + column() + i % 2;
        if (c < columns) to[c * kN + i % 4 / 2 * 8] += h[i];
      }
    }
  }
  // results = tile * weights: sums over the outputs.
  __device__ __forceinline__ void multiply_down(Results& results, unsigned tile) {
#pragma unroll 1
    for (int o = 0; o < kPanels; ++o)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        ring_.use([&](unsigned from) {
#pragma unroll
          for (int k = 0; k < 4; ++k)
            group_product<T, kPart, false, true>(results[part], operand_at(tile + o * kPanelBytes + 32 * k),
                                                 operand_at(from + k * 16 * kPanelRowBytes, kPanelBytes),
                                                 o > 0 || k > 0);
        });
    ring_.drain();
  }
  __device__ __forceinline__ void multiply_head_down(Results& results) {
    ring_.use([&](unsigned from) {
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int k = 0; k < 2; ++k)
          group_product<T, kPart, false, true>(
              results[part], operand_at(d_head_ + 32 * k),
              operand_at(from + part * 2 * kHeadPanelBytes + k * 16 * kPanelRowBytes, kHeadPanelBytes), k > 0);
    });
    ring_.drain();
  }
  // f(part, j, column) for each two eights of the results' columns, j and j + 1 of a part.
  template <class F>
  __device__ __forceinline__ static void each_sixteen(const F& f) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int j = 0; j < kPart / 8; j += 2) f(part, j, part * kPart + 8 * j + column());
  }
  // value(row, column) for columns [kFirst, kFirst + kCount) of a panel, several under way at once.
  template <int kFirst, int kCount, class F>
  __device__ __forceinline__ static void write_columns(unsigned panel, const F& value) {
    constexpr int kPairs = kCount / 2, kStep = 128 / kPairs, kAtOnce = kTileRows / kStep;
    const int c = kFirst + index() % kPairs * 2, r = index() / kPairs;
    std::uint32_t pairs[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) pairs[i] = T::pack(value(r + kStep * i, c), value(r + kStep * i, c + 1));
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) write_pair(panel, r + kStep * i, c, pairs[i]);
  }

  const ChainPass& pass_;
  const ChainNet& net_;
  unsigned tiles_, d_head_, loaded_;
  std::byte *biases_, *own_;
  StageRing ring_;
  unsigned loads_ = 0;
};

}  // namespace hotloop

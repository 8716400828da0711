// One multiprocessor's way through a chain of layers: a warp brings panels of weights into a ring, warpgroups pass a
// tile of 64 rows each through all layers.
#pragma once
#include "train/fused/activate.h"
#include "train/fused/chain_ops.h"
#include "train/fused/wgmma.h"

namespace hotloop {

__device__ __forceinline__ unsigned shared_at(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

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

// Stages of shared memory that bulk copies fill in turn and warpgroups empty in turn.
struct StageRing {
  unsigned memory, barriers;  // two barriers a stage: full, empty
  int bytes, stages;
  int stage = 0;
  unsigned parity = 0;
  unsigned held = 0;  // `empty` of the stage that products may still read

  __device__ __forceinline__ void init(int readers) const {
    for (int s = 0; s < stages; ++s) {
      barrier_init(barriers + 16 * s, 1);
      barrier_init(barriers + 16 * s + 8, readers);
    }
    barrier_init_done();
  }
  __device__ __forceinline__ unsigned full() const { return barriers + 16 * stage; }
  __device__ __forceinline__ unsigned empty() const { return full() + 8; }
  __device__ __forceinline__ void next() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  // copy(to, full): starts copies of `size` bytes in all.
  template <class F>
  __device__ __forceinline__ void fill(int size, const F& copy) {
    barrier_wait(empty(), parity ^ 1);
    barrier_expect(full(), size);
    copy(memory + stage * bytes, full());
    next();
  }
  // multiply(from): queues products that read the next stage.
  template <class F>
  __device__ __forceinline__ void use(const F& multiply) {
    barrier_wait(full(), parity);
    open_products();
    multiply(memory + stage * bytes);
    close_products();
    wait_products<1>();
    give_back();
    held = empty();
    next();
  }
  __device__ __forceinline__ void drain() {
    wait_products<0>();
    give_back();
    held = 0;
  }
  __device__ __forceinline__ void give_back() const {
    if (held != 0 && threadIdx.x % 32 == 0) barrier_arrive(held);
  }
};

// Of a chain whose hidden layers pass for kN wide.
template <int kN>
struct ChainPlaces {
  static constexpr int kPanels = kN / 64;
  static constexpr int kPart = kN < 128 ? kN : 128, kParts = kN / kPart;  // columns of one product
  static constexpr int kPartPanels = kPart / 64, kStageBytes = kPartPanels * kPanelBytes;
  static constexpr int kShared = 227 * 1024;
  int tile_panels, layers, stages;

  // The first input's panels lie where the second layer's results will.
  SIM_HD static int group_panels(int layers, int input_panels) {
    const int hidden = kPanels * layers, inputs = kPanels + input_panels;
    return hidden > inputs ? hidden : inputs;
  }
  // [bytes] beside the ring: alignment, tiles, gradients of heads, biases, barriers
  SIM_HD static int fixed_bytes(int groups, int layers, int input_panels, int score_stride) {
    return 1024 + groups * kTileRows * score_stride * 4 +
           groups * (group_panels(layers, input_panels) + 1) * kPanelBytes + (layers * kN + 32) * 4 + 256;
  }
  SIM_HD static int stages_of(int groups, int layers, int input_panels, int score_stride) {
    const int left = (kShared - fixed_bytes(groups, layers, input_panels, score_stride)) / kStageBytes;
    return left < 8 ? left : 8;
  }
};

template <class T, int kN, int kGroups>
class ChainBlock {
 public:
  using Places = ChainPlaces<kN>;
  static constexpr int kPanels = Places::kPanels, kPart = Places::kPart, kParts = Places::kParts;
  static constexpr int kPartPanels = Places::kPartPanels, kStageBytes = Places::kStageBytes;
  static constexpr int kTileBytes = kPanels * kPanelBytes;
  static constexpr int kThreads = 128 * (kGroups + 1);

  __device__ __forceinline__ ChainBlock(const ChainPass& pass, std::byte* memory)
      : pass_(pass), net_(pass.net[blockIdx.x % pass.nets]) {
    const int hidden = net_.layers - 1, panels = Places::group_panels(hidden_of(pass), panels_of(pass.inputs));
    const unsigned base = (shared_at(memory) + 1023) / 1024 * 1024;
    const unsigned group = base + kGroups * (panels + 1) * kPanelBytes;
    tiles_ = base + group_index() * (panels + 1) * kPanelBytes;
    d_head_ = tiles_ + panels * kPanelBytes;
    const int stages = Places::stages_of(kGroups, hidden_of(pass), panels_of(pass.inputs), pass.score_stride);
    const unsigned biases = group + stages * kStageBytes;
    biases_ = memory + (biases - shared_at(memory));
    const unsigned barriers = biases + (hidden_of(pass) * kN + 32) * 4;
    ring_ = {group, barriers, kStageBytes, stages};
    loaded_ = barriers + 16 * stages + 8 * group_index();
    scores_ = biases_ + (hidden_of(pass) * kN + 32) * 4 + 256 + group_index() * kTileRows * pass.score_stride * 4;
    if (threadIdx.x == 0) {
      ring_.init(4 * kGroups);
      for (int g = 0; g < kGroups; ++g) barrier_init(barriers + 16 * stages + 8 * g, 1);
      barrier_init_done();
    }
    for (int l = 0; l < hidden; ++l)
      for (int o = static_cast<int>(threadIdx.x); o < kN; o += kThreads)
        bias(l)[bias_place(o)] = bias_of(net_.layer[l].size, o);
    for (int o = static_cast<int>(threadIdx.x); o < 32; o += kThreads)
      bias(hidden)[o] = bias_of(net_.layer[hidden].size, o);
    __syncthreads();
  }

  __device__ __forceinline__ static int group_index() { return static_cast<int>(threadIdx.x) / 128; }
  __device__ __forceinline__ static bool brings() { return threadIdx.x >= 128 * kGroups; }
  __device__ __forceinline__ static bool leads() { return threadIdx.x % 128 == 0; }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  // Registers go from the warps that bring to those that multiply.
  __device__ __forceinline__ static void take_registers() {
    if constexpr (kGroups == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  }
  __device__ __forceinline__ static void give_registers() {
    if constexpr (kGroups == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  }
  // The first of the two rows of a tile whose results this thread holds, and the first of two columns in each eight.
  __device__ __forceinline__ static int row() { return static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane() / 4; }
  __device__ __forceinline__ static int column() { return lane() % 4 * 2; }

  // f(tile): for each of this block's, of this thread's group.
  template <class F>
  __device__ __forceinline__ void each_tile(const F& f) const {
    const std::int64_t tiles = chain_tiles(pass_.rows), rounds = (tiles + kGroups - 1) / kGroups;
    for (std::int64_t r = blockIdx.x / pass_.nets; r < rounds; r += gridDim.x / pass_.nets)
      f(r * kGroups + (brings() ? 0 : group_index()));
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
        for (int part = 0; part < kParts; ++part)
          ring_.fill(kStageBytes, [&](unsigned to, unsigned full) {
            for (int p = 0; p < kPartPanels; ++p)
              bulk_load(to + p * kPanelBytes, image(l) + ((part * kPartPanels + p) * kPanels + o) * kPanelBytes,
                        kPanelBytes, full);
          });
  }

  // A tile of observations becomes the first layer's input.
  __device__ __forceinline__ void read_rows(const float* from, std::int64_t tile) const {
    begin_writes();
    for (int p = 0; p < panels_of(pass_.inputs); ++p)
      write_panel(input_tile() + p * kPanelBytes, [&](int r, int column) {
        const std::int64_t at = tile * kTileRows + r;
        const int c = 64 * p + column;
        return at < pass_.rows && c < pass_.inputs ? from[at * pass_.inputs + c] : 0.0f;
      });
    end_writes();
  }

  // The way forward of a tile, from the input that is there. keep: write what layers make.
  __device__ __forceinline__ void forward(std::int64_t tile, bool keep) {
    for (int l = 0; l < net_.layers - 1; ++l) {
      multiply_along(l == 0 ? input_tile() : tile_of(l - 1), l == 0 ? panels_of(pass_.inputs) : kPanels);
      begin_writes();
      with_chain_activation(pass_.activation, [&](auto activation) {
        constexpr Activation kActivation = decltype(activation)::value;
        each_sixteen([&](int part, int j) {
          const int c = part * kPart + 8 * j + column();
          const float4 b = *reinterpret_cast<const float4*>(bias(l) + bias_place(c));
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float *v = results_[part] + 4 * j + 2 * i, b0 = i < 2 ? b.x : b.z, b1 = i < 2 ? b.y : b.w;
            write_pair(
                tile_of(l), row() + i % 2 * 8, c + i / 2 * 8,
                T::pack(fast_activate<kActivation, true>(v[0] + b0), fast_activate<kActivation, true>(v[1] + b1)));
          }
        });
      });
      end_writes();
      if (keep) store(net_.layer[l].y, tile, kPanels, tile_of(l));
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
    write_panel(d_head_, [&](int r, int c) { return c < outputs() ? value(r, c) : 0.0f; });
    end_writes();
  }
  // The way back of a tile, from the heads' gradients and what the layers made.
  __device__ __forceinline__ void backward(std::int64_t tile) {
    store(net_.layer[net_.layers - 1].d, tile, 1, d_head_);
    for (int l = net_.layers - 2; l >= 0; --l) {
      if (l == net_.layers - 2)
        multiply_head_down();
      else
        multiply_down(tile_of(l + 1));
      begin_writes();
      with_chain_activation(pass_.activation, [&](auto activation) {
        constexpr Activation kActivation = decltype(activation)::value;
        each_sixteen([&](int part, int j) {
          const int c = part * kPart + 8 * j + column();
          std::uint32_t y[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) y[i] = read_pair(tile_of(l), row() + i % 2 * 8, c + i / 2 * 8);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float* v = results_[part] + 4 * j + 2 * i;
            const float y0 = T::unpack(static_cast<std::uint16_t>(y[i]));
            const float y1 = T::unpack(static_cast<std::uint16_t>(y[i] >> 16));
            write_pair(tile_of(l), row() + i % 2 * 8, c + i / 2 * 8,
                       T::pack(v[0] * fast_slope<kActivation, true>(y0), v[1] * fast_slope<kActivation, true>(y1)));
          }
        });
      });
      end_writes();
      store(net_.layer[l].d, tile, kPanels, tile_of(l));
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

  __device__ __forceinline__ float* scores() const { return reinterpret_cast<float*>(scores_); }
  __device__ __forceinline__ unsigned input_tile() const { return tiles_ + kTileBytes; }
  __device__ __forceinline__ void store(void* to, std::int64_t tile, int panels, unsigned from) const {
    if (!leads()) return;
    bulk_store(static_cast<std::byte*>(to) + tile * panels * kPanelBytes, from, panels * kPanelBytes);
    close_bulk_stores();
  }
  __device__ __forceinline__ const ChainNet& net() const { return net_; }
  __device__ __forceinline__ int outputs() const { return net_.layer[net_.layers - 1].size.out; }

 private:
  __device__ __forceinline__ static int hidden_of(const ChainPass& pass) {
    int most = pass.net[0].layers;
    for (int n = 1; n < pass.nets; ++n) most = pass.net[n].layers > most ? pass.net[n].layers : most;
    return most - 1;
  }
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

  // Before and after this group's threads write to its part of shared memory, which bulk stores and products may read.
  __device__ __forceinline__ void begin_writes() const {
    if (leads()) wait_bulk_reads();
    group_barrier(group_index());
  }
  __device__ __forceinline__ void end_writes() const {
    show_to_engines();
    group_barrier(group_index());
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
  __device__ __forceinline__ void multiply_along(unsigned tile, int panels) {
#pragma unroll 1
    for (int i = 0; i < panels; ++i)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        ring_.use([&](unsigned from) {
#pragma unroll
          for (int k = 0; k < 4; ++k)
            group_product<T, kPart, false, false>(results_[part], operand_at(tile + i * kPanelBytes + 32 * k),
                                                  operand_at(from + 32 * k), i > 0 || k > 0);
        });
    ring_.drain();
  }
  // results = tile * weights: sums over the outputs.
  __device__ __forceinline__ void multiply_down(unsigned tile) {
#pragma unroll 1
    for (int o = 0; o < kPanels; ++o)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        ring_.use([&](unsigned from) {
#pragma unroll
          for (int k = 0; k < 4; ++k)
            group_product<T, kPart, false, true>(results_[part], operand_at(tile + o * kPanelBytes + 32 * k),
                                                 operand_at(from + k * 16 * kPanelRowBytes, kPanelBytes),
                                                 o > 0 || k > 0);
        });
    ring_.drain();
  }
  __device__ __forceinline__ void multiply_head_down() {
    ring_.use([&](unsigned from) {
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int k = 0; k < 2; ++k)
          group_product<T, kPart, false, true>(
              results_[part], operand_at(d_head_ + 32 * k),
              operand_at(from + part * kPartPanels * kHeadPanelBytes + k * 16 * kPanelRowBytes, kHeadPanelBytes),
              k > 0);
    });
    ring_.drain();
  }
  // f(part, j) for each two eights of columns, j and j + 1, of a part of the results.
  template <class F>
  __device__ __forceinline__ static void each_sixteen(const F& f) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int j = 0; j < kPart / 8; j += 2) f(part, j);
  }
  // value(row, column) for all of a panel, several under way at once.
  template <class F>
  __device__ __forceinline__ static void write_panel(unsigned panel, const F& value) {
    constexpr int kAtOnce = 8;
    const int t = static_cast<int>(threadIdx.x) % 128, c = t % 32 * 2;
#pragma unroll 1
    for (int r = t / 32; r < kTileRows; r += 4 * kAtOnce) {
      std::uint32_t pairs[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) pairs[i] = T::pack(value(r + 4 * i, c), value(r + 4 * i, c + 1));
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) write_pair(panel, r + 4 * i, c, pairs[i]);
    }
  }

  const ChainPass& pass_;
  const ChainNet& net_;
  unsigned tiles_, d_head_, loaded_;
  std::byte *biases_, *scores_;
  StageRing ring_;
  unsigned loads_ = 0;
  float results_[kParts][kPart / 2];
};

}  // namespace hotloop

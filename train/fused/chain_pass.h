// One multiprocessor's way through a chain of layers. Warpgroups pass a tile of 64 rows each through all layers and
// back, and keep its activations in registers: what a product leaves there is the next one's left operand. The right
// ones, weights, are in shared memory from the start, or a warp brings them through a ring.
#pragma once
#include "train/fused/chain_activation.h"
#include "train/fused/chain_places.h"
#include "train/fused/stage_ring.h"
#include "train/fused/tile_tensor.h"

namespace hotloop {

template <class T, int kN, bool kRing>
class ChainBlock {
 public:
  using Places = ChainPlaces<kN, kRing>;
  static constexpr int kWidth = kN, kTiles = Places::kTiles, kSteps = kN / 16, kPanels = kN / kPanelColumns;
  static constexpr int kConsumers = 128 * kTiles, kThreads = kConsumers + (kRing ? 128 : 0);
  static constexpr int kTileBytes = kPanels * kPanelBytes;
  using Results = float[kN / 2];       // this thread's of a layer; local to each, so that none outlives its use
  using Held = std::uint32_t[kN / 4];  // this thread's activations of a layer, as held_product takes them

  // kept_inputs: [tiles, panels of inputs, 8, 64, 8] of forward<true>.
  __device__ __forceinline__ ChainBlock(const ChainPass& pass, void* kept_inputs, std::byte* memory)
      : pass_(pass),
        net_(pass.net[blockIdx.x % pass.nets]),
        slot_(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0)),
        outputs_(outputs_of(net_)),
        tiles_(static_cast<int>(chain_tiles(pass.rows))),
        slot_at_(pass.memory.slots + slot_ * pass.memory.slot_bytes),
        kept_inputs_(kept_inputs),
        weights_(shared_address(memory)),
        memory_(memory) {
    const int most = hidden_layers(pass), hidden = net_.layers - 1;
    if constexpr (kRing) ring_ = {weights_, barriers(), Places::kStageBytes, pass.memory.stages};
    if (threadIdx.x == 0) begin_weights();
    for (int l = 0; l < hidden; ++l)
      for (int o = static_cast<int>(threadIdx.x); o < kN; o += kThreads)
        bias(l)[bias_place(o)] = bias_of(net_.layer[l].size, o);
    for (int o = static_cast<int>(threadIdx.x); o < kChainOutputs; o += kThreads)
      bias(most)[o] = bias_of(net_.layer[hidden].size, o);
    // sums and terms begin at zero; so do gradients by outputs that there are not
    auto* const zeros = reinterpret_cast<uint4*>(memory + pass.memory.slots);
    for (int e = static_cast<int>(threadIdx.x); e < kTiles * pass.memory.slot_bytes / 16; e += kThreads)
      zeros[e] = make_uint4(0, 0, 0, 0);
    __syncthreads();
  }

  __device__ __forceinline__ static int index() { return static_cast<int>(threadIdx.x) % 128; }  // in its tile
  __device__ __forceinline__ static bool brings() { return kRing && threadIdx.x >= kConsumers; }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  // Calls bring(tile) in one thread of the bringing warps for each of this block's rounds, and pass() in all others.
  template <class Bring, class Pass>
  __device__ __forceinline__ void run(const Bring& bring, const Pass& pass) const {
    if constexpr (kRing) {
      // registers go from the warps that bring to those that multiply: of 168 for each thread at the start
      if (brings()) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == kConsumers) each_tile(bring);
        return;
      }
      asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    }
    pass();
  }
  // The first of the two rows of a tile whose results this thread holds, and the first of two columns in each eight.
  __device__ __forceinline__ static int row() { return static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane() / 4; }
  __device__ __forceinline__ static int column() { return lane() % 4 * 2; }
  // Of the threads at one tile; of all threads that pass tiles.
  __device__ __forceinline__ void tile_barrier() const {
    asm volatile("bar.sync %0, 128;" ::"r"(slot_ + 1) : "memory");
  }
  __device__ __forceinline__ static void tiles_barrier() {
    asm volatile("bar.sync %0, %1;" ::"n"(kTiles + 1), "n"(kConsumers) : "memory");
  }

  // f(tile): for each of this block's, of this thread's slot. With a ring all slots need as many, some beyond the last.
  template <class F>
  __device__ __forceinline__ void each_tile(const F& f) const {
    const int blocks = static_cast<int>(gridDim.x) / pass_.nets, block = static_cast<int>(blockIdx.x) / pass_.nets;
    if constexpr (kRing) {
      for (int first = block; first < tiles_; first += kTiles * blocks) f(first + (brings() ? 0 : slot_) * blocks);
    } else {
      for (int tile = block + slot_ * blocks; tile < tiles_; tile += kTiles * blocks) f(tile);
    }
  }

  // What the bringing warp does for a way forward, and for one back.
  __device__ __forceinline__ void bring_forward() {
    for (int l = 0; l < net_.layers - 1; ++l)
      bring(net_.layer[l].image, input_columns(pass_, l) / Places::kStageColumns);
    bring_head();
  }
  __device__ __forceinline__ void bring_backward() {
    bring_head();
    for (int l = net_.layers - 2; l > 0; --l) bring(net_.layer[l].turned, kN / Places::kStageColumns);
  }

  // The way forward of a tile of inputs. kKeep: write to global memory what a way back needs.
  template <bool kKeep>
  __device__ __forceinline__ void forward(Held& held, int tile, const ChainRows& inputs) {
    for (int l = 0; l < net_.layers - 1; ++l) {
      Results results;
      if (l == 0)
        multiply_inputs<kKeep>(results, tile, inputs);
      else
        multiply(results, held, l);
      const bool keep = kKeep && !(pass_.own_head && l == net_.layers - 2) && tile < tiles_;
      char* const to = kept(net_.layer[l].y, tile);
      with_chain_activation(pass_.activation, [&](auto activation) {
        constexpr Activation kActivation = decltype(activation)::value;
        const float* const biases = bias(l) + bias_place(column());
#pragma unroll
        for (int k = 0; k < kSteps; ++k) {
          const float4 b = *reinterpret_cast<const float4*>(biases + 16 * k);
          const float* v = results + 8 * k;
          held[4 * k] = activate_pair<T, kActivation>(v[0] + b.x, v[1] + b.y);
          held[4 * k + 1] = activate_pair<T, kActivation>(v[2] + b.x, v[3] + b.y);
          held[4 * k + 2] = activate_pair<T, kActivation>(v[4] + b.z, v[5] + b.w);
          held[4 * k + 3] = activate_pair<T, kActivation>(v[6] + b.z, v[7] + b.w);
          if (keep) keep_step(to, k, held);
        }
      });
    }
  }
  // put(row, column, value) for each output of the heads.
  template <class F>
  __device__ __forceinline__ void heads(const Held& held, const F& put) {
    if (pass_.head_rows == 16)
      heads_of<16>(held, put);
    else
      heads_of<32>(held, put);
  }

  // The gradient by one of the heads' outputs. All threads of the tile must have passed tile_barrier() since its
  // products that read the last tile's.
  __device__ __forceinline__ void put_gradient(int row, int column, float v) const {
    const auto bits = static_cast<std::uint16_t>(T::pack(v, 0.0f));
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(right(0) + number_at(kTileRows, row, column)), "h"(bits));
  }
  // The way back of a tile from the heads' gradients that were put, and what the last hidden layer made. kOwn: with
  // own_head and own_first.
  template <bool kOwn>
  __device__ __forceinline__ void backward(Held& held, int tile) {
    end_writes();
    for (int l = net_.layers - 2; l >= 0; --l) {
      Results results;
      if (l == net_.layers - 2) {
        multiply_head_down<kOwn>(results, held, tile);
      } else {
        multiply_down(results, held, l + 1);
        load(held, net_.layer[l].y, tile);
      }
      const bool keep = (!kOwn || l > 0 || !pass_.own_first) && tile < tiles_;
      char* const to = kept(net_.layer[l].d, tile);
      with_chain_activation(pass_.activation, [&](auto activation) {
        constexpr Activation kActivation = decltype(activation)::value;
#pragma unroll
        for (int k = 0; k < kSteps; ++k) {
#pragma unroll
          for (int i = 4 * k; i < 4 * k + 4; ++i)
            held[i] = slope_pair<T, kActivation>(results[2 * i], results[2 * i + 1], held[i]);
          if (keep) keep_step(to, k, held);
        }
      });
    }
    if (kOwn && pass_.own_first) add_gradient(held, right_inputs(), first_sums(), pass_.inputs + 1);
    tile_barrier();  // others write next where these products read
  }
  // What a layer made on a way forward.
  __device__ __forceinline__ void load(Held& held, void* from, int tile) const {
    const char* at = kept(from, tile);
    if (kRing && tile >= tiles_) {
#pragma unroll
      for (int i = 0; i < kN / 4; ++i) held[i] = 0;
      return;
    }
#pragma unroll
    for (int i = 0; i < kN / 4; ++i) held[i] = *reinterpret_cast<const std::uint32_t*>(at + step_place(i));
  }

  __device__ __forceinline__ LossTerms* terms() const {  // a row's
    return reinterpret_cast<LossTerms*>(own(pass_.memory.terms));
  }
  __device__ __forceinline__ float* scores() const {  // [rows, score_stride]
    return reinterpret_cast<float*>(terms() + kTileRows);
  }
  // [outputs, kN], and [inputs and one more, kN]: the last row is the biases'
  __device__ __forceinline__ float* head_sums() const { return reinterpret_cast<float*>(own(pass_.memory.head_sums)); }
  __device__ __forceinline__ float* first_sums() const {
    return reinterpret_cast<float*>(own(pass_.memory.first_sums));
  }
  // What another slot has at the place where this one has p.
  template <class P>
  __device__ __forceinline__ P* of_slot(P* p, int other) const {
    return reinterpret_cast<P*>(reinterpret_cast<std::byte*>(p) + (other - slot_) * pass_.memory.slot_bytes);
  }
  __device__ __forceinline__ const ChainPass& pass() const { return pass_; }
  __device__ __forceinline__ const ChainNet& net() const { return net_; }
  __device__ __forceinline__ int outputs() const { return outputs_; }

 private:
  __device__ __forceinline__ float bias_of(const LayerSizes& s, int o) const {
    return o < s.out ? pass_.parameters[s.bias_at(o)] : 0.0f;
  }
  // Pairs of columns that one thread needs one after another lie side by side.
  __device__ __forceinline__ static int bias_place(int o) {
    return o / 16 * 16 + o % 8 / 2 * 4 + o / 8 % 2 * 2 + o % 2;
  }
  __device__ __forceinline__ float* bias(int l) const {
    return reinterpret_cast<float*>(memory_ + pass_.memory.biases) + l * kN;
  }
  // A place of this thread's tile; the barriers of weights.
  __device__ __forceinline__ std::byte* own(int at) const { return memory_ + slot_at_ + at; }
  __device__ __forceinline__ unsigned barriers() const { return weights_ + pass_.memory.barriers; }
  // Panels of a layer whose gradient is added up here.
  __device__ __forceinline__ unsigned staged() const { return weights_ + slot_at_ + pass_.memory.staged; }
  // The tile's operands, sixteen columns each: gradients by the heads' outputs, then inputs.
  __device__ __forceinline__ unsigned right(int sixteen) const {
    return weights_ + slot_at_ + sixteen * Places::kRightBytes;
  }
  __device__ __forceinline__ unsigned right_inputs() const { return right(pass_.head_rows / 16); }
  // Where the pairs lie that this thread holds: the first in its tile's memory [bytes], the others after it.
  __device__ __forceinline__ static int place() { return number_at(kTileRows, row(), column()); }
  __device__ __forceinline__ static constexpr int step_place(int i) {
    return number_at(kTileRows, i % 2 * 8, i / 2 * 8);
  }
  // Where this thread's first pair of a tile lies in what is kept of a layer, and its pairs of sixteen columns there.
  __device__ __forceinline__ static char* kept(void* layer, int tile) {
    return static_cast<char*>(layer) + static_cast<std::int64_t>(tile) * kTileBytes + place();
  }
  __device__ __forceinline__ static void keep_step(char* to, int k, const Held& held) {
#pragma unroll
    for (int i = 4 * k; i < 4 * k + 4; ++i) *reinterpret_cast<std::uint32_t*>(to + step_place(i)) = held[i];
  }
  // Pairs of this thread in shared memory. Their order among each other and with barriers is the program's; other code
  // may move around them.
  template <int kCount>
  __device__ __forceinline__ static void put_pairs(unsigned to, const std::uint32_t* pairs) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + place() + step_place(i)), "r"(pairs[i]));
  }
  __device__ __forceinline__ static void get_pairs(std::uint32_t* pairs, unsigned from) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(pairs[i]) : "r"(from + place() + step_place(i)));
  }
  __device__ __forceinline__ void end_writes() const {
    show_to_engines();
    tile_barrier();
  }

  // In one thread: barriers, and all weights on their way. A barrier for each layer, so that the first one need not
  // wait for the others.
  __device__ __forceinline__ void begin_weights() {
    if constexpr (kRing) {
      ring_.init(kConsumers / 32);
    } else {
      for (int l = 0; l < net_.layers; ++l) barrier_init(barriers() + 8 * l, 1);
      barrier_init_done();
      unsigned to = weights_;
      for (int l = 0; l < net_.layers; ++l) {
        const int bytes = image_bytes(pass_, net_, l);
        barrier_expect(barriers() + 8 * l, bytes);
        bulk_load(to, net_.layer[l].image, bytes, barriers() + 8 * l);
        to += bytes;
      }
    }
  }
  // Where a layer's weights are that have stayed since they came.
  __device__ __forceinline__ unsigned weights(int l) const {
    barrier_wait(barriers() + 8 * l, 0);
    return weights_ + (l == 0 ? 0 : 2 * kN * (pass_.columns + (l - 1) * kN));
  }
  __device__ __forceinline__ void bring(const void* image, int stages) {
    for (int i = 0; i < stages; ++i)
      ring_.fill(Places::kStageBytes, [&](unsigned to, unsigned full) {
        bulk_load(to, static_cast<const std::byte*>(image) + i * Places::kStageBytes, Places::kStageBytes, full);
      });
  }
  __device__ __forceinline__ void bring_head() {
    const int bytes = 2 * kN * pass_.head_rows;
    ring_.fill(bytes,
               [&](unsigned to, unsigned full) { bulk_load(to, net_.layer[net_.layers - 1].image, bytes, full); });
  }

  static constexpr int kStepBytes = 2 * 16 * kN;  // sixteen columns of a hidden layer's image

  // results = held * weights^T: sums over the inputs.
  __device__ __forceinline__ void multiply(Results& results, const Held& held, int l) {
    if constexpr (kRing) {
      multiply_stages(results, held);
    } else {
      const std::uint64_t from = operand_at<false>(weights(l), kN);
      open_products();
#pragma unroll
      for (int k = 0; k < kSteps; ++k)
        held_product<T, kN, false>(results, held + 4 * k, operand_after(from, k * kStepBytes), k > 0);
      close_products();
      wait_products<0>();
    }
  }
  // results = held * weights: sums over the outputs.
  __device__ __forceinline__ void multiply_down(Results& results, const Held& held, int l) {
    if constexpr (kRing) {
      multiply_stages(results, held);  // of the turned image
    } else {
      const std::uint64_t from = operand_at<true>(weights(l), kN);
      open_products();
#pragma unroll
      for (int k = 0; k < kSteps; ++k)
        held_product<T, kN, true>(results, held + 4 * k, operand_after(from, number_at(kN, 16 * k, 0)), k > 0);
      close_products();
      wait_products<0>();
    }
  }
  __device__ __forceinline__ void multiply_stages(Results& results, const Held& held) {
    constexpr int kStageSteps = Places::kStageColumns / 16;
#pragma unroll
    for (int s = 0; s < kSteps / kStageSteps; ++s)
      ring_.use([&](unsigned from) {
#pragma unroll
        for (int k = 0; k < kStageSteps; ++k)
          held_product<T, kN, false>(results, held + 4 * (s * kStageSteps + k),
                                     operand_at<false>(from + k * kStepBytes, kN), s > 0 || k > 0);
      });
    ring_.drain();
  }
  // results = inputs * weights^T of the first layer. A first layer whose gradient is added up here leaves its inputs,
  // and a one for the biases, beside the heads' gradients.
  template <bool kKeep>
  __device__ __forceinline__ void multiply_inputs(Results& results, int tile, const ChainRows& inputs) {
    const std::int64_t first_row = static_cast<std::int64_t>(tile) * kTileRows + row();
    const float* const rows[] = {inputs.row(first_row, pass_), inputs.row(first_row + 8, pass_)};
    const int one = pass_.own_first ? pass_.inputs : -1;
    // pairs of sixteen columns from `first` on
    const auto read = [&](std::uint32_t* to, int first) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int c = first + i / 2 * 8 + column();
        const auto value = [&](int c) { return c == one ? 1.0f : inputs.value(rows[i % 2], c, pass_.inputs); };
        to[i] = T::pack(value(c), value(c + 1));
      }
    };
    if constexpr (!kRing) {
      if (pass_.columns == 16) {
        std::uint32_t pairs[4];
        read(pairs, 0);
        if (pass_.own_first)
          put_pairs<4>(right_inputs(), pairs);
        else if (kKeep)
          keep_inputs<4>(pairs, tile, 0);
        return multiply_few<1>(results, pairs, 0);
      }
    }
    constexpr int kAtOnce = kPanelColumns / 16;
    for (int first = 0; first < pass_.columns; first += kPanelColumns) {
      std::uint32_t pairs[4 * kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) read(pairs + 4 * k, first + 16 * k);
      if (kKeep) keep_inputs<4 * kAtOnce>(pairs, tile, first);
      multiply_few<kAtOnce>(results, pairs, first);
    }
  }
  template <int kCount>
  __device__ __forceinline__ void keep_inputs(const std::uint32_t* pairs, int tile, int first) const {
    if (blockIdx.x % pass_.nets != 0 || tile >= tiles_) return;
    const std::int64_t panel = static_cast<std::int64_t>(tile) * panels_of(pass_.inputs) + first / kPanelColumns;
    char* const at = static_cast<char*>(kept_inputs_) + panel * kPanelBytes + place();
#pragma unroll
    for (int i = 0; i < kCount; ++i) *reinterpret_cast<std::uint32_t*>(at + step_place(i)) = pairs[i];
  }
  // kCount steps of inputs from column `first` on.
  template <int kCount>
  __device__ __forceinline__ void multiply_few(Results& results, const std::uint32_t* pairs, int first) {
    const auto step = [&](unsigned from, int k) {
      held_product<T, kN, false>(results, pairs + 4 * k, operand_at<false>(from, kN), first > 0 || k > 0);
    };
    if constexpr (kRing) {
      constexpr int kStageSteps = Places::kStageColumns / 16;
#pragma unroll
      for (int s = 0; s < kCount / kStageSteps; ++s)
        ring_.use([&](unsigned from) {
#pragma unroll
          for (int k = 0; k < kStageSteps; ++k) step(from + k * kStepBytes, s * kStageSteps + k);
        });
      ring_.drain();
    } else {
      const unsigned from = weights(0) + first / 16 * kStepBytes;
      open_products();
#pragma unroll
      for (int k = 0; k < kCount; ++k) step(from + k * kStepBytes, k);
      close_products();
      wait_products<0>();
    }
  }

  // f(weights of the heads): queues products that read them; they are done afterwards.
  template <class F>
  __device__ __forceinline__ void with_head(const F& f) {
    if constexpr (kRing) {
      ring_.use(f);
      ring_.drain();
    } else {
      const unsigned from = weights(net_.layers - 1);
      open_products();
      f(from);
      close_products();
      wait_products<0>();
    }
  }
  template <int kRows, class F>
  __device__ __forceinline__ void heads_of(const Held& held, const F& put) {
    float h[kRows / 2];
    with_head([&](unsigned address) {
      const std::uint64_t from = operand_at<false>(address, kRows);
#pragma unroll
      for (int k = 0; k < kSteps; ++k)
        held_product<T, kRows, false>(h, held + 4 * k, operand_after(from, number_at(kRows, 0, 16 * k)), k > 0);
    });
    const float* const b = bias(hidden_layers(pass_));
#pragma unroll
    for (int i = 0; i < kRows / 2; ++i) {
      const int c = i / 4 * 8 + column() + i % 2;
      put(row() + i % 4 / 2 * 8, c, h[i] + b[c]);
    }
  }
  // results = gradients by the heads' outputs * weights. With what the last layer made, `held`, the gradients become
  // those of the heads' weights here, or go to global memory for chain_gradient.
  template <bool kOwn>
  __device__ __forceinline__ void multiply_head_down(Results& results, const Held& held, int tile) {
    const bool two = pass_.head_rows > 16;
    std::uint32_t pairs[8];
    get_pairs(pairs, right(0));
    if (two) get_pairs(pairs + 4, right(1));
    if (kOwn && pass_.own_head) {
      add_gradient(held, right(0), head_sums(), outputs_);
    } else if (tile < tiles_) {
      const std::int64_t first = static_cast<std::int64_t>(tile) * kPanelBytes;
      char* const at = static_cast<char*>(net_.layer[net_.layers - 1].d) + first + place();
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (i < 4 || two) *reinterpret_cast<std::uint32_t*>(at + step_place(i)) = pairs[i];
    }
    const int rows = pass_.head_rows;
    with_head([&](unsigned address) {
      const std::uint64_t from = operand_at<true>(address, rows);
      held_product<T, kN, true>(results, pairs, from, false);
      if (two) held_product<T, kN, true>(results, pairs + 4, operand_after(from, number_at(rows, 16, 0)), true);
    });
  }
  // sums [columns, kN] += right^T held over the tile's rows: right has 16 columns, of which `columns` count.
  __device__ __forceinline__ void add_gradient(const Held& held, unsigned right, float* sums, int columns) const {
    constexpr int kStaged = Places::kStagedPanels, kPairs = kPanelColumns / 4;  // of a panel
    const std::uint64_t from = operand_at<true>(staged(), kTileRows), by = operand_at<true>(right, kTileRows);
#pragma unroll
    for (int m = 0; m < kPanels; m += kStaged) {
      tile_barrier();  // the last products have read
      put_pairs<kStaged * kPairs>(staged(), held + m * kPairs);
      end_writes();
      float h[kStaged][8];
      open_products();
#pragma unroll
      for (int p = 0; p < kStaged; ++p)
#pragma unroll
        for (int k = 0; k < kTileRows; k += 16)
          group_product<T, 16, true, true>(h[p], operand_after(from, p * kPanelBytes + number_at(kTileRows, k, 0)),
                                           operand_after(by, number_at(kTileRows, k, 0)), k > 0);
      close_products();
      wait_products<0>();
      float* const to = sums + m * kPanelColumns + row() + column() * kN;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int c = i / 4 * 8 + i % 2, r = i % 4 / 2 * 8;
        if (c + column() >= columns) continue;
#pragma unroll
        for (int p = 0; p < kStaged; ++p) to[c * kN + r + p * kPanelColumns] += h[p][i];
      }
    }
  }

  const ChainPass& pass_;
  const ChainNet& net_;
  const int slot_;  // which of the block's tiles this thread works at
  const int outputs_, tiles_;
  const int slot_at_;  // where the tile's own place begins
  void* const kept_inputs_;
  const unsigned weights_;  // where shared memory begins
  std::byte* const memory_;
  StageRing ring_;
};

}  // namespace hotloop

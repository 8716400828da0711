#include "train/fused/specialize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "train/fused/args.h"
#include "train/index_permutation.h"

namespace hotloop {

const std::vector<EmbeddedSource>& fused_sources();  // written by cmake/EmbedSources.cmake

namespace {

constexpr int kGroups = 2, kGroupWarps = 4, kLossTerms = 6, kMostMinibatches = 1024;
// Partial gradients that one thread can hold in registers beside a tile's sums.
constexpr int kMostSums = 120;
constexpr int kMostOutputs = 32, kMostRecord = 64;
// Rows of a minibatch that one block passes sooner than several agree on a step.
constexpr std::int64_t kAloneRows = 256;

int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

// One network's sizes, as NetShape (net_shape.h) has them.
struct NetSizes {
  std::vector<int> widths;  // of the observation, the hidden layers and the head
  int number_bytes;

  int hidden() const { return static_cast<int>(widths.size()) - 2; }
  int width(int l) const { return widths[static_cast<std::size_t>(l)]; }
  int pad(int l) const { return round_up(width(l), 16); }
  int stride(int l) const { return pad(l) + 16 / number_bytes; }
  int head_columns() const { return round_up(widths.back(), 8); }

  int image_bytes() const {
    int weights = 0, biases = 0;
    for (int l = 0; l <= hidden(); ++l) weights += pad(l + 1) * stride(l), biases += pad(l + 1);
    return round_up(weights * number_bytes, 16) + round_up(4 * biases, 16);
  }
  int group_bytes(int rows) const {
    int numbers = rows * stride(0) + rows * stride(hidden() + 1);
    for (int l = 1; l <= hidden(); ++l) numbers += 2 * rows * stride(l);
    return round_up(numbers * number_bytes, 16) + round_up(4 * rows * head_columns(), 16);
  }
  // Gradients that one warp of a group gathers.
  int sums() const {
    int total = 0;
    for (int l = 0; l <= hidden(); ++l) {
      const bool head = l == hidden();
      const int columns = head ? head_columns() : round_up(width(l), 8);
      const bool halved = !head && columns % 32 == 0;
      const int down = halved ? 2 : 4, units = (pad(head ? l : l + 1) / 16 + down - 1) / down;
      total += units * ((halved ? columns / 2 : columns) / 2 + (head ? 0 : 4));
    }
    return total;
  }
};

struct Nets {
  NetSizes actor, critic;  // the same where one type serves both
  bool shared;
};

int number_bytes(const std::string& precision) { return precision == "fp32" ? 4 : 2; }

Nets nets(const TrainConfig& config, const PolicySpec& policy) {
  const auto hidden = [](const std::vector<LayerSpec>& layers, std::size_t leave) {
    std::vector<int> widths;
    for (std::size_t l = 0; l + leave < layers.size(); ++l) widths.push_back(static_cast<int>(layers[l].out));
    return widths;
  };
  const int obs = static_cast<int>(policy.obs_dim), head = static_cast<int>(policy.head_dim());
  const int bytes = number_bytes(config.precision);
  const auto net = [&](std::vector<int> widths, int outputs) {
    widths.insert(widths.begin(), obs);
    widths.push_back(outputs);
    return NetSizes{widths, bytes};
  };
  if (!policy.trunk.empty()) {
    const NetSizes one = net(hidden(policy.trunk, 0), head + 1);
    return {one, one, true};
  }
  NetSizes actor = net(hidden(policy.actor, 1), head), critic = net(hidden(policy.critic, 1), 1);
  // networks of equal layers share one type and so the kernel's code: the critic's head is padded to the actor's
  if (hidden(policy.actor, 1) == hidden(policy.critic, 1) && round_up(head, 8) == 8) critic = actor;
  return {actor, critic, false};
}

int lane_sums(const Nets& n, const PolicySpec& policy) {
  const int outputs = std::max(n.actor.widths.back(), n.critic.widths.back());
  return outputs + (policy.log_std >= 0 ? static_cast<int>(policy.action.dim()) : 0) + kLossTerms;
}

int group_rows(int row_tiles) { return 16 * kGroupWarps * row_tiles; }

int minibatches(const TrainConfig& c) { return static_cast<int>(c.update_epochs * c.num_minibatches); }

// At least Fused<S>::kSharedBytes, which is asserted where the kernel is compiled.
std::size_t shared_bytes(const Nets& n, const PolicySpec& policy, int row_tiles, const TrainConfig& config) {
  const int images = n.actor.image_bytes() + (n.shared ? 0 : n.critic.image_bytes());
  const int group = std::max(n.actor.group_bytes(group_rows(row_tiles)), n.critic.group_bytes(group_rows(row_tiles)));
  const int others = 1024 + kGroups * kGroupWarps * (8 * 8 + 32 * 16 + 8 * 16 + 4 * lane_sums(n, policy)) +
                     static_cast<int>(policy.action.dim()) * 4 + minibatches(config) * 8 +
                     static_cast<int>(config.update_epochs + 1) * static_cast<int>(sizeof(IndexPermutation)) +
                     static_cast<int>(policy.obs_dim) * 8 + 64;
  return static_cast<std::size_t>(images + kGroups * group + round_up(others, 16));
}

std::int64_t minibatch_rows(const TrainConfig& c) { return c.num_envs * c.num_steps / c.num_minibatches; }

// Row tiles of a warp: two where the card has room for them, as rows that pass together share what is loaded of the
// weights.
std::optional<int> row_tiles(const TrainConfig& config, const PolicySpec& policy, const FusedLimits& limits) {
  const Nets n = nets(config, policy);
  const std::int64_t rows = minibatch_rows(config);
  const std::int64_t most_blocks = rows <= kAloneRows ? (n.shared ? kGroups : 1) : limits.multiprocessors;
  for (const int tiles : {2, 1}) {
    if (tiles == 2 && number_bytes(config.precision) == 4) continue;  // fp32: four rows a lane fill the registers
    // few rows: smaller tiles on more multiprocessors
    if (tiles == 2 && rows <= group_rows(1) * most_blocks) continue;
    if (shared_bytes(n, policy, tiles, config) <= limits.shared_bytes) return tiles;
  }
  return std::nullopt;
}

}  // namespace

FusedLimits fused_limits(Device device) {
  const CudaDeviceInfo card = cuda_device_info(device.index);
  return {std::min(card.sm_count, 255), card.shared_per_block};  // 255: what the exchange of norms can count
}

std::string why_not_fused(const TrainConfig& config, const EnvEntry& env, const PolicySpec& policy,
                          const FusedLimits& limits) {
  const auto hidden_sizes = [&] {
    return fmt::format("hidden_sizes [{}]", fmt::join(config.hidden_sizes, ", ")) +
           (config.critic_hidden_sizes.empty()
                ? std::string()
                : fmt::format(" and critic_hidden_sizes [{}]", fmt::join(config.critic_hidden_sizes, ", ")));
  };
  if (config.algo != "ppo") return "algo " + config.algo + " on a GPU";
  if (env.built_in < 0)
    return env.spec.name + " (a task of one thread a world that the program carries as source is taken)";
  if (env.per_lane) return env.spec.name + ", whose worlds are stepped by groups of lanes";
  if (policy.has_action_mask) return "the action mask of " + env.spec.name;
  if (config.precision == "tf32") return "precision tf32 (fp32, fp16 and bf16 are taken)";
  if (minibatches(config) > kMostMinibatches)
    return fmt::format("update_epochs {} x num_minibatches {}, more than {}", config.update_epochs,
                       config.num_minibatches, kMostMinibatches);
  if (config.num_envs * config.num_steps > 1'000'000'000)
    return fmt::format("num_envs {} x num_steps {}, more than 10^9", config.num_envs, config.num_steps);
  const Nets n = nets(config, policy);
  const int record = static_cast<int>(policy.obs_dim + policy.action.dim()) + 3;
  if (n.actor.widths.back() > kMostOutputs || record > kMostRecord)
    return fmt::format("{} numbers an observation and {} outputs of the policy", policy.obs_dim, n.actor.widths.back());
  if (std::max(n.actor.sums(), n.critic.sums()) > kMostSums) return hidden_sizes() + ": too wide for its registers";
  if (!row_tiles(config, policy, limits))
    return hidden_sizes() +
           fmt::format(": more than the {} bytes of shared memory that a block has", limits.shared_bytes);
  return {};
}

FusedShape fused_shape(const TrainConfig& config, const PolicySpec& policy, const FusedLimits& limits) {
  const Nets n = nets(config, policy);
  FusedShape s;
  s.row_tiles = *row_tiles(config, policy, limits);
  s.threads = 32 * kGroups * kGroupWarps;
  const int parts = n.shared ? kGroups : kGroups / 2, tile_rows = parts * group_rows(s.row_tiles);
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  s.tile_blocks = s.blocks = 1;
  if (minibatch_rows(config) > kAloneRows) {
    // as few blocks as pass a minibatch in as many rounds as all multiprocessors would, none idle in the last
    const std::int64_t tiles = ceil_div(minibatch_rows(config), tile_rows);
    const std::int64_t rounds = ceil_div(tiles, limits.multiprocessors);
    s.tile_blocks = static_cast<int>(ceil_div(tiles, rounds));
    // more, where that leaves each a slice of the parameters that its threads step at once
    const std::int64_t steppers = std::min<std::int64_t>(limits.multiprocessors, ceil_div(policy.num_parameters, 512));
    s.blocks = std::max(s.tile_blocks, static_cast<int>(steppers));
  }
  s.block_envs = static_cast<int>(ceil_div(config.num_envs, s.blocks));
  s.slice = round_up(static_cast<int>(ceil_div(policy.num_parameters, s.blocks)), 4);
  s.partials = parts * s.tile_blocks;
  s.record = round_up(static_cast<int>(policy.obs_dim + policy.action.dim()) + 3, 4);
  s.loss_rows = kGroups * s.tile_blocks;
  if (s.blocks == 1 && parts == 1) s.own = 3 * std::max(n.actor.sums(), n.critic.sums()) * s.threads;
  s.shared_bytes = shared_bytes(n, policy, s.row_tiles, config);
  const std::size_t array = static_cast<std::size_t>(s.own / 3) * sizeof(float);
  while (array > 0 && s.fast_arrays < 3 && s.shared_bytes + array <= limits.shared_bytes)
    ++s.fast_arrays, s.shared_bytes += array;
  return s;
}

namespace {

// Exact, as C++ has it; infinite bounds become the largest number.
std::string number(float value) {
  char buffer[64];
  const float most = std::numeric_limits<float>::max();
  std::snprintf(buffer, sizeof buffer, "%af", static_cast<double>(std::clamp(value, -most, most)));
  return buffer;
}

std::string array(const std::string& type, const std::string& name, const std::vector<std::string>& values) {
  return fmt::format("__device__ const {} {}[] = {{{}}};\n", type, name,
                     values.empty() ? "0" : fmt::format("{}", fmt::join(values, ", ")));
}

// "int NAME(int net, int l)" with a place in the flat buffer for every layer of either network.
std::string table(const std::string& name, const std::vector<std::int64_t>& first,
                  const std::vector<std::int64_t>& second) {
  std::vector<std::int64_t> a = first, b = second;
  const std::size_t n = std::max<std::size_t>(1, std::max(a.size(), b.size()));
  a.resize(n), b.resize(n);
  return fmt::format(
      "  static int {}(int net, int l) {{\n    constexpr int a[] = {{{}}}, b[] = {{{}}};\n"
      "    return net == 0 ? a[l] : b[l];\n  }}\n",
      name, fmt::join(a, ", "), fmt::join(b, ", "));
}

std::string net_type(const NetSizes& n, const std::string& number_type) {
  std::string text = fmt::format("NetShape<{}, {}, {}", number_type, n.widths.front(), n.widths.back());
  for (int l = 1; l <= n.hidden(); ++l) text += fmt::format(", {}", n.width(l));
  return text + ">";
}

std::string offsets(const PolicySpec& policy) {
  const bool shared = !policy.trunk.empty();
  const std::vector<LayerSpec>& first = shared ? policy.trunk : policy.actor;
  const auto places = [](const std::vector<LayerSpec>& layers, std::size_t leave, bool weights) {
    std::vector<std::int64_t> at;
    for (std::size_t l = 0; l + leave < layers.size(); ++l) at.push_back(weights ? layers[l].weight : layers[l].bias);
    return at;
  };
  const std::size_t leave = shared ? 0 : 1;
  const std::vector<LayerSpec> none;
  const std::vector<LayerSpec>& second = shared ? none : policy.critic;
  const LayerSpec &actor = policy.actor.back(), &critic = policy.critic.back();
  std::string text = table("layer_weight", places(first, leave, true), places(second, leave, true)) +
                     table("layer_bias", places(first, leave, false), places(second, leave, false));
  const std::int64_t head = policy.head_dim();
  const std::string value = shared ? fmt::format("output == {}", head) : "net == 1";
  text += fmt::format("  static int outputs(int net) {{ return {}; }}\n",
                      shared ? std::to_string(head + 1) : fmt::format("net == 0 ? {} : 1", head));
  text += fmt::format("  static int head_weight(int net, int output) {{ return {} ? {} : {} + {} * output; }}\n", value,
                      critic.weight, actor.weight, actor.in);
  text += fmt::format("  static int head_bias(int net, int output) {{ return {} ? {} : {} + output; }}\n", value,
                      critic.bias, actor.bias);
  return text;
}

bool even_offsets(const PolicySpec& policy) {
  for (const auto* layers : {&policy.trunk, &policy.actor, &policy.critic})
    for (const LayerSpec& l : *layers)
      if (l.weight % 2 != 0) return false;
  return true;
}

constexpr const char* kKernelText = R"(#include "sim/envs/env_list.h"
#include "train/fused/kernel.h"
namespace hotloop {{
{arrays}struct Special {{
  using Env = EnvAt<{env}, BuiltInEnvs>::type;
  using Actor = {actor};
  using Critic = {critic};
  static constexpr bool kShared = {shared}, kStateStd = {state_std}, kEvenOffsets = {even};
  static constexpr bool kNormalizeObservation = {normalize_observation}, kNormalizeReward = {normalize_reward};
  static constexpr bool kWideBarriers = {wide};
  static constexpr Activation kActivation = Activation::{activation};
  static constexpr HeadKind kHead = static_cast<HeadKind>({head});
  static constexpr int kHeadDim = {head_dim}, kActionDim = {action_dim}, kParameters = {parameters};
  static constexpr int kLogStd = {log_std}, kBlocks = {blocks}, kTileBlocks = {tile_blocks}, kBlockEnvs = {block_envs}, kGroups = {groups};
  static constexpr int kRowTiles = {row_tiles}, kSlice = {slice}, kFastArrays = {fast_arrays};
  static constexpr std::uint32_t kRows = {rows};
  static constexpr int kEpochs = {epochs}, kEpochMinibatches = {minibatches}, kMinibatchRows = {minibatch_rows};
  static constexpr bool kPopulation = {population};
  static const std::int32_t* nvec() {{ return k_nvec; }}
  static const float* low() {{ return k_low; }}
  static const float* high() {{ return k_high; }}
{offsets}}};
static_assert(Fused<Special>::kSharedBytes <= {shared_bytes});
static_assert(Fused<Special>::kRecord == {record});
static_assert(Fused<Special>::kPartials == {partials});
static_assert(Fused<Special>::kAlone == ({own} > 0) &&
              (!Fused<Special>::kAlone || 3 * Fused<Special>::kMostSums * Fused<Special>::kThreads == {own}));
}}  // namespace hotloop
extern "C" __global__ void __launch_bounds__({threads}, 1)
    special_kernel(const __grid_constant__ hotloop::FusedArgs args) {{
  hotloop::Fused<hotloop::Special>(args).run();
}}
)";

}  // namespace

// HOTLOOP_WIDE_BARRIERS: for race checkers, see kernel_base.h.
SpecialKernelSource fused_source(const TrainConfig& config, const EnvEntry& env, const PolicySpec& policy,
                                 const FusedShape& shape, bool population) {
  const Nets n = nets(config, policy);
  std::vector<std::string> nvec, low, high;
  for (const std::int64_t k : policy.action.nvec) nvec.push_back(std::to_string(k));
  for (const float x : policy.action.low) low.push_back(number(x));
  for (const float x : policy.action.high) high.push_back(number(x));
  const std::string type =
      config.precision == "fp32" ? "float" : (config.precision == "bf16" ? "Bf16Bits" : "Fp16Bits");
  SpecialKernelSource source;
  source.name = "the fused road of " + env.spec.name;
  source.exact = true;
  source.headers = &fused_sources();
  source.code = fmt::format(
      kKernelText,
      fmt::arg("arrays",
               array("std::int32_t", "k_nvec", nvec) + array("float", "k_low", low) + array("float", "k_high", high)),
      fmt::arg("env", env.built_in), fmt::arg("actor", net_type(n.actor, type)),
      fmt::arg("critic", net_type(n.critic, type)), fmt::arg("shared", n.shared),
      fmt::arg("state_std", policy.state_std), fmt::arg("even", even_offsets(policy)),
      fmt::arg("normalize_observation", policy.normalize_observation),
      fmt::arg("normalize_reward", config.normalize_reward),
      fmt::arg("wide", std::getenv("HOTLOOP_WIDE_BARRIERS") != nullptr), fmt::arg("activation", config.activation),
      fmt::arg("head", static_cast<int>(policy.head)), fmt::arg("head_dim", policy.head_dim()),
      fmt::arg("action_dim", policy.action.dim()), fmt::arg("parameters", policy.num_parameters),
      fmt::arg("log_std", policy.log_std), fmt::arg("blocks", shape.blocks), fmt::arg("tile_blocks", shape.tile_blocks),
      fmt::arg("block_envs", shape.block_envs), fmt::arg("groups", kGroups), fmt::arg("row_tiles", shape.row_tiles),
      fmt::arg("slice", shape.slice), fmt::arg("epochs", config.update_epochs),
      fmt::arg("minibatches", config.num_minibatches), fmt::arg("rows", config.num_envs * config.num_steps),
      fmt::arg("minibatch_rows", minibatch_rows(config)), fmt::arg("population", population),
      fmt::arg("offsets", offsets(policy)), fmt::arg("shared_bytes", shape.shared_bytes),
      fmt::arg("record", shape.record), fmt::arg("own", shape.own), fmt::arg("fast_arrays", shape.fast_arrays),
      fmt::arg("partials", shape.partials), fmt::arg("threads", shape.threads));
  return source;
}

}  // namespace hotloop

// Small trajectory logs of made-up values, for tests of what writes and reads them.
#pragma once
#include <cstring>
#include <filesystem>
#include <vector>

#include "data/log/log_writer.h"

namespace hotloop {

inline LogSpec small_log_spec(std::int64_t worlds = 5, std::int64_t steps = 4, std::size_t state_bytes = 48) {
  LogSpec spec;
  spec.info = {"Task-v0", "task = \"Task-v0\"\n", "0.0.0", "cpu", "train", "{}", "{}", 7, worlds + 2, steps, 100};
  spec.keys = {describe_log_key("action", DType::i64, {}), describe_log_key("next/reward", DType::f32, {1}),
               describe_log_key("next/terminated", DType::boolean, {1}),
               describe_log_key("observation", DType::f32, {3})};
  for (std::int64_t w = 0; w < worlds; ++w) spec.env_index.push_back(static_cast<std::int32_t>(w + 1));
  spec.obs_dim = 3;
  spec.state_bytes = state_bytes;
  spec.expected_iterations = 100;
  return spec;
}

// Values are a function of key, iteration, row, world and component.
struct SmallIteration {
  explicit SmallIteration(const LogSpec& spec, std::int64_t index) {
    const auto worlds = static_cast<std::int64_t>(spec.env_index.size()), steps = spec.info.num_steps;
    for (std::size_t k = 0; k < spec.keys.size(); ++k) {
      std::vector<std::byte>& bytes =
          storage.emplace_back(spec.keys[k].bytes() * static_cast<std::size_t>(steps * worlds));
      for (std::int64_t i = 0; i < steps * worlds * spec.keys[k].numel(); ++i)
        set(bytes, spec.keys[k].dtype, i, value(static_cast<std::int64_t>(k), index, i));
    }
    for (const std::vector<std::byte>& bytes : storage) iteration.leaves.push_back(bytes.data());
    for (std::int64_t i = 0; i < worlds * spec.obs_dim; ++i) last.push_back(static_cast<float>(value(20, index, i)));
    for (std::size_t i = 0; i < spec.state_bytes; ++i)
      state.push_back(static_cast<std::byte>(value(21, index, static_cast<std::int64_t>(i))));
    iteration.index = index;
    iteration.global_step = index * steps * worlds;
    iteration.last_observation = last.data();
    iteration.state = state.data();
    for (std::int64_t row = 0; row < steps; ++row) {
      iteration.final_row.push_back(row);
      iteration.final_env.push_back(static_cast<std::int32_t>((row + index) % worlds));
      for (std::int64_t i = 0; i < spec.obs_dim; ++i)
        iteration.final_observation.push_back(static_cast<float>(value(22 + row, index, i)));
    }
  }
  static std::int64_t value(std::int64_t key, std::int64_t index, std::int64_t i) {
    return (key * 1009 + index * 101 + i * 7) % 126 + 1;  // also as a byte, and never 0
  }
  static void set(std::vector<std::byte>& bytes, DType dtype, std::int64_t i, std::int64_t value) {
    const auto put = [&](auto v) { std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof v, &v, sizeof v); };
    if (dtype == DType::f32) put(static_cast<float>(value));
    if (dtype == DType::i64) put(value);
    if (dtype == DType::boolean) put(static_cast<std::uint8_t>(value % 2));
  }

  LogIteration iteration;
  std::vector<std::vector<std::byte>> storage;
  std::vector<float> last;
  std::vector<std::byte> state;
};

inline void write_small_log(const std::filesystem::path& path, const LogSpec& spec, const LogWriterOptions& options,
                            std::int64_t begin, std::int64_t end) {
  LogWriter writer(path, spec, options);
  for (std::int64_t i = begin; i < end; ++i) writer.append(SmallIteration(spec, i).iteration);
  writer.close();
}

}  // namespace hotloop

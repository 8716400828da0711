// The goldens of Gymnasium's MuJoCo tasks (tests/golden/gymnasium_mujoco; made by
// tests/mujoco/make_gymnasium_golden.py, which says what is in the files).
#pragma once
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "sim/core/env.h"

namespace hotloop {

inline Safetensors golden(const std::string& task) {
  return Safetensors::read(std::string(HOTLOOP_SOURCE_DIR "/tests/golden/gymnasium_mujoco/") + task + ".safetensors",
                           {.require_checksum = false});
}

// The options of a variant, as a user would write them.
inline EnvOptions variant_options(const Safetensors& file, std::size_t variant) {
  EnvOptions options;
  const auto all = nlohmann::json::parse(file.metadata_value("variants"));
  for (const auto& [key, value] : all.at(variant).items())
    options.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  return options;
}

inline std::size_t num_variants(const Safetensors& file) {
  return nlohmann::json::parse(file.metadata_value("variants")).size();
}

// A table of rows.
struct Column {
  std::vector<double> values;
  std::size_t width = 0;
  const double* row(std::size_t r) const { return &values[r * width]; }
};

inline Column column(const Safetensors& file, const std::string& name) {
  const NamedTensor& t = file.get(name);
  Column c;
  if (t.dtype == DType::f64) c.values = file.values<double>(name);
  if (t.dtype == DType::f32)
    for (const float x : file.values<float>(name)) c.values.push_back(x);
  if (t.dtype == DType::boolean)
    for (const std::byte x : t.bytes) c.values.push_back(static_cast<double>(x));
  c.width = c.values.size() / static_cast<std::size_t>(t.shape[0]);
  return c;
}

// What a step pays beside the terms that Gymnasium's info names.
inline double unnamed_reward(const std::string& task) { return task == "HumanoidStandup-v5" ? 1 : 0; }

// Largest difference of n numbers.
template <class A>
double distance(const A* a, const double* b, std::size_t n) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - b[i]);
    most = d <= most ? most : d;  // NaN counts
  }
  return most;
}
inline double scale(const double* b, std::size_t n) {
  double most = 1;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(b[i]));
  return most;
}

}  // namespace hotloop

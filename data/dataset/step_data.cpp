#include "data/dataset/step_data.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/dataset/episode.h"
#include "data/file.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMaxMeta = 1 << 20;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 40;

json read_meta(const fs::path& folder) {
  const fs::path path = folder / "meta.json";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    throw Error(folder.string() +
                ": is no TensorDict folder (no meta.json); make one with: record ... --format tensordict");
  json meta = json::parse(read_file(path, kMaxMeta), nullptr, false);
  if (!meta.is_object()) throw Error(path.string() + ": is no JSON object");
  return meta;
}

// The rows of leaf `name`, after its element type and the shape of a row were seen to be as wanted.
std::int64_t check_leaf(const fs::path& folder, const json& meta, const char* name, const std::string& dtype,
                        std::int64_t width, bool flat) {
  const std::string what = (folder / "meta.json").string() + ": " + name;
  const auto leaf = meta.find(name);
  if (leaf == meta.end() || !leaf->is_object()) throw Error(what + ": is missing");
  const auto type = leaf->find("dtype"), shape = leaf->find("shape");
  if (type == leaf->end() || *type != "torch." + dtype)
    throw Error(
        fmt::format("{}: dtype {}: must be torch.{}", what, type == leaf->end() ? "missing" : type->dump(), dtype));
  const auto fits = [&] {
    if (shape == leaf->end() || !shape->is_array() || shape->size() != (flat ? 1 : 2)) return false;
    for (const json& size : *shape)
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kMaxRows) return false;
    return flat || (*shape)[1] == width;
  };
  if (!fits())
    throw Error(fmt::format("{}: shape {}: must be {}", what, shape == leaf->end() ? "missing" : shape->dump(),
                            flat ? "[steps]" : fmt::format("[steps, {}]", width)));
  return (*shape)[0].get<std::int64_t>();
}

MappedFile map_leaf(const fs::path& folder, const char* name, std::size_t bytes) {
  const fs::path path = folder / (std::string(name) + ".memmap");
  MappedFile file(path);
  if (file.bytes().size() != bytes)
    throw Error(fmt::format("{}: has {} bytes: must be {}", path.string(), file.bytes().size(), bytes));
  return file;
}

// Values outside of their space would be read beyond the logits, or make every gradient NaN.
void check_values(const fs::path& folder, const StepData& data, const EnvSpec& env) {
  const std::int64_t dim = env.action.dim();
  const auto finite = [&](const char* name, const float* values, std::int64_t width) {
    for (std::int64_t i = 0; i < data.rows() * width; ++i)
      if (!std::isfinite(values[i]))
        throw Error(fmt::format("{}: {}: {} at step {}: must be finite", folder.string(), name, values[i], i / width));
  };
  finite("observation", data.observation(), env.obs_dim());
  if (env.action.is_box()) return finite("action", reinterpret_cast<const float*>(data.action()), dim);
  const auto* choice = reinterpret_cast<const std::int64_t*>(data.action());
  for (std::int64_t i = 0; i < data.rows() * dim; ++i) {
    const std::int64_t n = env.action.nvec[static_cast<std::size_t>(i % dim)];
    if (choice[i] < 0 || choice[i] >= n)
      throw Error(
          fmt::format("{}: action: {} at step {}: must be in [0, {}]", folder.string(), choice[i], i / dim, n - 1));
  }
}

}  // namespace

StepData::StepData(const fs::path& folder, const EnvSpec& env) {
  const json meta = read_meta(folder);
  const std::int64_t width = env.obs_dim(), dim = env.action.dim();
  rows_ = check_leaf(folder, meta, "observation", "float32", width, false);
  const bool flat = env.action.kind == ActionSpace::Kind::discrete;
  const std::int64_t actions = check_leaf(folder, meta, "action", env.action.is_box() ? "float32" : "int64", dim, flat);
  if (actions != rows_)
    throw Error(fmt::format("{}: {} observations and {} actions", (folder / "meta.json").string(), rows_, actions));
  if (rows_ == 0) throw Error(folder.string() + ": holds no step");
  observation_ = map_leaf(folder, "observation", static_cast<std::size_t>(rows_ * width) * sizeof(float));
  action_ = map_leaf(folder, "action", static_cast<std::size_t>(rows_) * action_bytes(env.action));
  check_values(folder, *this, env);
}

}  // namespace hotloop

#include "data/dataset/step_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "data/dataset/action_check.h"
#include "data/memmap_meta.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// The leaf `key`, after its element type and the shape of a row were seen to be as wanted.
MemmapEntry checked_leaf(const fs::path& folder, const MemmapMeta& meta, const char* key, DType dtype,
                         std::int64_t width, bool flat) {
  const MemmapEntry leaf = meta.entry(key);
  const std::string what = fmt::format("{}: {}", (folder / kMemmapMetaFile).string(), key);
  if (leaf.nested) throw Error(what + ": is a folder: must be a leaf");
  if (leaf.dtype != dtype)
    throw Error(fmt::format("{}: dtype torch.{}: must be torch.{}", what, dtype_name(leaf.dtype), dtype_name(dtype)));
  if (leaf.shape.size() != (flat ? 1 : 2) || (!flat && leaf.shape[1] != width))
    throw Error(fmt::format("{}: shape [{}]: must be {}", what, fmt::join(leaf.shape, ", "),
                            flat ? "[steps]" : fmt::format("[steps, {}]", width)));
  return leaf;
}

MappedFile map_leaf(const MemmapEntry& leaf) {
  MappedFile file(leaf.path);
  if (file.bytes().size() != leaf.bytes())
    throw Error(fmt::format("{}: has {} bytes: must be {}", leaf.path.string(), file.bytes().size(), leaf.bytes()));
  return file;
}

// Values outside of their space would be read beyond the logits, or make every gradient NaN.
void check_values(const fs::path& folder, const StepData& data, const EnvSpec& env) {
  for (std::int64_t i = 0; i < data.rows() * env.obs_dim(); ++i)
    if (!std::isfinite(data.observation()[i]))
      throw Error(fmt::format("{}: observation: {} at step {}: must be finite", folder.string(), data.observation()[i],
                              i / env.obs_dim()));
  if (const auto wrong = find_wrong_action(env.action, data.action(), data.rows()))
    throw Error(fmt::format("{}: action: {} at step {}: must be {}", folder.string(), wrong->value, wrong->row,
                            wrong->accepted));
}

}  // namespace

StepData::StepData(const fs::path& folder, const EnvSpec& env) {
  const MemmapMeta meta(folder);
  const std::int64_t width = env.obs_dim(), dim = env.action.dim();
  const bool flat = env.action.kind == ActionSpace::Kind::discrete;
  const MemmapEntry observation = checked_leaf(folder, meta, "observation", DType::f32, width, false);
  const MemmapEntry action = checked_leaf(folder, meta, "action", action_dtype(env.action), dim, flat);
  rows_ = observation.shape[0];
  if (action.shape[0] != rows_)
    throw Error(
        fmt::format("{}: {} observations and {} actions", (folder / kMemmapMetaFile).string(), rows_, action.shape[0]));
  if (rows_ == 0) throw Error(folder.string() + ": holds no step");
  observation_ = map_leaf(observation);
  action_ = map_leaf(action);
  check_values(folder, *this, env);
}

}  // namespace hotloop

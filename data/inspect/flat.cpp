// The formats with one row a step over all episodes: D4RL and TensorDict's memmap folders.
#include <fmt/format.h>

#include "data/dataset/describe.h"
#include "data/hdf5_read.h"
#include "data/hdf5_types.h"
#include "data/inspect/dataset_actions.h"
#include "data/inspect/inspect.h"
#include "data/inspect/leaf.h"
#include "data/memmap_meta.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 6;
constexpr std::size_t kMostEntries = 1000;
constexpr std::int64_t kBlock = 65536;

const DataLeaf* find_leaf(const std::vector<DataLeaf>& leaves, const std::string& name) {
  for (const DataLeaf& leaf : leaves)
    if (leaf.name == name) return &leaf;
  return nullptr;
}

// One number a row, read along with its fellows.
class Column {
 public:
  Column(const std::vector<DataLeaf>& leaves, const char* name, bool wanted, Report& report)
      : leaf_(find_leaf(leaves, name)) {
    if (leaf_ && leaf_->dtype && leaf_->row_numel() == 1) return;
    if (leaf_ || wanted) report.problem(std::string(name) + (leaf_ ? ": is not one number a step" : " is missing"));
    leaf_ = nullptr;
  }
  explicit operator bool() const { return leaf_ != nullptr; }
  std::int64_t rows() const { return leaf_->rows; }
  void load(std::int64_t row, std::int64_t rows) {
    if (!leaf_) return;
    values_.resize(static_cast<std::size_t>(rows) * dtype_size(*leaf_->dtype));
    leaf_->read(row, rows, values_.data());
  }
  double operator[](std::int64_t i) const {
    return leaf_ ? leaf_number(*leaf_->dtype, values_.data() + static_cast<std::size_t>(i) * dtype_size(*leaf_->dtype))
                 : 0;
  }

 private:
  const DataLeaf* leaf_;
  std::vector<std::byte> values_;
};

struct Names {
  const char *action, *reward, *terminated, *truncated, *done, *episode;
};

// Walks the steps in their order and cuts them into episodes.
void read_steps(const std::vector<DataLeaf>& leaves, const Names& names, bool must_end, Report& report) {
  Column reward(leaves, names.reward, true, report), terminated(leaves, names.terminated, true, report),
      truncated(leaves, names.truncated, must_end, report), done(leaves, names.done, false, report),
      episode(leaves, names.episode, false, report);
  std::int64_t rows = INT64_MAX;
  for (const Column* column : {&reward, &terminated, &truncated, &done, &episode})
    if (*column) rows = std::min(rows, column->rows());
  if (!terminated || !reward || rows == INT64_MAX) return;
  std::int64_t length = 0, wrong_ids = 0, wrong_done = 0;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; row += kBlock) {
    const std::int64_t count = std::min(kBlock, rows - row);
    for (Column* column : {&reward, &terminated, &truncated, &done, &episode}) column->load(row, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const bool ends = terminated[i] != 0 || truncated[i] != 0;
      wrong_done += done && (done[i] != 0) != ends;
      wrong_ids += episode && episode[i] != static_cast<double>(report.episodes);
      sum += reward[i];
      ++length;
      if (!ends) continue;
      report.add_episode(sum, length);
      ++report.episodes;
      length = 0, sum = 0;
    }
  }
  if (wrong_ids > 0)
    report.problem(fmt::format("{}: {} steps are not of the episode that their ends say", names.episode, wrong_ids));
  if (wrong_done > 0) report.problem(fmt::format("{}: {} steps contradict the flags", names.done, wrong_done));
  if (length > 0 && must_end) report.problem(fmt::format("the last {} steps are of an episode without end", length));
}

// All leaves have one row a step.
void read_flat(const std::vector<DataLeaf>& leaves, std::int64_t steps, const Names& names, const DatasetOrigin& origin,
               Report& report) {
  DatasetActions actions(origin, report);
  report.steps = steps;
  for (const DataLeaf& leaf : leaves) {
    if (leaf.rows != steps && !leaf.name.starts_with("metadata/"))
      report.problem(fmt::format("{}: has {} rows, must have {}", leaf.name, leaf.rows, steps));
    scan_leaf(leaf, report.format, report, leaf.name == names.action ? actions.take(leaf, "") : TakeRows());
  }
  actions.finish();
  try {
    // others' files may end in the middle of an episode, and know no time limit
    read_steps(leaves, names, origin.ours, report);
  } catch (const Error& e) {
    report.problem(e.what());
  }
}

// `entries`: how many were seen; links between folders could make more of them than anyone can wait for.
void collect(const MemmapMeta& meta, const std::string& prefix, int depth, std::size_t& entries,
             std::vector<DataLeaf>& leaves, Report& report) {
  for (const std::string& key : meta.keys()) {
    const std::string name = prefix + key;
    if (++entries > kMostEntries) return report.problem(name + ": too many keys");
    try {
      MemmapEntry entry = meta.entry(key);
      if (entry.nested && depth < kMostDepth) {
        collect(MemmapMeta(entry.path), name + "/", depth + 1, entries, leaves, report);
      } else if (!entry.nested) {
        if (entry.shape.empty()) throw Error(name + ": is one value");
        const std::int64_t rows = entry.shape[0];
        entry.shape.erase(entry.shape.begin());
        leaves.push_back(raw_leaf(entry.path, name, entry.dtype, rows, std::move(entry.shape)));
      }
    } catch (const Error& e) {
      report.problem(e.what());
    }
  }
}

}  // namespace

void inspect_d4rl(OpenHdf5& file, Report& report) {
  const std::vector<DataLeaf> leaves = hdf5_leaves(file.file.get(), "/", file.room, report);
  const DataLeaf* const actions = find_leaf(leaves, "actions");
  const DataLeaf* const steps = actions ? actions : find_leaf(leaves, "rewards");
  for (const char* key : {"observations", "actions"})
    if (!find_leaf(leaves, key)) report.problem(std::string(key) + " is missing");
  read_flat(leaves, steps ? steps->rows : 0, {"actions", "rewards", "terminals", "timeouts", "", ""},
            hdf5_origin(file.file.get(), "/", report), report);
}

void inspect_tensordict(const fs::path& folder, Report& report) {
  const MemmapMeta meta(folder);
  std::int64_t steps = 0;
  try {
    const std::vector<std::int64_t> shape = meta.batch_size();
    if (shape.size() != 1) throw Error("meta.json: its shape is not [steps]");
    steps = shape[0];
  } catch (const Error& e) {
    report.problem(e.what());
  }
  const DatasetOrigin origin = read_origin(report, [&](DatasetOrigin& o) {
    o.ours = meta.contains(kProvenanceKey);
    if (o.ours)
      o.action_space =
          action_space_from_provenance(meta.text(kProvenanceKey), fmt::format("meta.json: '{}'", kProvenanceKey));
  });
  std::vector<DataLeaf> leaves;
  std::size_t entries = 0;
  collect(meta, "", 0, entries, leaves, report);
  for (const char* key : {"observation", "action"})
    if (!find_leaf(leaves, key)) report.problem(std::string(key) + " is missing");
  read_flat(leaves, steps, {"action", "next/reward", "next/terminated", "next/truncated", "next/done", "episode"},
            origin, report);
}

}  // namespace hotloop

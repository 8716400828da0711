#include "viz/source/pair_source.h"

#include <algorithm>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/value.h"
#include "viz/source/open_parts.h"

namespace hotloop {
namespace {

using Mark = WorldSource::EpisodeMark;

// Which of its world's episodes begins at a row; they are listed in their order.
std::int64_t number_of(const std::vector<Mark>& marks, std::int64_t world, std::int64_t first_row) {
  return std::count_if(marks.begin(), marks.end(),
                       [&](const Mark& m) { return m.world == world && m.first_row < first_row; });
}

const Mark* episode(const std::vector<Mark>& marks, std::int64_t world, std::int64_t number) {
  for (const Mark& mark : marks)
    if (mark.world == world && number-- == 0) return &mark;
  return nullptr;
}

}  // namespace

PairSource::PairSource(std::unique_ptr<WorldSource> first, std::unique_ptr<WorldSource> second,
                       const std::function<void(const std::string&)>& warn)
    : logs_{std::move(first), std::move(second)}, info_(logs_[0]->info()) {
  const SourceInfo &a = logs_[0]->info(), &b = logs_[1]->info();
  if (a.name != b.name || logs_[0]->visual().num_frames() != logs_[1]->visual().num_frames())
    throw Error(shown(b.path) + ": is of " + b.name + ", and " + shown(a.path) + " of " + a.name +
                ": logs side by side are of one task");
  const std::int64_t worlds = std::min(a.num_worlds, b.num_worlds);
  if (a.num_worlds != b.num_worlds && warn)
    warn(shown(a.num_worlds > b.num_worlds ? a.path : b.path) + ": has more worlds than the other log; the first " +
         std::to_string(worlds) + " are shown");
  for (std::size_t k = 0; k < 2; ++k) names_[k] = std::filesystem::path(logs_[k]->info().path).filename().string();
  if (names_[0] == names_[1]) names_ = {a.path, b.path};
  info_.path = a.path + " and " + b.path;
  info_.num_worlds = 2 * worlds;
}

// Neighbours are of different logs, which have streams of their own.
void PairSource::write_frames(std::int64_t first, std::int64_t count, Frame* out) {
  synchronize(exec());  // whatever makes `out` ready
  for (std::int64_t i = 0; i < count; ++i)
    log(first + i).write_frames((first + i) / 2, 1, out + i * visual().num_frames());
  for (const auto& log : logs_) synchronize(log->exec());
}

std::string PairSource::world_name(std::int64_t world) const {
  return std::to_string(world / 2) + " of " + names_[static_cast<std::size_t>(world % 2)];
}

void PairSource::reset() {
  offset_ = 0;
  known_ = {0, 0};
  seek(0);
}

std::int64_t PairSource::last_position() const {
  return std::max(logs_[0]->last_position(), logs_[1]->last_position() - offset_);
}

void PairSource::seek(std::int64_t position) {
  position_ = std::clamp(position, first_position(), last_position());
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int64_t row = std::clamp(position_ + shift(k), logs_[k]->first_position(), logs_[k]->last_position());
    if (row != logs_[k]->position()) logs_[k]->seek(row);
  }
}

void PairSource::interleave(const std::vector<float>& first, const std::vector<float>& second,
                            std::vector<float>& out) const {
  out.clear();
  const auto dim = static_cast<std::int64_t>(first.size()) / logs_[0]->info().num_worlds;
  if (static_cast<std::int64_t>(second.size()) != dim * logs_[1]->info().num_worlds) return;  // one lacks it
  for (std::int64_t w = 0; w < info_.num_worlds; ++w) {
    const auto from = (w % 2 == 0 ? first : second).begin() + w / 2 * dim;
    out.insert(out.end(), from, from + dim);
  }
}

void PairSource::read_observations(std::vector<float>& out) {
  std::vector<float> first, second;
  logs_[0]->read_observations(first);
  logs_[1]->read_observations(second);
  interleave(first, second, out);
}

void PairSource::read_actions(std::vector<float>& out) {
  std::vector<float> first, second;
  logs_[0]->read_actions(first);
  logs_[1]->read_actions(second);
  interleave(first, second, out);
}

std::vector<WorldSource::TensorInfo> PairSource::tensors() {
  std::vector<TensorInfo> all;
  for (std::size_t k = 0; k < 2; ++k)
    for (const TensorInfo& tensor : logs_[k]->tensors()) all.push_back({names_[k] + ": " + tensor.key, tensor.shape});
  return all;
}

std::vector<float> PairSource::read_tensor(const std::string& key, std::int64_t limit) {
  for (std::size_t k = 0; k < 2; ++k)
    if (const std::string head = names_[k] + ": "; key.starts_with(head))
      return logs_[k]->read_tensor(key.substr(head.size()), limit);
  return {};
}

const std::vector<Mark>& PairSource::episodes() {
  const std::array<std::size_t, 2> sizes = {logs_[0]->episodes().size(), logs_[1]->episodes().size()};
  if (sizes == known_) return marks_;
  known_ = sizes;
  marks_.clear();
  for (std::size_t k = 0; k < 2; ++k)
    for (Mark mark : logs_[k]->episodes()) {
      mark.world = 2 * mark.world + static_cast<std::int64_t>(k);
      mark.first_row -= shift(k);
      mark.last_row -= shift(k);
      if (mark.world < info_.num_worlds) marks_.push_back(mark);
    }
  return marks_;
}

std::int64_t PairSource::jump(const Mark& mark, bool to_end) {
  const auto own = static_cast<std::size_t>(mark.world % 2), other = 1 - own;
  const std::int64_t world = mark.world / 2, first = mark.first_row + shift(own), last = mark.last_row + shift(own);
  const std::int64_t number = number_of(logs_[own]->episodes(), world, first);
  std::array<std::int64_t, 2> rows = {};
  rows[own] = to_end ? last : first;
  if (const Mark* theirs = episode(logs_[other]->episodes(), world, number)) {
    rows[other] = to_end ? theirs->last_row : theirs->first_row;
    offset_ = rows[1] - rows[0];
    known_ = {0, 0};  // marks of the second log stand elsewhere now
  }
  return rows[own] - shift(own);
}

std::unique_ptr<WorldSource> open_pair_source(const SourceOptions& options) {
  SourceOptions one = options;
  one.beside.clear();
  std::array<std::unique_ptr<WorldSource>, 2> logs;
  for (std::size_t k = 0; k < 2; ++k) {
    one.what = k == 0 ? options.what : options.beside;
    if (source_kind(one.what) != SourceKind::log)
      throw Error(shown(one.what) + ": is no trajectory log; two logs can be viewed side by side");
    logs[k] = open_log_source(one);
  }
  return std::make_unique<PairSource>(std::move(logs[0]), std::move(logs[1]), options.warn);
}

}  // namespace hotloop

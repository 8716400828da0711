#include "data/log/log_reader.h"

#include <algorithm>

#include "data/log/log_file.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

bool same_keys(const std::vector<LogKey>& a, const std::vector<LogKey>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const LogKey& x, const LogKey& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.names == y.names;
  });
}

// What keeps `next` from being a segment of the log that `first` begins; "" for nothing.
std::string difference(const LogFile& first, const LogFile& next) {
  const LogInfo &a = first.info(), &b = next.info();
  if (a.task != b.task) return "task";
  if (a.seed != b.seed) return "seed";
  if (a.num_envs != b.num_envs) return "num_envs";
  if (a.num_steps != b.num_steps) return "num_steps";
  if (first.env_index() != next.env_index()) return "env_index";
  if (!same_keys(first.keys(), next.keys())) return "keys";
  if (first.obs_dim() != next.obs_dim()) return "observations";
  return first.state_bytes() != next.state_bytes() ? "state" : "";
}

// "l.2.h5 is missing", "l.2.h5 to l.5.h5 are missing"
std::string missing(const fs::path& log, std::int64_t first, std::int64_t last) {
  const std::string text = shown(log_segment_path(log, first).string());
  return first == last ? text + " is missing"
                       : text + " to " + log_segment_path(log, last).filename().string() + " are missing";
}

// Which of `segments` come from number `from` on: "l.3.h5 and l.4.h5 follow".
std::string follow(const fs::path& log, const std::vector<std::int64_t>& segments, std::size_t from) {
  const auto name = [&](std::int64_t n) { return log_segment_path(log, n).filename().string(); };
  const std::size_t count = segments.size() - from;
  if (count == 1) return name(segments[from]) + " follows";
  return name(segments[from]) + (count == 2 ? " and " : " to ") + name(segments.back()) + " follow";
}

void check_range(std::int64_t begin, std::int64_t count, std::int64_t end, const char* what) {
  if (begin < 0 || count < 0 || begin > end || count > end - begin)
    throw Error(std::string("log: ") + what + " " + std::to_string(begin) + " to " + std::to_string(begin + count) +
                ": it has " + std::to_string(end));
}

}  // namespace

LogReader::~LogReader() = default;

LogReader::LogReader(const fs::path& path) {
  open_segments(path.extension() == ".part" ? fs::path(path).replace_extension() : path);
  // where a resumed training has logged iterations again, the later segment counts
  std::int64_t from = INT64_MAX;
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    (*file)->cut(from);
    if (!(*file)->iterations().empty()) from = (*file)->iterations().front().index;
  }
  for (const auto& file : files_) {
    begin_.push_back(static_cast<std::int64_t>(iterations_.size()));
    iterations_.insert(iterations_.end(), file->iterations().begin(), file->iterations().end());
  }
  begin_.push_back(static_cast<std::int64_t>(iterations_.size()));
}

void LogReader::open_segments(const fs::path& path) {
  const std::vector<std::int64_t> segments = log_segments(path);
  if (segments.empty() || segments[0] != 0)
    throw Error(shown(path.string()) + ": no such file" + (segments.empty() ? "" : "; " + follow(path, segments, 0)));
  std::error_code ignored;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::int64_t n = segments[i];
    if (i > 0 && segments[i - 1] + 1 < n) {
      problems_.push_back(missing(path, segments[i - 1] + 1, n - 1) + "; " + follow(path, segments, i));
      lost_iterations_ = true;
    }
    const fs::path whole = log_segment_path(path, n), part = log_part_path(whole);
    const bool is_whole = fs::exists(whole, ignored);
    try {
      auto file = std::make_unique<LogFile>(is_whole ? whole : part, problems_);
      const std::string other = files_.empty() ? "" : difference(*files_[0], *file);
      if (!other.empty()) throw Error(whole.string() + ": has another " + other + " than the log's first segment");
      lost_iterations_ |= file->lost_iterations();
      files_.push_back(std::move(file));
    } catch (const Error& e) {
      if (n == 0) throw;
      problems_.emplace_back(e.what());
      lost_iterations_ = true;
    }
  }
}

const LogInfo& LogReader::info() const { return files_[0]->info(); }
const std::vector<LogKey>& LogReader::keys() const { return files_[0]->keys(); }
const std::vector<std::int32_t>& LogReader::env_index() const { return files_[0]->env_index(); }
std::int64_t LogReader::obs_dim() const { return files_[0]->obs_dim(); }
std::size_t LogReader::state_bytes() const { return files_[0]->state_bytes(); }
std::int64_t LogReader::world_group() const { return files_[0]->world_group(); }

std::int64_t LogReader::chunk_worlds(const std::string& name) const {
  const auto index = static_cast<std::size_t>(&key(name) - keys().data());
  std::int64_t least = num_worlds();
  for (const auto& file : files_) least = std::min(least, file->chunk_worlds(index));
  return least;
}

bool LogReader::contains(const std::string& name) const {
  return std::any_of(keys().begin(), keys().end(), [&](const LogKey& k) { return k.name == name; });
}

const LogKey& LogReader::key(const std::string& name) const {
  std::vector<std::string> names;
  for (const LogKey& k : keys()) {
    if (k.name == name) return k;
    names.push_back(k.name);
  }
  throw Error("log: no key " + shown(name) + suggestion(name, names));
}

bool LogReader::continues(std::int64_t iteration) const {
  const auto i = static_cast<std::size_t>(iteration);
  return iteration > 0 && i < iterations_.size() && iterations_[i].index == iterations_[i - 1].index + 1;
}

LogReader::Place LogReader::place(std::int64_t iteration) const {
  check_range(iteration, 1, begin_.back(), "iterations");
  const auto after = std::upper_bound(begin_.begin(), begin_.end() - 1, iteration);
  const auto n = static_cast<std::size_t>(after - begin_.begin() - 1);
  return {files_[n].get(), iteration - begin_[n]};
}

void LogReader::read(const std::string& name, std::int64_t row, std::int64_t rows, std::int64_t world,
                     std::int64_t worlds, void* out) const {
  const LogKey& k = key(name);
  const auto index = static_cast<std::size_t>(&k - keys().data());
  check_range(row, rows, num_rows(), "rows");
  check_range(world, worlds, num_worlds(), "worlds");
  const std::int64_t steps = info().num_steps;
  auto* to = static_cast<std::byte*>(out);
  while (rows > 0) {
    const Place p = place(row / steps);
    const std::int64_t first = p.iteration * steps + row % steps;
    const auto held = static_cast<std::int64_t>(p.file->iterations().size()) * steps;
    const std::int64_t count = std::min(rows, held - first);
    p.file->read(index, first, count, world, worlds, to);
    to += static_cast<std::size_t>(count * worlds) * k.bytes();
    row += count;
    rows -= count;
  }
}

void LogReader::read_last_observation(std::int64_t iteration, std::int64_t world, std::int64_t worlds,
                                      float* out) const {
  const Place p = place(iteration);
  check_range(world, worlds, num_worlds(), "worlds");
  p.file->read_last_observation(p.iteration, world, worlds, out);
}

LogFinals LogReader::read_finals(std::int64_t iteration) const {
  const Place p = place(iteration);
  LogFinals finals = p.file->read_finals(p.iteration);
  for (std::int64_t& row : finals.row) row += (iteration - p.iteration) * info().num_steps;
  return finals;
}

void LogReader::read_state(std::int64_t iteration, std::byte* out) const {
  const Place p = place(iteration);
  p.file->read_state(p.iteration, out);
}

LogSpec spec_like(const LogReader& log) {
  LogSpec spec;
  spec.info = log.info();
  spec.keys = log.keys();
  spec.env_index = log.env_index();
  spec.obs_dim = log.obs_dim();
  spec.state_bytes = log.state_bytes();
  return spec;
}

}  // namespace hotloop

#include "train/metrics.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCsv = "metrics.csv";
constexpr const char* kJsonl = "metrics.jsonl";
constexpr const char* kPerformance = "performance.csv";
constexpr std::string_view kEventPrefix = "events.out.tfevents.";
constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr auto kDrainInterval = std::chrono::seconds(1);  // how late a reader of a live run is at most

using Tags = std::vector<MetricTag>;
using Values = std::vector<double>;  // by position in the tags

Values values_of(const Tags& tags, const MetricRow& row) {
  Values values(tags.size(), kAbsent);
  std::vector<bool> given(tags.size());
  for (const auto& [field, value] : row.values) {
    std::size_t i = 0;
    while (i < tags.size() && tags[i].field != field) ++i;
    if (i == tags.size()) throw std::logic_error("no metric '" + std::string(field) + "' in kMetricTags");
    if (given[i]) throw std::logic_error("metric '" + std::string(field) + "' given twice in one row");
    given[i] = true;
    values[i] = value;
  }
  return values;
}

std::string csv_header(const Tags& tags, bool deterministic) {
  std::string line = "global_step,iteration";
  for (const MetricTag& tag : tags)
    if (tag.deterministic == deterministic) (line += ',') += tag.name();
  return line + "\n";
}

std::string csv_row(const Tags& tags, const MetricRow& row, const Values& values, bool deterministic) {
  std::string line = std::to_string(row.global_step) + "," + std::to_string(row.iteration);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i].deterministic != deterministic) continue;
    line += ',';
    if (!std::isnan(values[i])) line += number_text(values[i]);
  }
  return line + "\n";
}

std::string json_row(const Tags& tags, const MetricRow& row, const Values& values) {
  std::string line =
      "{\"global_step\":" + std::to_string(row.global_step) + ",\"iteration\":" + std::to_string(row.iteration);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (!tags[i].deterministic) continue;
    line += ",\"" + std::string(tags[i].name()) + "\":";
    line += std::isfinite(values[i]) ? number_text(values[i]) : "null";  // JSON has no infinity
  }
  return line + "}\n";
}

std::vector<std::pair<std::string_view, double>> scalars_of(const Tags& tags, const MetricRow& row,
                                                            const Values& values) {
  std::vector<std::pair<std::string_view, double>> scalars = {{kStepTag, static_cast<double>(row.global_step)},
                                                              {kIterationTag, static_cast<double>(row.iteration)}};
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const MetricTag& tag = tags[i];
    if (std::isnan(values[i])) continue;
    if (!tag.cleanrl.empty()) scalars.emplace_back(tag.cleanrl, values[i]);
    if (!tag.sb3.empty()) scalars.emplace_back(tag.sb3, tag.sb3_factor * values[i]);
    if (tag.cleanrl.empty() && tag.sb3.empty()) scalars.emplace_back(tag.column, values[i]);
  }
  return scalars;
}

bool any_performance(const Tags& tags, const Values& values) {
  for (std::size_t i = 0; i < tags.size(); ++i)
    if (!tags[i].deterministic && !std::isnan(values[i])) return true;
  return false;
}

// Rows of other columns must not follow those that are there.
void check_columns(const AppendFile& file, std::uint64_t offset, const std::string& header) {
  if (offset == 0) return;
  std::string there(header.size(), '\0');
  std::ifstream(file.path(), std::ios::binary).read(there.data(), static_cast<std::streamsize>(there.size()));
  if (there != header)
    throw Error(file.path().string() +
                ": columns are not those of this version; resume with the version that wrote it");
}

}  // namespace

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

MetricWriter::MetricWriter(std::vector<std::string> more)
    : more_(std::move(more)), tags_(std::begin(kMetricTags), std::end(kMetricTags)) {
  for (const std::string& name : more_) tags_.push_back({name, "", "", true, 1.0, name});
}

void MetricWriter::open_files(const fs::path& run_dir, const std::string& event_name) {
  csv_.emplace(run_dir / kCsv);
  jsonl_.emplace(run_dir / kJsonl);
  performance_.emplace(run_dir / kPerformance);
  events_.emplace(run_dir / event_name);
  drained_ = std::chrono::steady_clock::now();
}

MetricWriter::MetricWriter(const fs::path& run_dir, std::vector<std::string> more) : MetricWriter(std::move(more)) {
  for (const char* name : {kCsv, kJsonl, kPerformance})
    if (fs::exists(run_dir / name)) throw Error((run_dir / name).string() + ": exists; a new run needs a new folder");
  open_files(run_dir, event_file_name());
}

MetricWriter::MetricWriter(const fs::path& run_dir, const FileOffsets& offsets, std::vector<std::string> more)
    : MetricWriter(std::move(more)) {
  const auto events = offsets.lower_bound(std::string(kEventPrefix));
  if (events == offsets.end() || events->first.compare(0, kEventPrefix.size(), kEventPrefix) != 0 ||
      events->first.find('/') != std::string::npos)
    throw Error(run_dir.string() + ": the checkpoint names no TensorBoard file");
  for (const std::string& name : {std::string(kCsv), std::string(kJsonl), std::string(kPerformance), events->first}) {
    if (!offsets.contains(name)) throw Error(run_dir.string() + ": the checkpoint has no length of " + name);
    if (!fs::exists(run_dir / name))
      throw Error((run_dir / name).string() + ": missing, so the run cannot go on there");
  }
  open_files(run_dir, events->first);
  check_columns(*csv_, offsets.at(kCsv), csv_header(tags_, true));
  check_columns(*performance_, offsets.at(kPerformance), csv_header(tags_, false));
  // all lengths are looked at before a file is cut
  const std::pair<AppendFile*, std::uint64_t> files[] = {{&*csv_, offsets.at(kCsv)},
                                                         {&*jsonl_, offsets.at(kJsonl)},
                                                         {&*performance_, offsets.at(kPerformance)},
                                                         {&events_->file(), events->second}};
  for (const auto& [file, offset] : files) file->check_reaches(offset);
  for (const auto& [file, offset] : files) file->truncate_to(offset);
}

void MetricWriter::write(const MetricRow& row) {
  const Values values = values_of(tags_, row);
  if (csv_->size() == 0) csv_->append(csv_header(tags_, true));
  csv_->append(csv_row(tags_, row, values, true));
  jsonl_->append(json_row(tags_, row, values));
  if (any_performance(tags_, values)) {
    if (performance_->size() == 0) performance_->append(csv_header(tags_, false));
    performance_->append(csv_row(tags_, row, values, false));
  }
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  events_->write(now.count(), row.global_step, scalars_of(tags_, row, values));
  drain_when_due();
}

void MetricWriter::drain_when_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now - drained_ < kDrainInterval) return;
  drained_ = now;
  for (AppendFile* file : {&*csv_, &*jsonl_, &*performance_, &events_->file()}) file->drain();
}

void MetricWriter::flush() {
  for (AppendFile* file : {&*csv_, &*jsonl_, &*performance_, &events_->file()}) file->flush();
}

FileOffsets MetricWriter::offsets() {
  flush();
  return sizes();
}

FileOffsets MetricWriter::sizes() {
  FileOffsets offsets;
  for (const AppendFile* file : {&*csv_, &*jsonl_, &*performance_, &events_->file()})
    offsets[file->path().filename().string()] = file->size();
  return offsets;
}

}  // namespace hotloop

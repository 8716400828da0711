// What a training run writes down while it runs, in its folder:
//   metrics.csv, metrics.jsonl   a row a logged iteration of what the seed decides: byte for byte the same in two runs
//   of
//                                the same seed, so no clock reading is in them
//   performance.csv              what the machine does: speed, time, GPU
//   events.out.tfevents.*        all of both, for TensorBoard
// A checkpoint keeps offsets(); a writer resumed with them cuts the files there and goes on to the bytes that a run
// never stopped would have written.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/file.h"
#include "train/event_file.h"
#include "train/metric_tags.h"

namespace hotloop {

struct MetricRow {
  std::int64_t global_step = 0, iteration = 0;
  // (field of kMetricTags or of the run's own, value): any order, each at most once. What is absent or NaN is an empty
  // cell in CSV, null in JSONL, and not in TensorBoard.
  std::vector<std::pair<std::string_view, double>> values;
};

using FileOffsets = std::map<std::string, std::uint64_t>;  // file name -> bytes

class MetricWriter {
 public:
  // New files in an existing folder. Error if one is there. more: metrics that only this run has, decided by the seed;
  // field, column and tag are the same.
  explicit MetricWriter(const std::filesystem::path& run_dir, std::vector<std::string> more = {});
  // Goes on with the files that `offsets` names. Error naming the file that is missing, shorter, or of other columns.
  MetricWriter(const std::filesystem::path& run_dir, const FileOffsets& offsets, std::vector<std::string> more = {});
  MetricWriter(const MetricWriter&) = delete;
  MetricWriter& operator=(const MetricWriter&) = delete;

  // Error when the disk refuses; std::logic_error for a field that is not there, or given twice.
  void write(const MetricRow& row);
  // Makes everything durable.
  void flush();
  // Sizes of all files, flushed first: a checkpoint never names bytes that a power cut could still take.
  FileOffsets offsets();
  // The same without making them durable: for who goes on in this process.
  FileOffsets sizes();

 private:
  explicit MetricWriter(std::vector<std::string> more);
  void open_files(const std::filesystem::path& run_dir, const std::string& event_name);
  void drain_when_due();

  std::vector<std::string> more_;
  std::vector<MetricTag> tags_;  // views of kMetricTags and more_
  std::optional<AppendFile> csv_, jsonl_, performance_;
  std::optional<EventFile> events_;
  std::chrono::steady_clock::time_point drained_;
};

// Shortest text that reads back as the same double; "nan", "inf" and "-inf" otherwise.
std::string number_text(double value);

}  // namespace hotloop

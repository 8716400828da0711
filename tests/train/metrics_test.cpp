#include "train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"
#include "train/metric_tags.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kAny = UINT64_MAX;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Iteration i of a made-up run; `speed` is what differs between two runs of one seed.
MetricRow row(int i, double speed) {
  return {i * 512,
          i,
          {{"sps", speed},
           {"learning_rate", 2.5e-4 / i},
           {"episodic_return", i == 1 ? kNaN : 10.0 + 1.0 / i},
           {"entropy", 0.5},
           {"host_us", speed / 7}}};
}

std::vector<std::vector<std::string>> cells(const std::string& csv) {
  std::vector<std::vector<std::string>> out;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    out.emplace_back();
    line += ',';
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) out.back().push_back(field);
  }
  return out;
}

std::string cell(const std::vector<std::vector<std::string>>& table, std::size_t line, const std::string& column) {
  for (std::size_t i = 0; i < table[0].size(); ++i)
    if (table[0][i] == column) return table.at(line).at(i);
  return "no such column";
}

fs::path event_file_in(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0) return entry.path();
  return {};
}

TEST(MetricTags, FieldsAndNamesAreUnique) {
  std::set<std::string_view> fields, names = {kStepTag, kIterationTag, "global_step", "iteration"};
  for (const MetricTag& tag : kMetricTags) {
    EXPECT_TRUE(fields.insert(tag.field).second) << tag.field;
    EXPECT_FALSE(tag.name().empty()) << tag.field;
    EXPECT_EQ(tag.name().find_first_of(",\"\\\n"), std::string_view::npos) << tag.field;
    for (const std::string_view name : {tag.cleanrl, tag.sb3, tag.column})
      if (!name.empty()) {
        EXPECT_TRUE(names.insert(name).second) << name;
      }
  }
}

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(500), "500");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(1e-300), "1e-300");
  EXPECT_EQ(number_text(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(std::stod(number_text(1.0 / 3)), 1.0 / 3);
}

TEST(MetricWriter, CsvAndJsonlHoldWhatTheSeedDecides) {
  const TempFolder folder;
  {
    MetricWriter writer(folder.path());
    writer.write(row(1, 1e6));
    writer.write({1024, 2, {{"value_loss", kInfinity}, {"eval_return", 500}}});
  }
  const auto csv = cells(read_file(folder / "metrics.csv", kAny));
  ASSERT_EQ(csv.size(), 3u);
  for (const auto& line : csv) EXPECT_EQ(line.size(), csv[0].size());
  EXPECT_EQ(cell(csv, 1, "global_step"), "512");
  EXPECT_EQ(cell(csv, 2, "iteration"), "2");
  EXPECT_EQ(cell(csv, 1, "charts/learning_rate"), "0.00025");
  EXPECT_EQ(cell(csv, 1, "charts/episodic_return"), "") << "NaN";
  EXPECT_EQ(cell(csv, 2, "losses/entropy"), "") << "absent";
  EXPECT_EQ(cell(csv, 2, "losses/value_loss"), "inf");
  EXPECT_EQ(cell(csv, 2, "eval/episodic_return"), "500");
  EXPECT_EQ(cell(csv, 1, "charts/SPS"), "no such column");

  std::istringstream lines(read_file(folder / "metrics.jsonl", kAny));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["global_step"], 512);
  EXPECT_EQ(json["charts/learning_rate"], 2.5e-4);
  EXPECT_TRUE(json["charts/episodic_return"].is_null());
  EXPECT_FALSE(json.contains("charts/SPS"));
  ASSERT_TRUE(std::getline(lines, line));
  json = nlohmann::json::parse(line);
  EXPECT_TRUE(json["losses/value_loss"].is_null());

  const auto performance = cells(read_file(folder / "performance.csv", kAny));
  ASSERT_EQ(performance.size(), 2u) << "the second row says nothing of the machine";
  EXPECT_EQ(cell(performance, 1, "charts/SPS"), "1e+06");
  EXPECT_EQ(cell(performance, 1, "charts/learning_rate"), "no such column");
}

TEST(MetricWriter, SameSeedSameBytesWhateverTheClockSays) {
  const TempFolder a, b;
  {
    MetricWriter first(a.path()), second(b.path());
    for (int i = 1; i < 20; ++i) first.write(row(i, 1e6 + i)), second.write(row(i, 2e6 - i));
  }
  for (const char* name : {"metrics.csv", "metrics.jsonl"})
    EXPECT_EQ(read_file(a / name, kAny), read_file(b / name, kAny)) << name;
  EXPECT_NE(read_file(a / "performance.csv", kAny), read_file(b / "performance.csv", kAny));
}

TEST(MetricWriter, ResumeGoesOnToTheSameBytes) {
  const TempFolder a, b;
  {
    MetricWriter writer(a.path());
    for (int i = 1; i <= 10; ++i) writer.write(row(i, 1e6));
  }
  FileOffsets offsets;
  {
    MetricWriter writer(b.path());
    for (int i = 1; i <= 4; ++i) writer.write(row(i, 1e6));
    offsets = writer.offsets();
    for (int i = 5; i <= 7; ++i) writer.write(row(i, 1e6));  // lost: later than the checkpoint
  }
  EXPECT_EQ(offsets.size(), 4u);
  {
    MetricWriter writer(b.path(), offsets);
    for (int i = 5; i <= 10; ++i) writer.write(row(i, 1e6));
  }
  for (const char* name : {"metrics.csv", "metrics.jsonl", "performance.csv"})
    EXPECT_EQ(read_file(a / name, kAny), read_file(b / name, kAny)) << name;
  EXPECT_EQ(fs::file_size(event_file_in(a.path())), fs::file_size(event_file_in(b.path())));
  EXPECT_EQ(std::distance(fs::directory_iterator(b.path()), fs::directory_iterator()), 4);
}

TEST(MetricWriter, MetricsOfOneRunFollowThoseOfAll) {
  const TempFolder folder, other;
  FileOffsets offsets;
  {
    MetricWriter writer(folder.path(), std::vector<std::string>{"reward/first", "reward/second"});
    MetricRow mine = row(1, 1e6);
    mine.values.emplace_back("reward/second", -2.5);
    writer.write(mine);
    offsets = writer.offsets();
    MetricWriter(other.path()).write(row(1, 1e6));
  }
  const auto csv = cells(read_file(folder / "metrics.csv", kAny)),
             without = cells(read_file(other / "metrics.csv", kAny));
  ASSERT_EQ(csv[0].size(), without[0].size() + 2);
  EXPECT_EQ(cell(csv, 1, "reward/first"), "");
  EXPECT_EQ(cell(csv, 1, "reward/second"), "-2.5");
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "metrics.jsonl", kAny)).at("reward/second"), -2.5);
  EXPECT_NE(error_text([&] { MetricWriter(folder.path(), offsets); }).find("columns are not those"), std::string::npos);
  EXPECT_NO_THROW(MetricWriter(folder.path(), offsets, {"reward/first", "reward/second"}));
}

TEST(MetricWriter, ResumeFromBeforeTheFirstRow) {
  const TempFolder a, b;
  FileOffsets offsets = MetricWriter(a.path()).offsets();
  { MetricWriter(a.path(), offsets).write(row(1, 1)); }
  { MetricWriter(b.path()).write(row(1, 1)); }
  EXPECT_EQ(read_file(a / "metrics.csv", kAny), read_file(b / "metrics.csv", kAny));
}

TEST(MetricWriter, FilesThatDoNotFitTheCheckpointAreNamedAndLeftAlone) {
  const TempFolder folder;
  FileOffsets offsets;
  {
    MetricWriter writer(folder.path());
    for (int i = 1; i <= 3; ++i) writer.write(row(i, 1e6));
    offsets = writer.offsets();
    writer.write(row(4, 1e6));
  }
  const std::string path = (folder / "performance.csv").string();
  const std::string csv = read_file(folder / "metrics.csv", kAny);
  const auto text = [&](const FileOffsets& o) { return error_text([&] { MetricWriter(folder.path(), o); }); };
  FileOffsets wrong = offsets;
  wrong["performance.csv"] = 1'000'000;
  EXPECT_NE(text(wrong).find(path + ": "), std::string::npos);
  EXPECT_NE(text(wrong).find("1000000 were there when the checkpoint was written"), std::string::npos);
  wrong.erase("performance.csv");
  EXPECT_EQ(text(wrong), folder.path().string() + ": the checkpoint has no length of performance.csv");
  wrong = offsets;
  wrong.erase(event_file_in(folder.path()).filename().string());
  EXPECT_EQ(text(wrong), folder.path().string() + ": the checkpoint names no TensorBoard file");
  wrong["events.out.tfevents./../../x"] = 0;
  EXPECT_EQ(text(wrong), folder.path().string() + ": the checkpoint names no TensorBoard file");
  EXPECT_EQ(read_file(folder / "metrics.csv", kAny), csv) << "a refused resume has cut a file";
  write_file(folder / "metrics.csv", "x" + csv);
  EXPECT_NE(text(offsets).find("metrics.csv: columns are not those of this version"), std::string::npos);
  fs::remove(folder / "metrics.jsonl");
  EXPECT_EQ(text(offsets), (folder / "metrics.jsonl").string() + ": missing, so the run cannot go on there");
  EXPECT_NE(error_text([&] { MetricWriter(folder.path()); }).find("exists; a new run needs a new folder"),
            std::string::npos);
}

TEST(MetricWriter, UnknownFieldsAreOurMistake) {
  const TempFolder folder;
  MetricWriter writer(folder.path());
  EXPECT_THROW(writer.write({1, 1, {{"no_such_field", 1.0}}}), std::logic_error);
  EXPECT_THROW(writer.write({1, 1, {{"entropy", 1.0}, {"entropy", 2.0}}}), std::logic_error);
}

TEST(MetricWriter, TensorBoardReadsItsFileAlsoAfterAResume) {
  if (!python_has("tensorboard.backend.event_processing.event_accumulator"))
    GTEST_SKIP() << "no Python module tensorboard (HOTLOOP_TEST_PYTHON)";
  const TempFolder folder;
  FileOffsets offsets;
  {
    MetricWriter writer(folder.path());
    for (int i = 1; i <= 3; ++i) writer.write(row(i, 1e6));
    offsets = writer.offsets();
    writer.write(row(9, 1e6));
  }
  { MetricWriter(folder.path(), offsets).write(row(4, 1e6)); }
  EXPECT_TRUE(run_python(folder.path(), R"(
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
e = EventAccumulator(".")
e.Reload()
assert e.file_version == 2.0, e.file_version
def read(tag): return [(s.step, s.value) for s in e.Scalars(tag)]
assert read("losses/entropy") == [(512 * i, 0.5) for i in (1, 2, 3, 4)], read("losses/entropy")
assert read("train/entropy_loss") == [(512 * i, -0.5) for i in (1, 2, 3, 4)]
assert read("charts/SPS") == read("time/fps") == [(512 * i, 1e6) for i in (1, 2, 3, 4)]
assert [s for s, v in read("charts/episodic_return")] == [1024, 1536, 2048]
assert read("time/iterations") == [(512 * i, i) for i in (1, 2, 3, 4)]
)"));
}

}  // namespace
}  // namespace hotloop

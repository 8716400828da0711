// Small files that claim much, or link to the same again and again: `inspect` says so at once, and still reads what is
// stored with high compression or was never written.
#include "data/hdf5_room.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "data/file.h"
#include "data/hdf5_types.h"
#include "data/inspect/inspect.h"
#include "data/log/log_reader.h"
#include "tests/data/log_rig.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 3;
constexpr hsize_t kMany = hsize_t{1} << 30;

struct Set {
  const char* name;
  std::vector<hsize_t> dims;
  std::vector<hsize_t> chunk = {};  // none: contiguous
  bool written = true;              // with zeros
  unsigned gzip = 0;
};

void create(hid_t at, const Set& set) {
  const int rank = static_cast<int>(set.dims.size());
  const Hdf5Handle plan(H5Pcreate(H5P_DATASET_CREATE), "plan"),
      space(H5Screate_simple(rank, set.dims.data(), nullptr), "space");
  if (!set.chunk.empty()) H5Pset_chunk(plan.get(), rank, set.chunk.data());
  if (set.gzip > 0) H5Pset_deflate(plan.get(), set.gzip);
  const Hdf5Handle made(H5Dcreate2(at, set.name, H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, plan.get(), H5P_DEFAULT),
                        "set");
  std::size_t count = 1;
  for (const hsize_t n : set.dims) count *= n;
  if (!set.written) return;
  const std::vector<float> zeros(count);
  hdf5_check(H5Dwrite(made.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()), "set");
}

Hdf5Handle new_file(const fs::path& path) {
  return Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "file");
}

// A D4RL file of 1000 steps, but for `other`.
void write_flat(const fs::path& path, const Set& other) {
  const Hdf5Handle file = new_file(path);
  for (const Set& set : {Set{"observations", {1000, 500}}, {"actions", {1000}}, {"rewards", {1000}}})
    create(file.get(), set);
  create(file.get(), other);
}

Report inspect_soon(const fs::path& path) {
  const auto start = std::chrono::steady_clock::now();
  Report report = inspect(path);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), kMostSeconds);
  return report;
}

std::int64_t rows_of(const Report& report, const std::string& name) {
  for (const KeyReport& key : report.keys)
    if (key.name == name) return key.rows;
  return -1;
}

bool has_problem(const Report& report, const std::string& text) {
  for (const std::string& problem : report.problems())
    if (problem.find(text) != std::string::npos) return true;
  return false;
}

TEST(Hdf5Room, AnExtentOfWhichNothingIsStoredIsNotWalked) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  for (const Set& set : {Set{"terminals", {kMany / 4}, {8}, false},
                         {"terminals", {kMany / 4}, {}, false},
                         {"terminals", {kMany / 4}, {1 << 20}, false}}) {
    const fs::path path = folder.path() / ("set" + std::to_string(set.chunk.empty() ? 0 : set.chunk[0]));
    write_flat(path, set);
    const Report report = inspect_soon(path);
    EXPECT_TRUE(has_problem(report, "terminals is larger than the file can hold"));
    EXPECT_EQ(rows_of(report, "terminals"), -1);
    EXPECT_EQ(rows_of(report, "observations"), 1000);
  }
}

TEST(Hdf5Room, WhatWasNeverWrittenIsTheFillValue) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  for (const Set& set : {Set{"terminals", {1000}, {100}, false}, {"terminals", {1000}, {}, false}}) {
    const fs::path path = folder.path() / ("set" + std::to_string(set.chunk.size()));
    write_flat(path, set);
    const Report report = inspect_soon(path);
    EXPECT_FALSE(has_problem(report, "terminals")) << report.text();
    EXPECT_EQ(rows_of(report, "terminals"), 1000);
  }
}

TEST(Hdf5Room, WhatIsCompressedIsReadWhole) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path path = folder / "set";
  {
    const Hdf5Handle file = new_file(path);
    for (const char* name : {"observations", "actions", "rewards", "terminals"})
      create(file.get(), {name, {1 << 21}, {1 << 20}, true, 9});
  }
  ASSERT_LT(fs::file_size(path), 200000u);
  const Report report = inspect_soon(path);
  EXPECT_FALSE(has_problem(report, "larger than the file")) << report.text();
  EXPECT_EQ(rows_of(report, "terminals"), 1 << 21);
}

TEST(Hdf5Room, EpisodesThatAreAllTheSameOneAreNotReadForHours) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path path = folder / "main_data.hdf5";
  {
    const Hdf5Handle file = new_file(path),
                     group(H5Gcreate2(file.get(), "episode_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "group");
    create(group.get(), {"observations", {1000, 1000}});
    for (int i = 1; i < 5000; ++i)
      H5Lcreate_hard(file.get(), "episode_0", file.get(), ("episode_" + std::to_string(i)).c_str(), H5P_DEFAULT,
                     H5P_DEFAULT);
  }
  const Report report = inspect_soon(path);
  EXPECT_TRUE(has_problem(report, "is larger than the file can hold")) << report.text();
  EXPECT_LE(rows_of(report, "observations"), 10000);
}

TEST(Hdf5Room, AGroupThatHoldsItselfIsNotWalkedForHours) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path path = folder / "main_data.hdf5";
  {
    const Hdf5Handle file = new_file(path),
                     group(H5Gcreate2(file.get(), "episode_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "group");
    for (int i = 0; i < 900; ++i)
      H5Lcreate_hard(group.get(), ".", group.get(), std::to_string(i).c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  const Report report = inspect_soon(path);
  EXPECT_TRUE(has_problem(report, "is larger than the file can hold")) << report.text();
}

TEST(Inspect, FoldersThatHoldThemselvesAreNotWalkedForHours) {
  const TempFolder folder;
  std::string keys;
  for (int i = 0; i < 40; ++i) {
    keys += R"(, "k)" + std::to_string(i) + R"(": {"type": "TensorDict"})";
    fs::create_directory_symlink(".", folder.path() / ("k" + std::to_string(i)));
  }
  write_file(folder / "meta.json", R"({"shape": [1], "_type": "<class 'tensordict._td.TensorDict'>")" + keys + "}");
  const Report report = inspect_soon(folder.path());
  EXPECT_TRUE(has_problem(report, "too many keys")) << report.text();
}

TEST(Hdf5Room, RowsOfALogThatNoChunkHoldsAreNamed) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path path = folder / "log.h5";
  write_small_log(path, small_log_spec(3, 4), {}, 0, 3);
  {
    const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "file");
    create(file.get(), {"wide", {12, 3, (hsize_t{20} << 20) / 144}, {1, 1, 1000}, false});
    const Hdf5Handle wide(H5Dopen2(file.get(), "wide", H5P_DEFAULT), "wide");
    for (const char* key : {"units", "description"}) write_text_attribute(wide.get(), key, "", "wide");
  }
  const LogReader log(path);
  ASSERT_EQ(log.problems().size(), 1u);
  EXPECT_TRUE(log.problems()[0].ends_with("'wide' is larger than the file can hold")) << log.problems()[0];
  EXPECT_FALSE(log.contains("wide"));
}

}  // namespace
}  // namespace hotloop

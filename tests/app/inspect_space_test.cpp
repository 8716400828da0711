// What of a log or dataset contradicts its spaces, and what it lacks: `inspect` names it, `convert` does not spread it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/hdf5_handle.h"
#include "data/hdf5_read.h"
#include "data/hdf5_types.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kLimit = 120;  // [s]

Hdf5Handle open_file(const fs::path& path) {
  return Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), path.string());
}

// The first problem that `inspect` prints; "" for none, with status 0.
std::string problem_of(const fs::path& path) {
  const ProgramResult result = run_program({"inspect", path.string()}, ".", kLimit);
  const std::string mark = "problem: ";
  const std::size_t begin = result.out.find(mark);
  EXPECT_EQ(result.status, begin == std::string::npos ? 0 : 1) << result.out << result.err;
  return begin == std::string::npos
             ? ""
             : result.out.substr(begin + mark.size(), result.out.find('\n', begin) - begin - mark.size());
}

// Puts a value at the beginning of a dataset.
template <class T>
void overwrite(const fs::path& path, const char* name, hid_t type, T value) {
  const Hdf5Handle file = open_file(path);
  const Hdf5Handle set(H5Dopen2(file.get(), name, H5P_DEFAULT), name), space(H5Dget_space(set.get()), name);
  const std::vector<hsize_t> start(3, 0), count(3, 1);
  const Hdf5Handle one(H5Screate(H5S_SCALAR), name);
  hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), name);
  hdf5_check(H5Dwrite(set.get(), type, one.get(), space.get(), H5P_DEFAULT, &value), name);
}

void set_text(const fs::path& path, const char* name, const std::string& text) {
  const Hdf5Handle file = open_file(path), type(H5Tcopy(H5T_C_S1), name), space(H5Screate(H5S_SCALAR), name);
  hdf5_check(H5Tset_size(type.get(), text.size()), name);
  hdf5_check(H5Adelete(file.get(), name), name);
  const Hdf5Handle attribute(H5Acreate2(file.get(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), name);
  hdf5_check(H5Awrite(attribute.get(), type.get(), text.data()), name);
}

TEST(InspectSpace, LogsOfBothKindsOfActions) {
  const Hdf5Quiet quiet;
  for (const char* task : {"CartPole-v1", "Pendulum-v1"}) {
    SCOPED_TRACE(task);
    const bool box = task[0] == 'P';
    const TempFolder folder;
    const fs::path whole = folder / "whole.h5", log = folder / "log.h5";
    std::vector<std::string> words =
        small_run(folder / "run", {"--log-trajectories", whole.string(), "--total-timesteps", "2560"});
    words[1] = task;
    ASSERT_EQ(run_program(words, ".", kLimit).status, 0);
    EXPECT_EQ(problem_of(whole), "");
    const auto damaged = [&](const auto& damage) {
      fs::copy_file(whole, log, fs::copy_options::overwrite_existing);
      damage();
      return problem_of(log);
    };
    EXPECT_EQ(damaged([&] {
                box ? overwrite(log, "action", H5T_NATIVE_FLOAT, 2.5f)
                    : overwrite(log, "action", H5T_NATIVE_INT64, std::int64_t{7});
              }),
              box ? "action: 2.5 in row 0 of column 0: must be in [-2, 2]"
                  : "action: 7 in row 0 of column 0: must be in [0, 1]");
    if (!box)
      check_bad_input(
          {{"convert", "log.h5", "--to", "d4rl", "-o", "x"}, "action 7 in row 0 of column 0: must be in [0, 1]"},
          folder.path());
    EXPECT_EQ(damaged([&] { set_text(log, "observation_space", "{}"); }),
              "attribute 'observation_space': describes no space");
    EXPECT_EQ(damaged([&] { set_text(log, "observation_space", "[1"); }), "attribute 'observation_space': is no JSON");
    EXPECT_EQ(damaged([&] { set_text(log, "action_space", "{\"type\": \"Dict\"}"); }),
              "attribute 'action_space': describes no space");
    EXPECT_NE(damaged([&] { set_text(log, "config", "task = 3 3"); }).find("attribute 'config'"), std::string::npos);
    EXPECT_NE(damaged([&] { set_text(log, "task", "Else-v0"); }).find("'task' says Else-v0"), std::string::npos);
  }
}

TEST(InspectSpace, GroupsThatAnEpisodeMustHave) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  for (const auto& [format, file, group, keys] :
       {std::tuple("minari", "minari/a-v0/data/main_data.hdf5", "episode_1/",
                   std::vector{"observations", "terminations", "truncations"}),
        {"robomimic", "robomimic", "data/demo_1/", {"obs", "dones"}}}) {
    ASSERT_EQ(run_program({"record", "CartPole-v1", "--random", "--episodes", "3", "--quiet", "--dataset-id", "a-v0",
                           "--format", format, "-o", format},
                          folder.path(), kLimit)
                  .status,
              0);
    const fs::path path = folder / file;
    for (const char* key : keys) {
      const std::string whole = std::string(group) + key, where = std::string(format) + " " + key;
      {
        const Hdf5Handle opened = open_file(path);
        hdf5_check(H5Lmove(opened.get(), whole.c_str(), opened.get(), "/aside", H5P_DEFAULT, H5P_DEFAULT), where);
        Hdf5Handle(H5Gcreate2(opened.get(), whole.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), where);
      }
      EXPECT_NE(run_program({"inspect", path.string()}, ".", kLimit).out.find(std::string("_1: has no ") + key),
                std::string::npos)
          << where;
      const Hdf5Handle opened = open_file(path);
      hdf5_check(H5Ldelete(opened.get(), whole.c_str(), H5P_DEFAULT), where);
      hdf5_check(H5Lmove(opened.get(), "/aside", opened.get(), whole.c_str(), H5P_DEFAULT, H5P_DEFAULT), where);
    }
    EXPECT_EQ(problem_of(path), "") << format;
  }
}

}  // namespace
}  // namespace hotloop

// What of a log or dataset contradicts its spaces, what it lacks, and what is none of it: `inspect` names it, `convert`
// does not spread it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/file.h"
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

// A recorded dataset of random actions, three episodes.
fs::path record(const TempFolder& folder, const char* task, const std::string& format) {
  const fs::path path = folder.path() / format;
  const ProgramResult result = run_program({"record", task, "--random", "--episodes", "3", "--quiet", "--dataset-id",
                                            "a-v0", "--format", format, "--device", "cpu", "-o", path.string()},
                                           ".", kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  return format == "minari" ? path / "a-v0" : path;
}

// The HDF5 file of a dataset, and the name of its first episode's actions.
std::pair<fs::path, std::string> actions_of(const fs::path& dataset, const std::string& format) {
  if (format == "minari") return {dataset / "data/main_data.hdf5", "episode_0/actions"};
  return {dataset, format == "robomimic" ? "data/demo_0/actions" : "actions"};
}

TEST(InspectSpace, ActionsOfEveryFormat) {
  const Hdf5Quiet quiet;
  for (const char* task : {"CartPole-v1", "Pendulum-v1"})
    for (const std::string format : {"minari", "d4rl", "robomimic", "tensordict"}) {
      SCOPED_TRACE(task + (" " + format));
      const bool box = task[0] == 'P';
      const TempFolder folder;
      const fs::path dataset = record(folder, task, format);
      EXPECT_EQ(problem_of(dataset), "");
      const float large = -2.5f;
      const std::int64_t choice = 7;
      if (format == "tensordict") {
        std::string bytes = read_file(dataset / "action.memmap", UINT64_MAX);
        bytes.replace(0, box ? 4 : 8, reinterpret_cast<const char*>(box ? static_cast<const void*>(&large) : &choice),
                      box ? 4 : 8);
        write_file(dataset / "action.memmap", bytes);
      } else {
        const auto [file, name] = actions_of(dataset, format);
        box ? overwrite(file, name.c_str(), H5T_NATIVE_FLOAT, large)
            : overwrite(file, name.c_str(), H5T_NATIVE_INT64, choice);
      }
      const std::string episode = format == "minari" ? " of episode_0" : format == "robomimic" ? " of demo_0" : "";
      const std::string key = format == "tensordict" ? "action" : "actions";
      EXPECT_EQ(problem_of(dataset), key + (box ? ": -2.5 in step 0" + episode + ": must be in [-2, 2]"
                                                : ": 7 in step 0" + episode + ": must be in [0, 1]"));
      const ProgramResult as_json = run_program({"inspect", dataset.string(), "--json"}, ".", kLimit);
      EXPECT_EQ(nlohmann::json::parse(as_json.out)["problems"].size(), 1u);
    }
}

// Puts `values` in the place of a dataset.
template <class T>
void replace_set(const fs::path& path, const std::string& name, hid_t type, const std::vector<T>& values) {
  const Hdf5Handle file = open_file(path);
  const hsize_t count = values.size();
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), name);
  hdf5_check(H5Ldelete(file.get(), name.c_str(), H5P_DEFAULT), name);
  const Hdf5Handle set(H5Dcreate2(file.get(), name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       name);
  hdf5_check(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name);
}

std::string all_of(const fs::path& path) { return run_program({"inspect", path.string()}, ".", kLimit).out; }

TEST(InspectSpace, ActionsOfAnotherKind) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path dataset = record(folder, "CartPole-v1", "d4rl");
  const auto rows = static_cast<std::size_t>(
      nlohmann::json::parse(run_program({"inspect", dataset.string(), "--json"}, ".", kLimit).out)["steps"]
          .get<std::int64_t>());
  replace_set(dataset, "actions", H5T_NATIVE_FLOAT, std::vector<float>(rows, 0.5f));
  const std::string text = all_of(dataset);
  EXPECT_NE(text.find("problem: actions: 1 of float32 a step: must be 1 of int64\n"), std::string::npos) << text;
  EXPECT_NE(text.find("problem: actions: 0.5 in step 0: must be an integer in [0, 1]; " + std::to_string(rows) +
                      " values are wrong in all\n"),
            std::string::npos)
      << text;
  // what hotloop says of its dataset; of a task that this program has not nothing is known
  set_text(dataset, "hotloop", R"({"task": "Else-v0"})");
  EXPECT_EQ(problem_of(dataset), "");
  set_text(dataset, "hotloop", "[1");
  EXPECT_EQ(problem_of(dataset), "attribute 'hotloop': is no JSON");
  set_text(dataset, "hotloop", "{}");
  EXPECT_EQ(problem_of(dataset), "attribute 'hotloop': names no task");
}

// Minari's datasets name their own space, whoever wrote them.
TEST(InspectSpace, ActionsOfOthers) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path dataset = record(folder, "CartPole-v1", "minari"), about = dataset / "data/metadata.json";
  auto metadata = nlohmann::json::parse(read_file(about, UINT64_MAX));
  const auto with_space = [&](const char* space) {
    metadata["action_space"] = space;
    write_file(about, metadata.dump());
    return problem_of(dataset);
  };
  EXPECT_EQ(with_space("{\"type\": \"Dict\"}"), about.string() + ": action_space: describes no space");
  metadata.erase("hotloop");
  EXPECT_EQ(with_space("{\"type\": \"Dict\"}"), "");
  EXPECT_EQ(with_space(R"({"type": "Discrete", "dtype": "int64", "start": 1, "n": 1})"), "");
  EXPECT_EQ(with_space(R"({"type": "Box", "dtype": "float32", "shape": [1], "low": [-Infinity], "high": [1.0]})"), "");
  EXPECT_NE(with_space(R"({"type": "Discrete", "dtype": "int64", "start": 0, "n": 1})").find("must be in [0, 0]"),
            std::string::npos);
  EXPECT_NE(with_space(R"({"type": "MultiDiscrete", "nvec": [2, 2]})").find("episode_0: actions: 1 of int64 a step"),
            std::string::npos);
}

TEST(InspectSpace, GroupsThatALogDoesNotHave) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path whole = folder / "whole.h5", log = folder / "log.h5";
  ASSERT_EQ(run_program(small_run(folder / "run", {"--log-trajectories", whole.string(), "--total-timesteps", "512"}),
                        ".", kLimit)
                .status,
            0);
  for (const auto& [group, problem] : {std::pair("notes", "'notes' is an empty group"),
                                       {"notes/inner", "'notes/inner'"},
                                       {"next/notes", "'next/notes'"},
                                       {"iteration/notes", "'iteration/notes' is nothing that a log holds"},
                                       {"final/notes", "'final/notes' is nothing that a log holds"}}) {
    fs::copy_file(whole, log, fs::copy_options::overwrite_existing);
    {
      const Hdf5Handle file = open_file(log), create(H5Pcreate(H5P_LINK_CREATE), group);
      hdf5_check(H5Pset_create_intermediate_group(create.get(), 1), group);
      Hdf5Handle(H5Gcreate2(file.get(), group, create.get(), H5P_DEFAULT, H5P_DEFAULT), group);
    }
    EXPECT_NE(problem_of(log).find("log.h5: " + std::string(problem)), std::string::npos) << group << problem_of(log);
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

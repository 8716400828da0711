// Reads a trajectory log or a dataset of any of the formats (data/dataset/writer.h) once, and says what is in it.
// Memory stays constant; nothing that a file says of itself is believed. HDF5's library may still crash on damaged
// files: call this in a process of its own (app/inspect.cpp).
#pragma once
#include <filesystem>
#include <functional>

#include "data/hdf5_handle.h"
#include "data/hdf5_room.h"
#include "data/inspect/report.h"
#include "data/log/log_format.h"

namespace hotloop {

// Throws Error where a log's configuration, which only training can read, is none.
using CheckConfig = std::function<void(const LogInfo& info)>;

// What is damaged or contradicts itself is among the report's problems. Error where the path is no dataset at all.
Report inspect(const std::filesystem::path& path, const CheckConfig& check_config = {});

// By format; they fill the report.
struct OpenHdf5 {
  Hdf5Handle file;
  double bytes = 0;
  Hdf5Room room{0};
};
// "trajectory log", "minari", "robomimic", "d4rl", or "" for none of them.
std::string kind_of(const OpenHdf5& file, const std::filesystem::path& path);
// Of a path that is there and is none: what it is instead.
std::string why_no_dataset(const std::filesystem::path& path);
// The HDF5 file of a minari dataset, a log's .part where there is no more; other paths as they are.
std::filesystem::path file_to_read(const std::filesystem::path& path);
void inspect_log(const std::filesystem::path& path, const CheckConfig& check_config, Report& report);
// metadata: Minari's metadata.json.
void inspect_minari(OpenHdf5& file, const std::filesystem::path& metadata, Report& report);
void inspect_robomimic(OpenHdf5& file, Report& report);
void inspect_d4rl(OpenHdf5& file, Report& report);
void inspect_tensordict(const std::filesystem::path& folder, Report& report);

}  // namespace hotloop

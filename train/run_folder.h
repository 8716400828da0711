// The folder of one run.
#pragma once
#include <filesystem>

#include "train/config.h"

namespace hotloop {

// Makes the folder config.run_dir, or runs/<task>__<exp_name>__<seed>__<unix time> below the working folder, and
// returns its absolute path. Error naming the folder if it holds anything already, is a file, or cannot be made or
// written to.
std::filesystem::path create_run_folder(const TrainConfig& config);

}  // namespace hotloop

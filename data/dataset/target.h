// Where datasets are written, by format.
#pragma once
#include <filesystem>
#include <string>

#include "data/dataset/writer.h"

namespace hotloop {

// MINARI_DATASETS_PATH, else ~/.minari/datasets: where Minari looks.
std::filesystem::path minari_datasets_folder();

// "hotloop/ant-v5/ppo-v0"
std::string default_dataset_id(const std::string& task, const std::string& algorithm);
// Error naming the option where Minari would not take it.
void check_dataset_id(const std::string& id);

// Error where `output` ends as a folder's name and the format is one file.
void check_file_name(DatasetFormat format, const std::string& output);
// Error where an absolute path lies in a dataset's folder, whose readers would stumble over it.
void check_not_in_dataset(const std::filesystem::path& target);

// The path of the dataset itself: below `output` by its id for minari, `output` for the others. Error if `output` is
// empty where it must not be or lies in a folder that is not there or in another dataset, or something is there
// already.
std::filesystem::path dataset_target(DatasetFormat format, const std::string& output, const std::string& dataset_id);

}  // namespace hotloop

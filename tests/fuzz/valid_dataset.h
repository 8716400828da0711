// Small datasets as hotloop writes them, for fuzzers to damage.
#pragma once
#include <filesystem>
#include <string>

#include "data/dataset/writer.h"

namespace hotloop {

// Two episodes of MountainCarContinuous-v0, of 2 and 3 steps.
void write_valid_dataset(DatasetFormat format, const std::filesystem::path& path);
// The HDF5 file of such a dataset.
std::string valid_hdf5(DatasetFormat format);

}  // namespace hotloop

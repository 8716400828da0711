// Leaves of datasets that may be cut off: what the file does not hold any more is not read as zeros.
#pragma once
#include <filesystem>
#include <string>

#include "data/inspect/inspect.h"
#include "data/inspect/leaf.h"
#include "data/memmap_meta.h"

namespace hotloop {

// Opened even where it is shorter than it says of itself. Its handle is invalid where HDF5 cannot open it; Error where
// there is no HDF5 file.
OpenHdf5 open_damaged_hdf5(const std::filesystem::path& path);

inline constexpr double kMostCut = 1e3;  // what a file has held may have been so many times its size
// As hdf5_leaf(), but its `rows` are those before the first that lies beyond the end of the file.
DataLeaf damaged_leaf(const OpenHdf5& file, const std::string& path);
// Of a raw file, however long it is.
DataLeaf damaged_leaf(const MemmapEntry& entry, const std::string& name);

}  // namespace hotloop

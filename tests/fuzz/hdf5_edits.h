// Changes to a valid HDF5 file by its library: the file stays one that the library reads without harm, so that only our
// own checks are between what it says and a crash. The bytes of the library's structures are no fuzzer's matter here:
// foreign files are first read in a process of their own (app/guarded.h).
#pragma once
#include <filesystem>

#include "tests/fuzz/fuzz_input.h"

namespace hotloop {

// As many edits as `input` holds; what the library refuses is passed over.
void edit_hdf5(const std::filesystem::path& path, FuzzInput& input);

}  // namespace hotloop

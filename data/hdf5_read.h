// Looking into HDF5 files of any origin: nothing is followed out of the file, and no size is believed.
#pragma once
#include <string>
#include <vector>

#include "data/hdf5_handle.h"

namespace hotloop {

inline constexpr double kMostDeflate = 1100;  // a deflated byte stands for at most 1032

// The names of what a group holds, in their order; at most 1000.
std::vector<std::string> hdf5_names(hid_t file, const std::string& path, const std::string& where);
// False for soft and external links, which lead elsewhere, and where there is nothing.
bool hdf5_is_hard_link(hid_t file, const std::string& path);
bool hdf5_is_group(hid_t file, const std::string& path);
// Error for what HDF5 would fetch from elsewhere, decode by a plugin or ask gigabytes for. `layout`: the set's creation
// properties; `element` in bytes.
void check_hdf5_storage(const Hdf5Handle& layout, std::size_t dims, std::size_t element, const std::string& where);

}  // namespace hotloop

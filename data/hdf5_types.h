// Element types and attributes in HDF5 files, as h5py writes and reads them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/arena.h"
#include "data/hdf5_handle.h"

namespace hotloop {

// The type of elements in memory and, on little-endian machines, in files; bool is h5py's enumeration of int8 FALSE
// and TRUE. Error for bfloat16, which HDF5 files of the field do not have.
Hdf5Handle hdf5_type(DType dtype, const std::string& where);
// Of texts of any length, UTF-8.
Hdf5Handle hdf5_text_type(const std::string& where);
// The reverse. Error for a type that is none of ours.
DType hdf5_dtype(hid_t type, const std::string& where);

// Attributes of one value; writing replaces. `where` starts messages: "file.h5" or "file.h5: 'key'".
void write_text_attribute(hid_t object, const std::string& name, const std::string& text, const std::string& where);
void write_integer_attribute(hid_t object, const std::string& name, std::int64_t value, const std::string& where);
void write_number_attribute(hid_t object, const std::string& name, double value, const std::string& where);
// Error where it is missing or of another kind.
std::string read_text_attribute(hid_t object, const std::string& name, const std::string& where);
std::int64_t read_integer_attribute(hid_t object, const std::string& name, const std::string& where);
double read_number_attribute(hid_t object, const std::string& name, const std::string& where);

// Sizes of a dataset; none for a single value.
std::vector<hsize_t> hdf5_dims(hid_t set, const std::string& where);

}  // namespace hotloop

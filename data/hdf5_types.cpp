#include "data/hdf5_types.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hotloop {
namespace {

Hdf5Handle half_type() {
  Hdf5Handle type(H5Tcopy(H5T_NATIVE_FLOAT), "HDF5 float16");
  // IEEE 754 binary16: sign bit 15, 5 exponent bits from bit 10 with bias 15, 10 mantissa bits
  hdf5_check(H5Tset_fields(type.get(), 15, 10, 5, 0, 10), "HDF5 float16");
  hdf5_check(H5Tset_size(type.get(), 2), "HDF5 float16");
  hdf5_check(H5Tset_ebias(type.get(), 15), "HDF5 float16");
  return type;
}

Hdf5Handle bool_type() {
  Hdf5Handle type(H5Tenum_create(H5T_NATIVE_INT8), "HDF5 bool");
  std::int8_t value = 0;
  hdf5_check(H5Tenum_insert(type.get(), "FALSE", &value), "HDF5 bool");
  value = 1;
  hdf5_check(H5Tenum_insert(type.get(), "TRUE", &value), "HDF5 bool");
  return type;
}

bool is_bool_enum(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  std::int8_t value = -1;
  return H5Tenum_valueof(type, "FALSE", &value) >= 0 && value == 0 && H5Tenum_valueof(type, "TRUE", &value) >= 0 &&
         value == 1;
}

}  // namespace

Hdf5Handle hdf5_type(DType dtype, const std::string& where) {
  const auto copy = [&](hid_t native) { return Hdf5Handle(H5Tcopy(native), where); };
  switch (dtype) {
    case DType::boolean:
      return bool_type();
    case DType::u8:
      return copy(H5T_NATIVE_UINT8);
    case DType::i8:
      return copy(H5T_NATIVE_INT8);
    case DType::i16:
      return copy(H5T_NATIVE_INT16);
    case DType::i32:
      return copy(H5T_NATIVE_INT32);
    case DType::i64:
      return copy(H5T_NATIVE_INT64);
    case DType::f16:
      return half_type();
    case DType::f32:
      return copy(H5T_NATIVE_FLOAT);
    case DType::f64:
      return copy(H5T_NATIVE_DOUBLE);
    case DType::bf16:
      break;
  }
  throw Error(where + " is bfloat16, which Python's tensordict cannot keep in HDF5; convert it or use memmap");
}

Hdf5Handle hdf5_text_type(const std::string& where) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), where);
  hdf5_check(H5Tset_size(type.get(), H5T_VARIABLE), where);
  hdf5_check(H5Tset_cset(type.get(), H5T_CSET_UTF8), where);
  return type;
}

DType hdf5_dtype(hid_t type, const std::string& where) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      if (H5Tget_sign(type) == H5T_SGN_NONE) {
        if (size == 1) return DType::u8;
        break;
      }
      if (size == 1) return DType::i8;
      if (size == 2) return DType::i16;
      if (size == 4) return DType::i32;
      if (size == 8) return DType::i64;
      break;
    case H5T_FLOAT: {
      std::array<std::size_t, 5> fields{};
      H5Tget_fields(type, &fields[0], &fields[1], &fields[2], &fields[3], &fields[4]);
      if (size == 2 && fields[2] == 5 && fields[4] == 10) return DType::f16;
      if (size == 4) return DType::f32;
      if (size == 8) return DType::f64;
      break;
    }
    case H5T_ENUM:
      if (is_bool_enum(type)) return DType::boolean;
      break;
    default:
      break;
  }
  throw Error(where + ": its HDF5 type is none of bool, uint8, int8, int16, int32, int64, float16, float32, float64");
}

namespace {

void write_attribute(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type, const void* value,
                     const std::string& where) {
  const std::string what = where + ": attribute '" + name + "'";
  Hdf5Handle attribute;
  if (hdf5_check(H5Aexists(object, name.c_str()), what) > 0) {
    attribute = Hdf5Handle(H5Aopen(object, name.c_str(), H5P_DEFAULT), what);
  } else {
    const Hdf5Handle space(H5Screate(H5S_SCALAR), what);
    attribute = Hdf5Handle(H5Acreate2(object, name.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT), what);
  }
  hdf5_check(H5Awrite(attribute.get(), memory_type, value), what);
}

// The attribute, which must hold one value of class `wanted`.
Hdf5Handle open_scalar(hid_t object, const std::string& name, H5T_class_t wanted, const std::string& what) {
  if (H5Aexists(object, name.c_str()) <= 0) throw Error(what + " is missing");
  Hdf5Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), what);
  const Hdf5Handle space(H5Aget_space(attribute.get()), what), type(H5Aget_type(attribute.get()), what);
  if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_class(type.get()) != wanted)
    throw Error(what + " is not one " + (wanted == H5T_STRING ? "text" : "number"));
  return attribute;
}

}  // namespace

void write_text_attribute(hid_t object, const std::string& name, const std::string& text, const std::string& where) {
  const Hdf5Handle type = hdf5_text_type(where);
  const char* pointer = text.c_str();
  write_attribute(object, name, type.get(), type.get(), &pointer, where);
}

void write_integer_attribute(hid_t object, const std::string& name, std::int64_t value, const std::string& where) {
  write_attribute(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value, where);
}

void write_number_attribute(hid_t object, const std::string& name, double value, const std::string& where) {
  write_attribute(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, where);
}

std::string read_text_attribute(hid_t object, const std::string& name, const std::string& where) {
  const std::string what = where + ": attribute '" + name + "'";
  const Hdf5Handle attribute = open_scalar(object, name, H5T_STRING, what);
  const Hdf5Handle type(H5Aget_type(attribute.get()), what);
  if (hdf5_check(H5Tis_variable_str(type.get()), what) > 0) {
    const Hdf5Handle wanted = hdf5_text_type(what);
    hdf5_check(H5Tset_cset(wanted.get(), H5Tget_cset(type.get())), what);
    char* text = nullptr;
    hdf5_check(H5Aread(attribute.get(), wanted.get(), &text), what);
    const std::string value = text != nullptr ? text : "";
    H5free_memory(text);
    return value;
  }
  std::string value(H5Tget_size(type.get()), '\0');  // HDF5 keeps attributes below 64 KiB, or in its checked heap
  hdf5_check(H5Aread(attribute.get(), type.get(), value.data()), what);
  value.resize(std::min(value.size(), value.find('\0')));
  return value;
}

std::int64_t read_integer_attribute(hid_t object, const std::string& name, const std::string& where) {
  const std::string what = where + ": attribute '" + name + "'";
  const Hdf5Handle attribute = open_scalar(object, name, H5T_INTEGER, what);
  std::int64_t value = 0;
  hdf5_check(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), what);
  return value;
}

double read_number_attribute(hid_t object, const std::string& name, const std::string& where) {
  const std::string what = where + ": attribute '" + name + "'";
  const Hdf5Handle attribute = open_scalar(object, name, H5T_FLOAT, what);
  double value = 0;
  hdf5_check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value), what);
  return value;
}

std::vector<hsize_t> hdf5_dims(hid_t set, const std::string& where) {
  const Hdf5Handle space(H5Dget_space(set), where);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) throw Error(where + " has no data space");
  std::vector<hsize_t> dims(static_cast<std::size_t>(hdf5_check(H5Sget_simple_extent_ndims(space.get()), where)));
  if (!dims.empty()) hdf5_check(H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr), where);
  return dims;
}

}  // namespace hotloop

// HDF5's C API with owners for its identifiers and one-line errors. Header only; whoever includes it links hdf5::hdf5.
#pragma once
#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>

#include "sim/core/error.h"

namespace hotloop {

// Owns one identifier of any kind (file, group, dataset, type, space, attribute, property list).
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  // Throws Error "<what>: <HDF5's reason>" where id reports a failure.
  Hdf5Handle(hid_t id, const std::string& what);
  ~Hdf5Handle() { reset(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) reset(), id_ = std::exchange(other.id_, H5I_INVALID_HID);
    return *this;
  }
  hid_t get() const { return id_; }
  void reset() {
    if (id_ >= 0) H5Idec_ref(id_);
    id_ = H5I_INVALID_HID;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

// HDF5 prints its error stack to stderr by default. While one of these lives it does not, in this thread. The first one
// of a process must come before all other use of HDF5.
class Hdf5Quiet {
 public:
  Hdf5Quiet() {
    // at exit HDF5 would once more close what a full disk kept it from closing, and crash
    H5dont_atexit();
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Hdf5Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Hdf5Quiet(const Hdf5Quiet&) = delete;
  Hdf5Quiet& operator=(const Hdf5Quiet&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

// The innermost reason on HDF5's error stack, one line.
inline std::string hdf5_reason() {
  std::string reason = "HDF5 gives no reason";
  const auto keep = [](unsigned, const H5E_error2_t* e, void* text) -> herr_t {
    if (e->desc && *e->desc) *static_cast<std::string*>(text) = e->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep, &reason);
  for (char& c : reason)
    if (c == '\n') c = ' ';
  return reason;
}

// For calls that report failure by a negative value.
template <class Status>
Status hdf5_check(Status status, const std::string& what) {
  if (status < 0) throw Error(what + ": " + hdf5_reason());
  return status;
}

inline Hdf5Handle::Hdf5Handle(hid_t id, const std::string& what) : id_(hdf5_check(id, what)) {}

// h5py's bool: an enumeration of FALSE and TRUE over one byte.
inline Hdf5Handle hdf5_bool_type() {
  Hdf5Handle type(H5Tenum_create(H5T_NATIVE_INT8), "HDF5 bool");
  std::int8_t value = 0;
  hdf5_check(H5Tenum_insert(type.get(), "FALSE", &value), "HDF5 bool");
  value = 1;
  hdf5_check(H5Tenum_insert(type.get(), "TRUE", &value), "HDF5 bool");
  return type;
}

inline bool is_hdf5_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  std::int8_t value = -1;
  return H5Tenum_valueof(type, "FALSE", &value) >= 0 && value == 0 && H5Tenum_valueof(type, "TRUE", &value) >= 0 &&
         value == 1;
}

}  // namespace hotloop

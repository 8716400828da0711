// HDF5's C API with owners for its identifiers and one-line errors. Header only; whoever includes it links hdf5::hdf5.
#pragma once
#include <hdf5.h>

#include <algorithm>
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
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }
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
    [[maybe_unused]] static const bool once = H5dont_atexit() >= 0;
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
  // of a failed system call HDF5 tells addresses and sizes too: the system's own words are enough
  const std::string mark = "error message = '";
  if (const std::size_t at = reason.find(mark); at != std::string::npos) {
    reason.erase(0, at + mark.size());
    reason.erase(std::min(reason.size(), reason.find('\'')));
  }
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

}  // namespace hotloop

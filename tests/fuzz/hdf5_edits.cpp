#include "tests/fuzz/hdf5_edits.h"

#include <vector>

#include "data/hdf5_handle.h"
#include "data/hdf5_types.h"

namespace hotloop {
namespace {

constexpr int kMostEdits = 12;
constexpr hsize_t kMostSize = 1 << 16;  // of a set that is changed again
constexpr const char* kAttributes[] = {"format",          "format_version",    "task",        "config",
                                       "num_envs",        "num_steps",         "seed",        "max_episode_steps",
                                       "units",           "description",       "total_steps", "num_samples",
                                       "total",           "env_args",          "rewards_sum", "hotloop",
                                       "hotloop_version", "observation_space", "device",      "source"};

std::vector<std::string> objects_of(hid_t file) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5O_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->push_back(std::string(name) == "." ? "/" : name);
    return 0;
  };
  H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, add, &names);
  return names;
}

// The library itself visits every chunk of a large set that is made shorter, for hours, and crashes as it writes one.
bool is_large(const std::vector<hsize_t>& dims) {
  return std::any_of(dims.begin(), dims.end(), [](hsize_t n) { return n > kMostSize; });
}

class Editor {
 public:
  Editor(hid_t file, FuzzInput& input) : file_(file), input_(input), names_(objects_of(file)) {}

  void edit() {
    const auto kind = input_.number<std::uint8_t>();
    name_ = names_[input_.number<std::uint8_t>() % names_.size()];
    switch (kind % 7) {
      case 0:
      case 1:
        return set_attribute(kind);
      case 2:
        return set_element();
      case 3:
        return set_size();
      case 4:
        H5Ldelete(file_, name_.c_str(), H5P_DEFAULT);
        return;
      case 5:
        return replace_by_set();
      default:
        return replace_by_other();
    }
  }

 private:
  void set_attribute(std::uint8_t kind) {
    const char* key = kAttributes[input_.number<std::uint8_t>() % std::size(kAttributes)];
    const Hdf5Handle object(H5Oopen(file_, name_.c_str(), H5P_DEFAULT), name_);
    H5Adelete(object.get(), key);
    if (kind % 7 == 0) return write_text_attribute(object.get(), key, input_.text(), name_);
    if (kind & 64) return write_number_attribute(object.get(), key, input_.number<double>(), name_);
    write_integer_attribute(object.get(), key, input_.number<std::int64_t>(), name_);
  }

  void set_element() {
    const Hdf5Handle set(H5Dopen2(file_, name_.c_str(), H5P_DEFAULT), name_), space(H5Dget_space(set.get()), name_),
        type(H5Dget_type(set.get()), name_), one(H5Screate(H5S_SCALAR), name_);
    std::vector<hsize_t> at = hdf5_dims(set.get(), name_);
    // nor does the library see that a set has no element to be written
    if (is_large(at) || std::count(at.begin(), at.end(), 0u) > 0) return;
    for (hsize_t& n : at) n = input_.number<std::uint8_t>() % n;
    if (!at.empty()) hdf5_check(H5Sselect_elements(space.get(), H5S_SELECT_SET, 1, at.data()), name_);
    const auto value = input_.number<std::uint64_t>();
    if (H5Tget_size(type.get()) <= sizeof value && H5Tget_class(type.get()) != H5T_STRING)
      H5Dwrite(set.get(), type.get(), one.get(), space.get(), H5P_DEFAULT, &value);
  }

  void set_size() {
    const Hdf5Handle set(H5Dopen2(file_, name_.c_str(), H5P_DEFAULT), name_);
    std::vector<hsize_t> dims = hdf5_dims(set.get(), name_);
    if (is_large(dims)) return;
    if (!dims.empty()) dims[input_.number<std::uint8_t>() % dims.size()] = size();
    H5Dset_extent(set.get(), dims.data());
  }

  void replace_by_set() {
    const auto type_number = input_.number<std::uint8_t>();
    const auto dtype = static_cast<DType>(type_number % 10);
    std::vector<hsize_t> dims(input_.number<std::uint8_t>() % 4), chunk;
    for (hsize_t& n : dims) n = size(), chunk.push_back(std::clamp<hsize_t>(n, 1, 8));
    const Hdf5Handle type = dtype == DType::bf16 ? Hdf5Handle(H5Tcopy(H5T_C_S1), name_) : hdf5_type(dtype, name_);
    const Hdf5Handle plan(H5Pcreate(H5P_DATASET_CREATE), name_),
        space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), name_);
    if (type_number < 128 && !dims.empty()) H5Pset_chunk(plan.get(), static_cast<int>(dims.size()), chunk.data());
    H5Ldelete(file_, name_.c_str(), H5P_DEFAULT);
    const Hdf5Handle set(
        H5Dcreate2(file_, name_.c_str(), type.get(), space.get(), H5P_DEFAULT, plan.get(), H5P_DEFAULT), name_);
    for (const char* key : {"units", "description"}) write_text_attribute(set.get(), key, "", name_);
  }

  void replace_by_other() {
    const auto kind = input_.number<std::uint8_t>();
    const std::string& target = names_[input_.number<std::uint8_t>() % names_.size()];
    H5Ldelete(file_, name_.c_str(), H5P_DEFAULT);
    if (kind % 4 == 0) H5Lcreate_soft(target.c_str(), file_, name_.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    if (kind % 4 == 1) H5Lcreate_external("other.h5", "/", file_, name_.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    if (kind % 4 == 2) H5Lcreate_hard(file_, target.c_str(), file_, name_.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    if (kind % 4 == 3) Hdf5Handle(H5Gcreate2(file_, name_.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), name_);
  }

  // Mostly small: large ones say nothing that the limits of sizes do not.
  hsize_t size() {
    const auto small = input_.number<std::uint8_t>();
    return small < 250 ? small % 32 : input_.number<std::uint64_t>();
  }

  hid_t file_;
  FuzzInput& input_;
  std::vector<std::string> names_;
  std::string name_;
};

}  // namespace

void edit_hdf5(const std::filesystem::path& path, FuzzInput& input) {
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), path.string());
  Editor editor(file.get(), input);
  for (int i = 0; i < kMostEdits && !input.empty(); ++i) {
    try {
      editor.edit();
    } catch (const Error&) {
    }
  }
}

}  // namespace hotloop

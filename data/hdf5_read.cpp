#include "data/hdf5_read.h"

#include <cstring>

namespace hotloop {
namespace {

constexpr std::size_t kMostNames = 1000, kMostNameBytes = 255;
constexpr double kMostChunkBytes = 256.0 * 1048576;

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* list) {
  auto& names = *static_cast<std::vector<std::string>*>(list);
  names.emplace_back(name, strnlen(name, kMostNameBytes));
  return names.size() < kMostNames ? 0 : 1;
}

}  // namespace

std::vector<std::string> hdf5_names(hid_t file, const std::string& path, const std::string& where) {
  const Hdf5Handle group(H5Gopen2(file, path.c_str(), H5P_DEFAULT), where);
  std::vector<std::string> names;
  hdf5_check(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_name, &names), where);
  return names;
}

bool hdf5_is_hard_link(hid_t file, const std::string& path) {
  H5L_info_t link{};
  return H5Lget_info(file, path.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
}

bool hdf5_is_group(hid_t file, const std::string& path) {
  if (!hdf5_is_hard_link(file, path)) return false;
  const hid_t object = H5Oopen(file, path.c_str(), H5P_DEFAULT);
  if (object < 0) return false;
  return H5Iget_type(Hdf5Handle(object, path).get()) == H5I_GROUP;
}

void check_hdf5_storage(const Hdf5Handle& layout, std::size_t dims, std::size_t element, const std::string& where) {
  const H5D_layout_t kind = H5Pget_layout(layout.get());
  if (kind == H5D_VIRTUAL || H5Pget_external_count(layout.get()) != 0) throw Error(where + " lies in other files");
  if (kind != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(dims);
  hdf5_check(H5Pget_chunk(layout.get(), static_cast<int>(dims), chunk.data()), where);
  double bytes = static_cast<double>(element);
  for (const hsize_t n : chunk) bytes *= static_cast<double>(n);
  if (bytes > kMostChunkBytes) throw Error(where + " has chunks of more than 256 MiB");
  for (int i = 0; i < H5Pget_nfilters(layout.get()); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(layout.get(), static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_FLETCHER32)
      throw Error(where + ": filter " + std::to_string(filter) + " is neither shuffle nor gzip");
  }
}

}  // namespace hotloop

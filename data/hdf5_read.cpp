#include "data/hdf5_read.h"

namespace hotloop {
namespace {

constexpr double kMostChunkBytes = 256.0 * 1048576;

std::string link_name(hid_t group, hsize_t i, const std::string& where) {
  char name[256] = "";
  hdf5_check(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT), where);
  return name;
}

}  // namespace

std::vector<std::string> hdf5_names(hid_t file, const std::string& path, const std::string& where) {
  const Hdf5Handle group(H5Gopen2(file, path.c_str(), H5P_DEFAULT), where);
  H5G_info_t info{};
  hdf5_check(H5Gget_info(group.get(), &info), where);
  std::vector<std::string> names;
  for (hsize_t i = 0; i < std::min<hsize_t>(info.nlinks, 1000); ++i) names.push_back(link_name(group.get(), i, where));
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

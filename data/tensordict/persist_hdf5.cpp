// Python's layout of to_h5: groups are nested TensorDicts, datasets leaves; bool is h5py's enumeration of FALSE and
// TRUE.
#include <ATen/ops/empty.h>
#include <hdf5.h>

#include <algorithm>
#include <bit>

#include "data/hdf5_handle.h"
#include "data/hdf5_types.h"
#include "data/staged_path.h"
#include "data/tensordict/arena_view.h"
#include "data/tensordict/persist.h"
#include "data/tensordict/tensordict_node.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using tensordict_detail::guarded;

constexpr const char* kBatchAttribute = "tensordict_batch_size";
constexpr hsize_t kChunkBytes = 512 * 1024;  // below HDF5's chunk cache of 1 MiB
constexpr int kMaxDepth = 64;

void write_batch_size(hid_t group, const Shape& batch_size, const std::string& where) {
  const hsize_t count = batch_size.size();
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), where);
  const Hdf5Handle attribute(H5Acreate2(group, kBatchAttribute, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                             where);
  if (count) hdf5_check(H5Awrite(attribute.get(), H5T_NATIVE_INT64, batch_size.data()), where);
}

void write_leaf(hid_t group, const std::string& name, const at::Tensor& leaf, int gzip, const std::string& where) {
  const at::Tensor host = leaf.detach().to(at::kCPU).contiguous();
  const Hdf5Handle type = hdf5_type(dtype_of(leaf.scalar_type()), where);
  const std::vector<hsize_t> dims(leaf.sizes().begin(), leaf.sizes().end());
  const Hdf5Handle space(
      dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
      where);
  const Hdf5Handle layout(H5Pcreate(H5P_DATASET_CREATE), where);
  if (gzip && !dims.empty() && leaf.numel()) {
    std::vector<hsize_t> chunk = dims;
    const hsize_t row = static_cast<hsize_t>(leaf.numel()) * leaf.element_size() / dims[0];
    chunk[0] = std::clamp<hsize_t>(kChunkBytes / std::max<hsize_t>(row, 1), 1, dims[0]);
    hdf5_check(H5Pset_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data()), where);
    hdf5_check(H5Pset_shuffle(layout.get()), where);
    hdf5_check(H5Pset_deflate(layout.get(), static_cast<unsigned>(gzip)), where);
  }
  const Hdf5Handle set(H5Dcreate2(group, name.c_str(), type.get(), space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
                       where);
  if (leaf.numel()) hdf5_check(H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, host.data_ptr()), where);
}

void write_group(hid_t group, const TensorDict& td, int gzip, const std::string& prefix, const std::string& file) {
  write_batch_size(group, td.batch_size(), file);
  for (const auto& [name, value] : td.items()) {
    const std::string where = file + ": '" + prefix + name + "'";
    if (value.is_tensor()) {
      write_leaf(group, name, value.tensor(), gzip, where);
    } else {
      const Hdf5Handle level(H5Gcreate2(group, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), where);
      write_group(level.get(), value.dict(), gzip, prefix + name + "/", file);
    }
  }
}

at::Tensor read_leaf(hid_t set, const std::string& where) {
  const Hdf5Handle file_type(H5Dget_type(set), where);
  const DType dtype = hdf5_dtype(file_type.get(), where);
  const Hdf5Handle space(H5Dget_space(set), where);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) throw Error(where + " has no data space");
  const int rank = hdf5_check(H5Sget_simple_extent_ndims(space.get()), where);
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (rank) hdf5_check(H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr), where);
  const Shape shape(dims.begin(), dims.end());
  const auto options = at::TensorOptions(dtype == DType::boolean ? at::kByte : scalar_type(dtype));
  const at::Tensor leaf = guarded([&] { return where; }, [&] { return at::empty(shape, options); });
  const Hdf5Handle type = hdf5_type(dtype, where);
  if (leaf.numel()) hdf5_check(H5Dread(set, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, leaf.data_ptr()), where);
  return dtype == DType::boolean ? leaf.ne(0) : leaf;  // a damaged byte must not become a bool that is neither
}

std::optional<Shape> read_batch_size(hid_t group, const std::string& where) {
  if (H5Aexists(group, kBatchAttribute) <= 0) return std::nullopt;
  const Hdf5Handle attribute(H5Aopen(group, kBatchAttribute, H5P_DEFAULT), where);
  const Hdf5Handle space(H5Aget_space(attribute.get()), where), type(H5Aget_type(attribute.get()), where);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (H5Tget_class(type.get()) != H5T_INTEGER || count < 0 || count > H5S_MAX_RANK)
    throw Error(where + ": attribute " + kBatchAttribute + " is not a list of sizes");
  Shape shape(static_cast<std::size_t>(count));
  if (count) hdf5_check(H5Aread(attribute.get(), H5T_NATIVE_INT64, shape.data()), where);
  return shape;
}

// Python's rule for files that name no batch size: the longest shape that every entry begins with.
Shape shared_shape(const TensorDict& td) {
  std::optional<Shape> shared;
  for (const TensorDict::Value& value : td.values()) {
    const Shape shape = value.is_tensor() ? value.tensor().sizes().vec() : value.dict().batch_size();
    if (!shared) shared = shape;
    const std::size_t longest = std::min(shared->size(), shape.size());
    std::size_t same = 0;
    while (same < longest && (*shared)[same] == shape[same]) ++same;
    shared->resize(same);
  }
  return shared.value_or(Shape{});
}

struct Reader {
  std::string file;

  TensorDict read(hid_t group, const std::string& prefix, int depth) const {
    const std::string group_where = file + ": '" + (prefix.empty() ? "/" : prefix) + "'";
    if (depth > kMaxDepth) throw Error(group_where + ": more than " + std::to_string(kMaxDepth) + " levels");
    TensorDict result;
    H5G_info_t info{};
    hdf5_check(H5Gget_info(group, &info), group_where);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const std::string name = link_name(group, i, group_where);
      const std::string where = file + ": '" + prefix + name + "'";
      H5L_info_t link{};
      hdf5_check(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT), where);
      if (link.type != H5L_TYPE_HARD) throw Error(where + " is a link to elsewhere, which is not followed");
      const Hdf5Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), where);
      const H5I_type_t kind = H5Iget_type(object.get());
      if (kind == H5I_GROUP)
        result.set({name}, read(object.get(), prefix + name + "/", depth + 1));
      else if (kind == H5I_DATASET)
        result.set({name}, read_leaf(object.get(), where));
      else
        throw Error(where + " is neither a group nor a dataset");
    }
    set_batch(result, read_batch_size(group, group_where).value_or(shared_shape(result)), group_where);
    return result;
  }

  static void set_batch(TensorDict& td, const Shape& batch_size, const std::string& where) {
    try {
      td.set_batch_size(batch_size);
    } catch (const Error& e) {
      throw Error(where + ": " + e.what());
    }
  }

  static std::string link_name(hid_t group, hsize_t i, const std::string& where) {
    const auto get = [&](char* text, std::size_t size) {
      return hdf5_check(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, text, size, H5P_DEFAULT), where);
    };
    std::string name(static_cast<std::size_t>(get(nullptr, 0)), '\0');
    get(name.data(), name.size() + 1);
    return name;
  }
};

}  // namespace

void to_h5(const TensorDict& td, const fs::path& file, int gzip) {
  if (gzip < 0 || gzip > 9) throw Error("tensordict: to_h5: gzip level " + std::to_string(gzip) + " is not 0 to 9");
  const Hdf5Quiet quiet;
  std::error_code error;
  if (fs::is_directory(file, error)) throw Error("tensordict: to_h5: '" + file.string() + "' is a folder");
  StagedPath staged(file);
  const std::string where = "'" + file.string() + "'";
  {
    Hdf5Handle out(H5Fcreate(staged.path().c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), "cannot write " + where);
    write_group(out.get(), td, gzip, "", where);
    hdf5_check(H5Fflush(out.get(), H5F_SCOPE_GLOBAL), "cannot write " + where);
  }
  staged.commit_file();
}

TensorDict from_h5(const fs::path& file, std::optional<Shape> batch_size, std::optional<at::Device> device) {
  const Hdf5Quiet quiet;
  const std::string where = "'" + file.string() + "'";
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    throw Error("cannot read " + where + ": " + (fs::exists(file, error) ? "not a file" : "no such file"));
  const Hdf5Handle in(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "cannot read " + where);
  const Hdf5Handle root(H5Gopen2(in.get(), "/", H5P_DEFAULT), "cannot read " + where);
  TensorDict td = Reader{where}.read(root.get(), "", 0);
  if (batch_size) Reader::set_batch(td, *batch_size, where);
  return device ? td.to(*device) : td;
}

}  // namespace hotloop

#include "data/inspect/leaf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "data/file.h"
#include "data/hdf5_read.h"
#include "data/hdf5_types.h"

namespace hotloop {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;
constexpr int kMostDepth = 6;
constexpr std::size_t kMostLeaves = 1000;

template <class T>
T element_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double half_number(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

void collect(hid_t file, const std::string& path, const std::string& prefix, int depth, Hdf5Room& room,
             std::vector<DataLeaf>& leaves, Report& report) {
  const std::vector<std::string> links = hdf5_names(file, path, path);
  room.take_group(static_cast<double>(links.size()), path);
  for (const std::string& link : links) {
    const std::string inner = path + "/" + link, name = prefix + link;
    if (leaves.size() >= kMostLeaves || depth >= kMostDepth) throw Error(path + ": too many or too deep keys");
    try {
      if (hdf5_is_group(file, inner))
        collect(file, inner, name + "/", depth + 1, room, leaves, report);
      else
        leaves.push_back(hdf5_leaf(file, inner, name, room));
    } catch (const Error& e) {
      report.problem(e.what());
    }
  }
}

}  // namespace

double leaf_number(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::boolean:
      return element_at<std::uint8_t>(at) != 0;
    case DType::u8:
      return element_at<std::uint8_t>(at);
    case DType::i8:
      return element_at<std::int8_t>(at);
    case DType::i16:
      return element_at<std::int16_t>(at);
    case DType::i32:
      return element_at<std::int32_t>(at);
    case DType::i64:
      return static_cast<double>(element_at<std::int64_t>(at));
    case DType::f16:
      return half_number(element_at<std::uint16_t>(at));
    case DType::bf16: {
      const std::uint32_t bits = std::uint32_t{element_at<std::uint16_t>(at)} << 16;
      return static_cast<double>(element_at<float>(reinterpret_cast<const std::byte*>(&bits)));
    }
    case DType::f32:
      return static_cast<double>(element_at<float>(at));
    case DType::f64:
      return element_at<double>(at);
  }
  return NAN;
}

std::int64_t count_non_finite(DType dtype, const std::byte* elements, std::size_t count) {
  if (dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64) return 0;
  const std::size_t size = dtype_size(dtype);
  std::int64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += !std::isfinite(leaf_number(dtype, elements + i * size));
  return found;
}

DataLeaf hdf5_leaf(hid_t file, const std::string& path, const std::string& name, Hdf5Room& room) {
  if (!hdf5_is_hard_link(file, path)) throw Error(path + " is missing");
  const auto set = std::make_shared<Hdf5Handle>(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  const Hdf5Handle type(H5Dget_type(set->get()), path);
  const std::vector<hsize_t> dims = hdf5_dims(set->get(), path);
  const Hdf5Handle layout(H5Dget_create_plist(set->get()), path);
  check_hdf5_storage(layout, dims.size(), H5Tget_size(type.get()), path);
  const double rows = dims.empty() ? 1 : static_cast<double>(dims[0]);
  room.take(set->get(), dims, H5Tget_size(type.get()), rows, path);
  DataLeaf leaf{name, std::nullopt};
  leaf.rows = dims.empty() ? 1 : static_cast<std::int64_t>(dims[0]);
  for (std::size_t i = 1; i < dims.size(); ++i) leaf.row_shape.push_back(static_cast<std::int64_t>(dims[i]));
  try {
    leaf.dtype = hdf5_dtype(type.get(), path);
  } catch (const Error&) {
    return leaf;  // not of numbers
  }
  const auto memory_type = std::make_shared<Hdf5Handle>(hdf5_type(*leaf.dtype, path));
  leaf.read = [set, memory_type, dims, path](std::int64_t row, std::int64_t rows, std::byte* out) {
    std::vector<hsize_t> start(dims.size()), count = dims;
    const Hdf5Handle space(H5Dget_space(set->get()), path);
    if (!dims.empty()) {
      start[0] = static_cast<hsize_t>(row), count[0] = static_cast<hsize_t>(rows);
      hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), path);
    }
    const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), path);
    hdf5_check(H5Dread(set->get(), memory_type->get(), memory.get(), space.get(), H5P_DEFAULT, out), path);
  };
  return leaf;
}

std::vector<DataLeaf> hdf5_leaves(hid_t file, const std::string& path, Hdf5Room& room, Report& report) {
  std::vector<DataLeaf> leaves;
  try {
    collect(file, path, "", 0, room, leaves, report);
  } catch (const Error& e) {
    report.problem(e.what());
  }
  return leaves;
}

DataLeaf raw_leaf(const std::filesystem::path& path, const std::string& name, DType dtype, std::int64_t rows,
                  std::vector<std::int64_t> row_shape, bool may_be_longer) {
  DataLeaf leaf{name, dtype, rows, std::move(row_shape)};
  std::size_t row_bytes = dtype_size(dtype), bytes = 0;
  for (const std::int64_t d : leaf.row_shape)
    if (__builtin_mul_overflow(row_bytes, static_cast<std::size_t>(d), &row_bytes))
      throw Error(path.string() + ": its shape is too large");
  std::error_code error;
  const std::uintmax_t held =
      std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
  if (__builtin_mul_overflow(row_bytes, static_cast<std::size_t>(rows), &bytes) ||
      (may_be_longer ? held < bytes : held != bytes))
    throw Error(
        fmt::format("{}: has {} bytes, but its shape says {} rows of {}", path.string(), held, rows, row_bytes));
  if (bytes == 0) return leaf;  // no file
  const auto file = std::make_shared<detail::Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file->get() < 0) throw_file_error(path, errno);
  leaf.read = [file, path, row_bytes](std::int64_t row, std::int64_t count, std::byte* out) {
    std::size_t left = static_cast<std::size_t>(count) * row_bytes;
    auto offset = static_cast<off_t>(static_cast<std::size_t>(row) * row_bytes);
    while (left > 0) {
      const ssize_t n = ::pread(file->get(), out, left, offset);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) throw_file_error(path, n < 0 ? errno : EIO);
      out += n, offset += n, left -= static_cast<std::size_t>(n);
    }
  };
  return leaf;
}

bool scan_leaf(const DataLeaf& leaf, const std::string& where, Report& report, const TakeRows& take) {
  try {
    KeyReport& key = report.key(leaf.name, leaf.dtype_text(), leaf.row_shape);
    const std::int64_t row_bytes =
        leaf.dtype ? leaf.row_numel() * static_cast<std::int64_t>(dtype_size(*leaf.dtype)) : 0;
    if (row_bytes == 0) {
      key.rows += leaf.rows;
      return true;
    }
    const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / row_bytes);
    std::vector<std::byte> values(static_cast<std::size_t>(std::min(block, leaf.rows) * row_bytes));
    for (std::int64_t row = 0; row < leaf.rows; row += block) {
      const std::int64_t rows = std::min(block, leaf.rows - row);
      leaf.read(row, rows, values.data());
      key.non_finite += count_non_finite(*leaf.dtype, values.data(), static_cast<std::size_t>(rows * leaf.row_numel()));
      key.rows += rows;
      if (take) take(row, rows, values.data());
    }
    return true;
  } catch (const Error& e) {
    report.problem(where + ": " + leaf.name + ": " + e.what());
    return false;
  } catch (const std::bad_alloc&) {
    report.problem(where + ": " + leaf.name + ": no memory for one row");
    return false;
  }
}

}  // namespace hotloop

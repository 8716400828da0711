// HDF5's library reads what was written without it, and adds to it.
#include "data/dataset/group_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/hdf5_read.h"
#include "data/hdf5_types.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

const std::string kText = "caf\u00e9";

std::string type_bytes(DType dtype) { return hdf5_type_bytes(hdf5_type(dtype, "type")); }

template <class T>
std::vector<T> read(hid_t file, const std::string& path, DType dtype, const std::vector<hsize_t>& dims) {
  const Hdf5Handle set(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path), type(H5Dget_type(set.get()), path),
      wanted = hdf5_type(dtype, path);
  EXPECT_GT(H5Tequal(type.get(), wanted.get()), 0) << path;
  EXPECT_EQ(hdf5_dims(set.get(), path), dims);
  std::size_t count = 1;
  for (const hsize_t n : dims) count *= n;
  std::vector<T> values(count);
  hdf5_check(H5Dread(set.get(), wanted.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
  return values;
}

Hdf5Handle open(const fs::path& path, unsigned mode = H5F_ACC_RDONLY) {
  return Hdf5Handle(H5Fopen(path.c_str(), mode, H5P_DEFAULT), path.string());
}

TEST(GroupFile, TheLibraryReadsWhatWasWritten) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path path = folder / "file";
  const std::vector<float> f32 = {1.5f, -2, 3, 4, 5, 6};
  const std::vector<double> f64 = {0.1};
  const std::vector<std::int64_t> i64 = {-1, std::int64_t{1} << 40};
  const std::vector<std::uint8_t> flags = {0, 1, 1};
  {
    GroupFile file(path);
    // more than a leaf has room for, not in their order
    std::vector<GroupFile::Link> links = {{"wide", file.write_set(type_bytes(DType::f32), {2, 3}, f32)},
                                          {"b", file.write_set(type_bytes(DType::f64), {1}, f64)},
                                          {"flags", file.write_set(type_bytes(DType::boolean), {3}, flags)},
                                          {"integers", file.write_set(type_bytes(DType::i64), {2}, i64)},
                                          {"none", file.write_set(type_bytes(DType::f32), {0, 3}, nullptr, 0)},
                                          {"a group", file.write_group({}).object}};
    for (const char* name : {"0", "1", "2", "3", "4", "5", "6"})
      links.push_back({name, file.write_group({}, {{"number", std::int64_t{name[0] - '0'}}}).object});
    file.begin_lists();
    file.finish(file.write_group(std::move(links), {{"count", std::int64_t{-7}},
                                                    {"an odd name of it", 0.25},
                                                    {"text", kText},
                                                    {"long text", std::string(100000, 'x')}}));
  }
  const Hdf5Handle file = open(path), root(H5Gopen2(file.get(), "/", H5P_DEFAULT), "root");
  EXPECT_EQ(hdf5_names(file.get(), "/", "root"), (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "a group",
                                                                           "b", "flags", "integers", "none", "wide"}));
  EXPECT_EQ(read<float>(file.get(), "wide", DType::f32, {2, 3}), f32);
  EXPECT_EQ(read<double>(file.get(), "b", DType::f64, {1}), f64);
  EXPECT_EQ(read<std::int64_t>(file.get(), "integers", DType::i64, {2}), i64);
  EXPECT_EQ(read<std::uint8_t>(file.get(), "flags", DType::boolean, {3}), flags);
  EXPECT_TRUE(read<float>(file.get(), "none", DType::f32, {0, 3}).empty());
  EXPECT_TRUE(hdf5_names(file.get(), "a group", "group").empty());
  EXPECT_EQ(read_integer_attribute(root.get(), "count", "root"), -7);
  EXPECT_EQ(read_number_attribute(root.get(), "an odd name of it", "root"), 0.25);
  EXPECT_EQ(read_text_attribute(root.get(), "text", "root"), kText);
  EXPECT_EQ(read_text_attribute(root.get(), "long text", "root"), std::string(100000, 'x'));
  const Hdf5Handle six(H5Gopen2(file.get(), "6", H5P_DEFAULT), "6");
  EXPECT_EQ(read_integer_attribute(six.get(), "number", "6"), 6);
}

// Of each number of levels that a list's tree can have.
TEST(GroupFile, ListsOfAnyLengthAreFoundByNameAndGoneThrough) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  for (const std::int64_t count : {0, 1, 8, 9, 256, 257, 8192, 8193, 300000}) {
    const fs::path path = folder.path() / std::to_string(count);
    GroupFile writer(path);
    std::vector<std::uint64_t> objects;
    const std::uint64_t even = writer.write_group({}, {{"number", std::int64_t{0}}}).object,
                        odd = writer.write_group({}, {{"number", std::int64_t{1}}}).object;
    for (std::int64_t i = 0; i < count; ++i) objects.push_back(i % 2 == 0 ? even : odd);
    writer.begin_lists();
    writer.finish(writer.write_group("item_", objects));
    const Hdf5Handle file = open(path), root(H5Gopen2(file.get(), "/", H5P_DEFAULT), "root");
    std::vector<std::string> names;
    const auto add = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
      static_cast<std::vector<std::string>*>(list)->push_back(name);
      return 0;
    };
    hdf5_check(H5Literate(root.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), "root");
    EXPECT_EQ(static_cast<std::int64_t>(names.size()), count);
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
    for (std::int64_t i = 0; i < count; i += 1 + count / 1000) {
      const std::string name = "item_" + std::to_string(i);
      const Hdf5Handle item(H5Gopen2(file.get(), name.c_str(), H5P_DEFAULT), name);
      EXPECT_EQ(read_integer_attribute(item.get(), "number", name), i % 2);
    }
    EXPECT_LE(H5Lexists(file.get(), ("item_" + std::to_string(count)).c_str(), H5P_DEFAULT), 0);
  }
}

TEST(GroupFile, TheLibraryAddsToIt) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path path = folder / "file";
  {
    GroupFile writer(path);
    const std::uint64_t set = writer.write_set(type_bytes(DType::f32), {3}, std::vector<float>{1, 2, 3});
    const std::uint64_t list = writer.write_group("item_", std::vector<std::uint64_t>(1000, set)).object;
    writer.finish(writer.write_group({{"list", list}}));
  }
  {
    const Hdf5Handle file = open(path, H5F_ACC_RDWR), list(H5Gopen2(file.get(), "list", H5P_DEFAULT), "list");
    write_text_attribute(list.get(), "text", std::string(3000, 'x'), "list");
    for (int i = 0; i < 100; ++i)
      Hdf5Handle(H5Gcreate2(list.get(), ("more_" + std::to_string(i)).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                 "more");
    Hdf5Handle(H5Gcreate2(file.get(), "other", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "other");
  }
  const Hdf5Handle file = open(path), list(H5Gopen2(file.get(), "list", H5P_DEFAULT), "list");
  H5G_info_t info{};
  hdf5_check(H5Gget_info(list.get(), &info), "list");
  EXPECT_EQ(info.nlinks, 1100u);
  EXPECT_EQ(read_text_attribute(list.get(), "text", "list").size(), 3000u);
  EXPECT_EQ(hdf5_names(file.get(), "/", "root"), (std::vector<std::string>{"list", "other"}));
  EXPECT_EQ(read<float>(file.get(), "list/item_999", DType::f32, {3}), (std::vector<float>{1, 2, 3}));
}

TEST(GroupFile, WhatIsThereIsNotOverwritten) {
  const TempFolder folder;
  const fs::path path = folder / "file";
  { const GroupFile first(path); }
  EXPECT_EQ(error_text([&] { GroupFile second(path); }), path.string() + ": File exists");
}

}  // namespace
}  // namespace hotloop

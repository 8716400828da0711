// Folders and files that Python wrote, files for Python to read, and damage of both.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <hdf5.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/hdf5_handle.h"
#include "data/tensordict/arena_view.h"
#include "data/tensordict/persist.h"
#include "tests/temp_folder.h"
#include "tests/tensordict/support.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using tests::expect_equal;
using tests::expect_error;
using tests::kGolden;
using Keys = TensorDict::Keys;

// What make_golden.py's every_type() makes.
TensorDict every_type() {
  TensorDict td(Shape{2});
  const at::Tensor values = at::tensor({0, 1, 2, 3, 100, 127}).view({2, 3});
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i) {
    const at::ScalarType type = scalar_type(static_cast<DType>(i));
    const bool real = c10::isFloatingType(type);
    td.set(dtype_name(static_cast<DType>(i)), (real ? values * 1.5 - 20 : values).to(type));
  }
  td.set("nested/deep/leaf", at::arange(8, at::kLong).view({2, 4}));
  td.set("nested/empty", TensorDict(Shape{2}));
  td.set("nested/wider", TensorDict({{"x", at::ones({2, 5, 2})}}, {2, 5}));
  td.set("no_elements", at::zeros({2, 0, 3}));
  td.set({"a key: with_odd %signs"}, at::tensor({1.5F, -1.5F}));
  return td;
}

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

TEST(Memmap, ReadsPythonsFolders) {
  const TensorDict td = load_memmap(kGolden / "types", MapMode::copy_on_write);
  expect_equal(td, every_type());
  const TensorDict scalars = load_memmap(kGolden / "scalars", MapMode::copy_on_write);
  expect_equal(scalars, TensorDict({{"scalar", at::full({}, 2.5F)}, {"n/flag", at::ones({}, at::kBool)}}));
  expect_equal(load_memmap(kGolden / "empty_batch"), TensorDict({{"x", at::zeros({0, 3})}}, {0}));
}

TEST(Memmap, WritesTheSameBytesAsPython) {
  const TempFolder temporary;
  memmap(every_type(), temporary / "types");
  std::vector<std::string> written, golden;
  const auto list = [](const fs::path& root, std::vector<std::string>& names) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root))
      names.push_back(fs::relative(entry.path(), root).string());
    std::sort(names.begin(), names.end());
  };
  list(temporary / "types", written), list(kGolden / "types", golden);
  EXPECT_EQ(written, golden);
  for (const std::string& name : golden) {
    const fs::path ours = temporary.path() / "types" / name, theirs = kGolden / "types" / name;
    if (fs::is_directory(ours)) continue;
    if (ours.filename() == "meta.json")
      EXPECT_EQ(nlohmann::json::parse(read(ours)), nlohmann::json::parse(read(theirs))) << name;
    else
      EXPECT_EQ(read(ours), read(theirs)) << name;
  }
}

TEST(Memmap, MappingWritesThroughOrNot) {
  const TempFolder temporary;
  const TensorDict td({{"n/x", at::zeros({2, 2})}}, {2});
  TensorDict mapped = memmap(td, temporary / "td");
  EXPECT_TRUE(mapped.is_locked());
  mapped["n/x"].fill_(3);
  TensorDict again = load_memmap(temporary / "td", MapMode::copy_on_write);
  EXPECT_EQ(again["n/x"].sum().item<float>(), 12);
  again["n/x"].fill_(5);
  EXPECT_EQ(load_memmap(temporary / "td", MapMode::shared, at::Device(at::kCPU))["n/x"].sum().item<float>(), 12);
  // the folder is replaced while it is mapped: the old mapping keeps its data
  memmap(td.add(1), temporary / "td");
  EXPECT_EQ(mapped["n/x"].sum().item<float>(), 12);
  EXPECT_EQ(load_memmap(temporary / "td")["n/x"].sum().item<float>(), 4);
  TensorDict zeros = memmap_like(every_type(), temporary / "like");
  EXPECT_EQ(zeros.keys(true), every_type().keys(true));
  EXPECT_FALSE(zeros.any());
  for (const auto& entry : fs::directory_iterator(temporary.path()))
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
}

TEST(Memmap, RefusesToReplaceOtherFolders) {
  const TempFolder temporary;
  const TensorDict td({{"x", at::zeros({2})}}, {2});
  fs::create_directories(temporary / "other");
  write(temporary / "other/precious.txt", "1");
  expect_error([&] { memmap(td, temporary / "other"); }, {"other", "meta.json"});
  memmap(td, temporary / "td");
  write(temporary / "td/precious.txt", "1");
  expect_error([&] { memmap(td, temporary / "td"); }, {"precious.txt"});
  write(temporary / "file", "1");
  expect_error([&] { memmap(td, temporary / "file"); }, {"file", "not a folder"});
  expect_error([&] { memmap(td, temporary / "file/td"); }, {"file"});
  expect_error([&] { memmap(td, "/proc/td"); }, {"/proc"});
  expect_error(
      [&] {
        memmap(TensorDict({{"shape", at::zeros({2})}}, {2}), temporary / "x");
      },
      {"'shape'", "meta.json"});
  expect_error(
      [&] {
        memmap(TensorDict({{"c", at::zeros({2}, at::kComplexFloat)}}, {2}), temporary / "x");
      },
      {"Complex"});
  EXPECT_FALSE(fs::exists(temporary / "x"));
  fs::create_directories(temporary / "empty");
  memmap(td, temporary / "empty/");
  expect_equal(load_memmap(temporary / "empty"), td);
}

TEST(Memmap, NamesWhatIsDamaged) {
  const TempFolder temporary;
  const fs::path dir = temporary / "td";
  const TensorDict td({{"x", at::zeros({2, 3})}, {"n/y", at::zeros({2}, at::kLong)}}, {2});
  const auto damaged = [&](const std::string& file, const std::string& from, const std::string& to,
                           const std::vector<std::string>& parts) {
    fs::remove_all(dir);
    memmap(td, dir);
    std::string text = read(dir / file);
    const std::size_t begin = from.empty() ? 0 : text.find(from);
    ASSERT_NE(begin, std::string::npos) << from;
    write(dir / file, text.replace(begin, from.empty() ? text.size() : from.size(), to));
    SCOPED_TRACE(file + " " + from + " " + to);
    expect_error([&] { load_memmap(dir); }, parts);
  };
  const std::string meta = "meta.json";
  damaged("x.memmap", "", "short", {"x.memmap", "5 bytes", "float32[2, 3]", "24"});
  damaged("x.memmap", "", std::string(25, '0'), {"x.memmap", "25 bytes"});
  damaged(meta, "[2,3]", "[2,2]", {"x.memmap", "24 bytes", "float32[2, 2]"});
  damaged(meta, "[2,3]", "[3,2]", {meta, "'x'", "[3, 2]", "[2]"});
  damaged(meta, "[2,3]", "[-2,3]", {meta, "'x'", "[-2,3]"});
  damaged(meta, "[2,3]", "[4611686018427387904,4]", {"x.memmap", "too large"});
  damaged(meta, "[2,3]", "2.5", {meta, "'x'", "not a list"});
  damaged(meta, "torch.float32", "torch.int8", {"x.memmap", "24 bytes", "int8"});
  damaged(meta, "torch.float32", "torch.complex64", {meta, "'x'", "torch.complex64"});
  damaged(meta, "\"is_nested\":false", "\"is_nested\":true", {meta, "'x'", "nested tensor"});
  damaged(meta, "\"_format_version\":1", "\"_format_version\":2", {meta, "version 2"});
  damaged(meta, "tensordict:TensorDict", "tensordict:LazyStackedTensorDict", {meta, "LazyStacked"});
  damaged(meta, "", "{", {meta, "JSON"});
  damaged(meta, "", "", {meta, "JSON"});
  damaged(meta, "", "{}", {meta});
  damaged("n/" + meta, "", "[]", {"n/meta.json"});
  damaged("n/" + meta, R"("shape":[2],"device")", R"("shape":[5],"device")", {"n/meta.json", "'y'", "[5]"});
  damaged(meta, "\"x\"", "\"/x\"", {meta, "'/x'"});
  memmap(td, dir);
  fs::remove(dir / "x.memmap");
  expect_error([&] { load_memmap(dir); }, {"x.memmap", "No such file"});
  fs::remove_all(dir / "n");
  write(dir / "x.memmap", std::string(24, '\0'));
  expect_error([&] { load_memmap(dir); }, {"/n'", "not a folder"});
  fs::remove(dir / meta);
  expect_error([&] { load_memmap(dir); }, {"no meta.json"});
  expect_error([&] { load_memmap(temporary / "missing"); }, {"missing", "not a folder"});
  fs::create_directories(dir / "loop");
  write(dir / "loop/meta.json", R"({"self":{"type":"TensorDict"},"shape":[],"_class":"tensordict:TensorDict"})");
  fs::create_directory_symlink(".", dir / "loop/self");
  expect_error([&] { load_memmap(dir / "loop"); }, {"loop/self", "not a folder"});
}

TEST(Memmap, ReadOnlyFilesNeedCopyOnWrite) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const TempFolder temporary;
  memmap(TensorDict({{"x", at::ones({2})}}, {2}), temporary / "td");
  ::chmod((temporary / "td/x.memmap").c_str(), 0444);
  expect_error([&] { load_memmap(temporary / "td"); }, {"x.memmap", "copy_on_write"});
  EXPECT_EQ(load_memmap(temporary / "td", MapMode::copy_on_write)["x"].sum().item<float>(), 2);
}

TEST(Memmap, ReadsNamesOfOlderWriters) {
  const TempFolder temporary;
  memmap(TensorDict({{"a b", at::ones({2})}}, {2}), temporary / "td");
  fs::rename(temporary / "td/a%20b.memmap", temporary / "td/a b.memmap");
  EXPECT_EQ(load_memmap(temporary / "td")["a b"].sum().item<float>(), 2);
}

TEST(Hdf5, ReadsPythonsFiles) {
  const TensorDict td = from_h5(kGolden / "types.h5", Shape{2}), expected = every_type().exclude({"bfloat16"});
  EXPECT_EQ(td.keys(true), expected.keys(true));
  expect_equal(td.flatten_keys(), expected.flatten_keys());
  // as in Python, an empty level or a differing shape leaves no common batch size
  EXPECT_EQ(from_h5(kGolden / "types.h5").batch_size(), Shape{});
  EXPECT_EQ(from_h5(kGolden / "types.h5").nested("nested/deep").batch_size(), (Shape{2, 4}));
  expect_error([] { from_h5(kGolden / "types.h5", Shape{3}); }, {"types.h5", "[3]"});
}

TEST(Hdf5, ComesBackWithItsBatchSizes) {
  const TempFolder temporary;
  const TensorDict td = every_type().exclude({"bfloat16"});
  for (const int gzip : {0, 1, 9}) {
    to_h5(td, temporary / "a.h5", gzip);
    expect_equal(from_h5(temporary / "a.h5"), td);
  }
  const TensorDict scalars({{"s", at::full({}, 2.5)}, {"n/t", at::ones({}, at::kBool)}});
  to_h5(scalars, temporary / "b.h5");
  expect_equal(from_h5(temporary / "b.h5", std::nullopt, at::Device(at::kCPU)), scalars.cpu());
  to_h5(TensorDict(Shape{}), temporary / "b.h5");
  EXPECT_TRUE(from_h5(temporary / "b.h5").is_empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(temporary.path()), fs::directory_iterator()), 2);
}

TEST(Hdf5, NamesWhatIsWrong) {
  const TempFolder temporary;
  const fs::path file = temporary / "a.h5";
  const TensorDict td({{"n/x", at::arange(600.0).view({2, 300})}}, {2});
  expect_error([&] { to_h5(every_type(), file); }, {"a.h5", "'bfloat16'", "Python"});
  EXPECT_TRUE(fs::is_empty(temporary.path()));
  expect_error([&] { to_h5(td, file, 10); }, {"gzip", "10"});
  expect_error([&] { to_h5(td, "/proc/a.h5"); }, {"/proc/a.h5"});
  expect_error([&] { to_h5(td, temporary.path()); }, {"is a folder"});
  expect_error([&] { from_h5(file); }, {"a.h5", "no such file"});
  expect_error([&] { from_h5(temporary.path()); }, {"not a file"});
  write(file, "no HDF5 at all");
  expect_error([&] { from_h5(file); }, {"a.h5"});
  to_h5(td, file);
  const std::string whole = read(file);
  write(file, whole.substr(0, whole.size() / 2));
  expect_error([&] { from_h5(file); }, {"a.h5"});
}

TEST(Hdf5, RefusesForeignTypesAndLinks) {
  const TempFolder temporary;
  const fs::path file = temporary / "a.h5";
  const auto foreign = [&](auto add, const std::vector<std::string>& parts) {
    {
      const Hdf5Handle out(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "create");
      add(out.get());
    }
    expect_error([&] { from_h5(file); }, parts);
  };
  const auto dataset = [](hid_t type) {
    return [type](hid_t out) {
      const Hdf5Handle space(H5Screate(H5S_SCALAR), "space");
      const Hdf5Handle set(H5Dcreate2(out, "odd", type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "set");
    };
  };
  foreign(dataset(H5T_NATIVE_UINT32), {"'odd'", "uint8"});
  foreign(dataset(H5T_C_S1), {"'odd'"});
  foreign(dataset(H5T_NATIVE_LDOUBLE), {"'odd'"});
  foreign([](hid_t out) { H5Lcreate_soft("/nowhere", out, "odd", H5P_DEFAULT, H5P_DEFAULT); }, {"'odd'", "link"});
  foreign([](hid_t out) { H5Lcreate_external("/etc/passwd", "/", out, "odd", H5P_DEFAULT, H5P_DEFAULT); },
          {"'odd'", "link"});
  foreign([](hid_t out) { H5Lcreate_hard(out, "/", out, "again", H5P_DEFAULT, H5P_DEFAULT); }, {"levels"});
}

TEST(Hdf5, ReadsBigEndianNumbers) {
  const TempFolder temporary;
  {
    const Hdf5Handle out(H5Fcreate((temporary / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "create");
    const Hdf5Handle space(H5Screate(H5S_SCALAR), "space");
    const Hdf5Handle set(H5Dcreate2(out.get(), "x", H5T_STD_I32BE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         "set");
    const int value = 258;
    H5Dwrite(set.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
  }
  EXPECT_EQ(from_h5(temporary / "a.h5")["x"].item<int>(), 258);
}

nlohmann::json described(const TensorDict& td) {
  nlohmann::json json = {{"batch", {{"", td.batch_size()}}}, {"leaves", nlohmann::json::object()}};
  for (const auto& [key, value] : td.items(true)) {
    if (!value.is_tensor()) {
      json["batch"][key + "/"] = value.dict().batch_size();
      continue;
    }
    const at::Tensor& leaf = value.tensor();
    nlohmann::json values = nlohmann::json::array();
    const at::Tensor flat = leaf.reshape({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      if (leaf.scalar_type() == at::kBool)
        values.push_back(flat[i].item<bool>());
      else if (c10::isFloatingType(leaf.scalar_type()))
        values.push_back(flat[i].item<double>());
      else
        values.push_back(flat[i].item<std::int64_t>());
    }
    json["leaves"][key] = {{"dtype", std::string("torch.") + dtype_name(dtype_of(leaf.scalar_type()))},
                           {"shape", leaf.sizes().vec()},
                           {"values", values}};
  }
  return json;
}

TEST(Interop, PythonReadsWhatIsWritten) {
  if (!python_has("tensordict, h5py")) GTEST_SKIP() << test_python() << " has no tensordict (0.15.3) or no h5py";
  const TempFolder temporary;
  TensorDict td = every_type();
  td.set("turned", at::arange(6.0).view({3, 2}).t());
  const TensorDict for_h5 = td.exclude({"bfloat16"});
  memmap(td, temporary / "memmap");
  to_h5(for_h5, temporary / "file.h5", 4);
  write(temporary / "expected.json", nlohmann::json({{"memmap", described(td)}, {"h5", described(for_h5)}}).dump());
  const std::string command = test_python() + " '" HOTLOOP_SOURCE_DIR "/tests/tensordict/check_from_cpp.py' '" +
                              temporary.path().string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace hotloop

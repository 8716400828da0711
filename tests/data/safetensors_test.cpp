#include "data/safetensors.h"

#include <gtest/gtest.h>

#include <iostream>

#include "data/file.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

constexpr std::uint64_t kAny = UINT64_MAX;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

const std::vector<std::uint8_t> kFlags = {1, 0, 1};
const std::vector<float> kWeights = {1.5f, -2.0f, 0.25f, 3e-9f, 1e30f, 0.0f};
const std::vector<double> kMean = {0.1};
const std::vector<std::int64_t> kStep = {1LL << 40};
const std::vector<NamedTensor> kTensors = {{"flags", DType::boolean, {3}, bytes_of(kFlags)},
                                           {"actor/0.weight", DType::f32, {2, 3}, bytes_of(kWeights)},
                                           {"mean", DType::f64, {1, 1}, bytes_of(kMean)},
                                           {"empty", DType::f32, {0, 7}, {}},
                                           {"step", DType::i64, {}, bytes_of(kStep)}};
const Metadata kMetadata = {{"format", "hotloop checkpoint 1"}, {"text", "\"crc32c\":\"ffffffff\" \xc3\xa4\n"}};

std::string sample_file() {
  const TempFolder folder;
  write_safetensors(folder / "a", kTensors, kMetadata);
  return read_file(folder / "a", kAny);
}

std::string with_header(const std::string& json, const std::string& data = "") {
  const std::uint64_t n = json.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + json + data;
}

std::string refusal(const std::string& content, bool require_checksum = false) {
  return error_text([&] { Safetensors::parse(content, "f", {.require_checksum = require_checksum}); });
}

TEST(Safetensors, RoundTrip) {
  const Safetensors file = Safetensors::parse(sample_file(), "f");
  EXPECT_EQ(file.metadata(), kMetadata);
  ASSERT_EQ(file.tensors().size(), kTensors.size());
  for (const NamedTensor& t : kTensors) {
    const NamedTensor& read = file.get(t.name, t.dtype, t.shape);
    EXPECT_TRUE(std::equal(read.bytes.begin(), read.bytes.end(), t.bytes.begin(), t.bytes.end())) << t.name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.bytes.data()) % dtype_size(t.dtype), 0u) << t.name;
  }
  EXPECT_EQ(file.values<float>("actor/0.weight"), kWeights);
  EXPECT_EQ(file.values<std::int64_t>("step"), kStep);
}

TEST(Safetensors, ViewsSurviveAMove) {
  Safetensors file = Safetensors::parse(sample_file(), "f");
  const Safetensors moved = std::move(file);
  EXPECT_EQ(moved.values<float>("actor/0.weight"), kWeights);
}

TEST(Safetensors, MessagesNameFileAndTensor) {
  const Safetensors file = Safetensors::parse(sample_file(), "runs/x/best.safetensors");
  EXPECT_EQ(error_text([&] { file.get("flag"); }), "runs/x/best.safetensors: no tensor 'flag'; nearest is 'flags'");
  EXPECT_EQ(error_text([&] { file.get("flags", DType::boolean, {4}); }),
            "runs/x/best.safetensors: tensor 'flags' is bool [3]; expected bool [4]");
  EXPECT_EQ(error_text([&] { file.values<float>("mean"); }),
            "runs/x/best.safetensors: tensor 'mean' is float64; expected float32");
  EXPECT_EQ(error_text([&] { file.metadata_value("version"); }), "runs/x/best.safetensors: no metadata 'version'");
}

TEST(Safetensors, WriterRefusesWhatNoReaderWouldTake) {
  const TempFolder folder;
  const auto path = folder / "a";
  const auto text = [&](const std::vector<NamedTensor>& tensors, const Metadata& metadata = {}) {
    return error_text([&] { write_safetensors(path, tensors, metadata); });
  };
  EXPECT_EQ(text({kTensors[0], kTensors[0]}), path.string() + ": tensor 'flags' is there twice");
  EXPECT_EQ(text({{"a", DType::f32, {2}, bytes_of(kMean)}, {"b", DType::f32, {3}, bytes_of(kMean)}}),
            path.string() + ": tensor 'b': 8 bytes do not fit float32 [3]");
  EXPECT_EQ(text({}, {{"crc32c", "0"}}), path.string() + ": metadata key 'crc32c' is reserved");
  EXPECT_EQ(text({}, {{"a", "\xff"}}), path.string() + ": a tensor name or metadata value is not valid UTF-8");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string file = sample_file();
  for (std::size_t n = 0; n < file.size(); ++n) {
    EXPECT_EQ(refusal(file.substr(0, n), true).substr(0, 3), "f: ") << n;
    EXPECT_EQ(refusal(file.substr(0, n), false).substr(0, 3), "f: ") << n;
  }
  EXPECT_NE(refusal(file + " ", true), "");
}

TEST(Safetensors, EveryFlippedBitIsAnError) {
  const std::string file = sample_file();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const std::string text = refusal(flipped, true);
    EXPECT_EQ(text.substr(0, 3), "f: ") << bit;
    EXPECT_EQ(text.find_first_of("\n\r\x1b"), std::string::npos) << bit;
  }
}

TEST(Safetensors, ForeignFilesNeedNoChecksum) {
  const std::string file = with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "hi");
  EXPECT_EQ(refusal(file, true), "f: no checksum: damaged, or not written by hotloop");
  EXPECT_EQ(refusal(file, false), "");
  const std::string wrong = with_header(R"({"__metadata__":{"crc32c":"00000000"}})");
  EXPECT_NE(refusal(wrong, false).find("damaged"), std::string::npos);
  EXPECT_NE(refusal(with_header(R"({"__metadata__":{"crc32c": "00000000"}})")).find("damaged"), std::string::npos);
  EXPECT_NE(refusal(with_header(R"({"__metadata__":{"crc32c":""}})")).find("damaged"), std::string::npos);
}

TEST(Safetensors, HostileHeaders) {
  const auto one = [](const std::string& entry, const std::string& data = "1234") {
    return refusal(with_header("{\"a\":" + entry + "}", data));
  };
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), "");
  EXPECT_EQ(one(R"({"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,4]})"),
            "f: tensor 'a': dtype 'F8_E4M3' is not supported");
  EXPECT_EQ(one(R"({"dtype":["F32"],"shape":[1],"data_offsets":[0,4]})"),
            "f: tensor 'a': dtype that is no text is not supported");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"),
            "f: tensor 'a': shape [2] does not fit 4 bytes of float32");
  for (const char* shape : {"[-1]", "[1.0]", "[true]", "[[1]]", "[\"1\"]", "[18446744073709551615]", "[1e3]", "{}", "4",
                            "[4611686018427387904,4611686018427387904]", "null"})
    EXPECT_NE(one(R"({"dtype":"F32","data_offsets":[0,4],"shape":)" + std::string(shape) + "}"), "") << shape;
  for (const char* offsets : {"[0]", "[0,4,4]", "[4,0]", "[0,8]", "[1,5]", "[-4,0]", "[0,18446744073709551615]",
                              "[18446744073709551612,18446744073709551616]", "{}", "0", "[0,4.0]"})
    EXPECT_NE(one(R"({"dtype":"F32","shape":[1],"data_offsets":)" + std::string(offsets) + "}"), "") << offsets;
  EXPECT_NE(one(R"({"dtype":"F32","shape":[1]})"), "");
  EXPECT_NE(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})"), "");
  EXPECT_NE(one("7"), "");
  EXPECT_NE(one("null"), "");
  EXPECT_EQ(refusal(with_header(R"({"__metadata__":{"a":1}})")), "f: __metadata__ 'a' is not text");
  EXPECT_EQ(refusal(with_header(R"({"__metadata__":[]})")), "f: __metadata__ is not a table");
}

TEST(Safetensors, HostileLayouts) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const std::string overlap = R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]})";
  const std::string gap = R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]})";
  EXPECT_EQ(refusal(with_header("{" + a + "," + overlap + "}", "123")),
            "f: tensor 'b' overlaps another one or leaves a gap");
  EXPECT_EQ(refusal(with_header("{" + a + "," + gap + "}", "1234")),
            "f: tensor 'b' overlaps another one or leaves a gap");
  EXPECT_EQ(refusal(with_header("{" + a + "}", "123")), "f: 3 bytes of data, but the tensors have 2");
  EXPECT_EQ(refusal(with_header("{" + a + "}", "1")), "f: cut short: tensor 'a' ends at 2 of 1 bytes");
  EXPECT_EQ(refusal(with_header("{" + a + "," + a + "}", "12")), "f: header has 'a' twice");
  EXPECT_EQ(refusal(with_header(R"({"a\n\u001b[2J":{},"a\n\u001b[2J":{}})")), "f: header has 'a??[2J' twice");
  EXPECT_EQ(refusal(with_header(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})")),
            "f: header has 'dtype' twice");
  EXPECT_EQ(refusal(with_header("{\"a\":" + std::string(1'000'000, '['))), "f: header nested too deeply");
  EXPECT_EQ(refusal(with_header("{" + a + "} x", "12")), "f: header is not valid JSON (at byte 55)");
  EXPECT_EQ(refusal(with_header("{\"\xff\":1}")).substr(0, 29), "f: header is not valid JSON (");
  EXPECT_EQ(refusal(std::string(7, '\xff')), "f: not a safetensors file (7 bytes)");
  EXPECT_EQ(refusal(std::string(64, '\xff')), "f: not a safetensors file");
  EXPECT_EQ(refusal(std::string(8, '\0')), "f: not a safetensors file");
  EXPECT_EQ(refusal(std::string("\xff\0\0\0\0\0\0\0{}", 10)), "f: cut short: header of 255 bytes");
  EXPECT_EQ(refusal(with_header("[]")), "f: not a safetensors file");
}

TEST(Safetensors, PythonReadsItAndWeReadPythons) {
  if (!python_has("safetensors.numpy")) GTEST_SKIP() << "no Python module safetensors (HOTLOOP_TEST_PYTHON)";
  const TempFolder folder;
  write_safetensors(folder / "ours", kTensors, kMetadata);
  ASSERT_TRUE(run_python(folder.path(), R"(
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file
with safe_open("ours", "np") as f:
    t = {k: f.get_tensor(k) for k in f.keys()}
    assert f.metadata()["format"] == "hotloop checkpoint 1", f.metadata()
    assert len(f.metadata()["crc32c"]) == 8
assert t["flags"].dtype == bool and t["flags"].tolist() == [True, False, True]
assert t["actor/0.weight"].tolist() == np.array([[1.5, -2, .25], [3e-9, 1e30, 0]], np.float32).tolist()
assert t["mean"].dtype == np.float64 and t["mean"].tolist() == [[0.1]]
assert t["empty"].shape == (0, 7)
assert t["step"].shape == () and int(t["step"]) == 1 << 40
save_file(t, "theirs", metadata={"by": "python"})
)"));
  const Safetensors theirs = Safetensors::read(folder / "theirs", {.require_checksum = false});
  EXPECT_EQ(theirs.metadata_value("by"), "python");
  for (const NamedTensor& t : kTensors) theirs.get(t.name, t.dtype, t.shape);
  EXPECT_EQ(theirs.values<float>("actor/0.weight"), kWeights);
}

}  // namespace
}  // namespace hotloop

#include "train/event_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/temp_folder.h"

namespace hotloop {
namespace {

template <class T>
T number_at(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The records of a file, read by the framing's own rules.
std::vector<std::string> records_of(const std::string& bytes) {
  std::vector<std::string> records;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    EXPECT_EQ(number_at<std::uint32_t>(bytes, at + 8), masked_crc32c(bytes.substr(at, 8)));
    records.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(number_at<std::uint32_t>(bytes, at + 12 + length), masked_crc32c(records.back()));
    at += 16 + length;
  }
  EXPECT_EQ(at, bytes.size());
  return records;
}

TEST(EventFile, MaskIsTensorFlows) {
  // rotate 0xe3069283 right by 15 and add 0xa282ead8, by hand
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u);
}

TEST(EventFile, RecordsAreTheBytesOfTheFormat) {
  const TempFolder folder;
  {
    EventFile file(folder / "e");
    file.write(1.0, 300, {{"a/b", 0.5}});
    file.write(2.0, 301, {{"a/b", 1.0}, {"c", -2.0}});
  }
  const auto records = records_of(read_file(folder / "e", UINT64_MAX));
  ASSERT_EQ(records.size(), 3u);
  using namespace std::string_literals;
  const std::string one_second = "\x09\0\0\0\0\0\0\xf0\x3f"s;  // field 1, double 1.0
  EXPECT_EQ(records[0], one_second + "\x1a\x0d" + "brain.Event:2");
  // field 2, varint 300; field 5, a summary of one value: field 1 its tag, field 2 a float
  EXPECT_EQ(records[1], one_second + "\x10\xac\x02" + "\x2a\x0c\x0a\x0a" + "\x0a\x03" + "a/b" + "\x15\0\0\0\x3f"s);
  EXPECT_NE(records[2].find("\x15\0\0\0\xc0"s), std::string::npos);
}

TEST(EventFile, NameSaysTimeHostAndProcess) {
  const std::string name = event_file_name();
  EXPECT_EQ(name.rfind("events.out.tfevents.", 0), 0u);
  EXPECT_EQ(name.substr(name.rfind('.') + 1), std::to_string(::getpid()));
  EXPECT_EQ(name.find('/'), std::string::npos);
}

}  // namespace
}  // namespace hotloop

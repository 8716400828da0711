// TensorBoard's event files: scalars in protobuf records (tfevents.proto) with checksummed framing
//   uint64 length | uint32 masked CRC-32C of the length | record | uint32 masked CRC-32C of the record
// all little-endian. Only appended to, so that what a killed run has written stays readable.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/file.h"

namespace hotloop {

// A checksum as the framing stores it.
std::uint32_t masked_crc32c(std::string_view bytes);

// "events.out.tfevents.<unix time>.<host>.<pid>": readers take the time for the order of several files in a folder.
std::string event_file_name();

class EventFile {
 public:
  explicit EventFile(std::filesystem::path path) : file_(std::move(path)) {}

  // One event with these scalars. wall_time in seconds since 1970; step >= 0.
  void write(double wall_time, std::int64_t step, const std::vector<std::pair<std::string_view, double>>& scalars);
  AppendFile& file() { return file_; }

 private:
  void append_record(const std::string& record);
  AppendFile file_;
};

}  // namespace hotloop

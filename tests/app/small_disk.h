// A disk that is soon full or read-only, and what the program says then.
#pragma once
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/app/program.h"

namespace hotloop {

// A file system of a few kilobytes.
class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& at, const std::string& options) : at_(at) {
    std::filesystem::create_directory(at);
    if (::mount("hotloop_test", at.c_str(), "tmpfs", 0, options.c_str()) != 0) failure_ = std::strerror(errno);
  }
  ~SmallDisk() {
    if (failure_.empty()) ::umount2(at_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  void change(const std::string& options, unsigned long flags = 0) {
    ASSERT_EQ(::mount("hotloop_test", at_.c_str(), "tmpfs", MS_REMOUNT | flags, options.c_str()), 0)
        << std::strerror(errno);
  }
  const std::string& failure() const { return failure_; }

 private:
  std::filesystem::path at_;
  std::string failure_;
};

inline void expect_one_line(const ProgramResult& result, const std::string& mentions) {
  EXPECT_EQ(result.status, 2);
  const std::size_t at = result.err.find("hotloop: ");
  ASSERT_NE(at, std::string::npos) << result.err;
  const std::string last = result.err.substr(at);
  EXPECT_EQ(std::count(last.begin(), last.end(), '\n'), 1) << last;
  EXPECT_NE(last.find(mentions), std::string::npos) << last;
}

}  // namespace hotloop

#include "tests/app/bad_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/app/program.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> contents(const fs::path& at) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(at)) {
    std::string& content = found[entry.path().string()];
    if (!fs::is_regular_file(entry.symlink_status())) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(in), {});
  }
  return found;
}

}  // namespace

void check_bad_input(const BadInput& bad, const fs::path& folder) {
  if (!bad.toml.empty()) std::ofstream(folder / "case.toml", std::ios::binary) << bad.toml;
  const auto before = contents(folder);
  const ProgramResult result = run_program(bad.arguments, folder, 20);
  std::string line = "hotloop";
  for (const std::string& a : bad.arguments) line += " '" + a.substr(0, 100) + "'";
  SCOPED_TRACE(line + "\ncase.toml: " + bad.toml.substr(0, 200) + "\nstderr: " + result.err.substr(0, 500));
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("hotloop: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_TRUE(result.err.ends_with("\n"));
  for (const char c : result.err) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_EQ(result.err.find("not built yet"), std::string::npos);
  EXPECT_NE(result.err.find(bad.mentions), std::string::npos) << bad.mentions;
  EXPECT_TRUE(contents(folder) == before) << "files have changed";
}

}  // namespace hotloop

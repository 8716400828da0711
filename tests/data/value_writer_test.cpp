#include "data/dataset/value_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "sim/core/error.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

std::string pattern(std::size_t bytes, int salt) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i)
    text[i] = static_cast<char>(i * 31 + i / 251 + static_cast<std::size_t>(salt));
  return text;
}

TEST(ValueWriter, EveryByteReachesItsPlace) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "values";
  write_file(path, "");
  std::string wanted;
  ValueWriter writer(path);
  // neighbours, gaps, a place before the last one, pieces larger than a block
  for (const std::size_t bytes : {3u, 70000u, 5u << 20, 1u, 1u << 20, 12345u}) {
    const std::string a = pattern(bytes, 1), b = pattern(bytes, 2), c = pattern(bytes, 3);
    const std::size_t at = wanted.size();
    writer.write(at, a.data(), bytes);
    writer.write(at + 2 * bytes + 7, c.data(), bytes);
    writer.write(at + bytes, b.data(), bytes);
    wanted += a + b + std::string(7, '\0') + c;
    writer.finish();
    EXPECT_TRUE(read_file(path, 1u << 30) == wanted) << bytes;
  }
}

TEST(ValueWriter, AFailureReachesTheCaller) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "values";
  EXPECT_THROW(ValueWriter missing(path), Error);
  write_file(path, "");
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {std::size_t{3} << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string block = pattern(1u << 20, 0);
  std::string reason;
  try {
    ValueWriter writer(path);
    for (std::size_t i = 0; i < 40; ++i) writer.write(i << 20, block.data(), block.size());
    writer.finish();
  } catch (const Error& e) {
    reason = e.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_EQ(reason, path.string() + ": File too large");
}

TEST(ValueWriter, OneThatIsNotFinishedStops) {
  const TempFolder folder;
  write_file(folder / "values", "");
  ValueWriter writer(folder / "values");
  for (std::size_t i = 0; i < 40; ++i) writer.write(2 * i << 20, "ab", 2);
}

}  // namespace
}  // namespace hotloop

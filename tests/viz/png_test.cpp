#include "viz/png.h"

#include <gtest/gtest.h>

#include "data/file.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

TEST(Png, ComesBackAsWritten) {
  const TempFolder folder;
  std::vector<std::uint8_t> rgb;
  for (int i = 0; i < 5 * 3 * 3; ++i) rgb.push_back(static_cast<std::uint8_t>(i * 5));
  write_png(folder / "a.png", 5, 3, rgb);
  const Picture picture = read_png(folder / "a.png");
  EXPECT_EQ(picture.width, 5);
  EXPECT_EQ(picture.height, 3);
  EXPECT_EQ(picture.rgb, rgb);
}

TEST(Png, ErrorsNameTheFile) {
  const TempFolder folder;
  const std::string path = folder / "no/a.png";
  EXPECT_EQ(error_text([&] { write_png(path, 1, 1, std::vector<std::uint8_t>(3)); }),
            path + ": No such file or directory");
  write_file(folder / "b.png", std::string(100, 'x'));
  EXPECT_EQ(error_text([&] { read_png(folder / "b.png"); }), (folder / "b.png").string() + ": Not a PNG file");
}

}  // namespace
}  // namespace hotloop

#include "viz/ui/shot.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "sim/core/error.h"
#include "viz/gl/pixel_reader.h"
#include "viz/png.h"

namespace hotloop {

std::vector<std::uint8_t> read_pixels(unsigned framebuffer, int width, int height) {
  std::vector<std::uint8_t> picture;
  const PixelReader::Take take = [&](const std::vector<std::uint8_t>& rgb) { picture = rgb; };
  PixelReader reader(width, height, 1);
  reader.request(framebuffer, take);
  reader.finish(take);
  return picture;
}

std::string save_shot(const std::string& folder, const std::string& name, int width, int height,
                      const std::vector<std::uint8_t>& rgb) {
  std::string plain = name;  // names of models may be paths
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == '/' || c == '\\' || c == ' '; }, '_');
  const std::string stem = fmt::format("{}_{:%Y%m%d_%H%M%S}", plain, fmt::localtime(std::time(nullptr)));
  std::filesystem::path file = std::filesystem::path(folder) / (stem + ".png");
  for (int i = 2; std::filesystem::exists(file); ++i)
    file = std::filesystem::path(folder) / fmt::format("{}_{}.png", stem, i);
  try {
    write_png(file, width, height, rgb);
  } catch (const Error& e) {
    return std::string("no picture: ") + e.what();
  }
  return "picture: " + file.string();
}

}  // namespace hotloop

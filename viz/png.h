// PNG files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace hotloop {

struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // [height][width][3], the top row first
};

// Error "path: reason". The file appears whole or not at all.
void write_png(const std::filesystem::path& path, int width, int height, std::span<const std::uint8_t> rgb);
// Of any kind of PNG, as RGB. Error for what is none.
Picture read_png(const std::filesystem::path& path);

}  // namespace hotloop

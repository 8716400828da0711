#include "viz/png.h"

#include <png.h>

#include <cstring>
#include <string>

#include "data/file.h"
#include "sim/core/error.h"

namespace hotloop {

void write_png(const std::filesystem::path& path, int width, int height, std::span<const std::uint8_t> rgb) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.data(), 0, nullptr) == 0)
    throw Error(path.string() + ": " + image.message);
  write_file(path, std::string_view(bytes.data(), size));
}

Picture read_png(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, std::uint64_t{1} << 30);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    throw Error(path.string() + ": " + image.message);
  image.format = PNG_FORMAT_RGB;
  Picture picture{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  picture.rgb.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, picture.rgb.data(), 0, nullptr) == 0)
    throw Error(path.string() + ": " + image.message);
  return picture;
}

}  // namespace hotloop

// Pictures that the user takes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hotloop {

// The colours of a framebuffer (0: the window), the top row first: [height][width][3].
std::vector<std::uint8_t> read_pixels(unsigned framebuffer, int width, int height);

// Writes `folder`/NAME_DATE_TIME.png, atomically, under a name that is not taken. What to tell the user: where it is,
// or why there is none.
std::string save_shot(const std::string& folder, const std::string& name, int width, int height,
                      const std::vector<std::uint8_t>& rgb);

}  // namespace hotloop

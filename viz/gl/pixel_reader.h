// Pictures back from the GPU without waiting for it: each is asked for now and taken a frame or two later.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace hotloop {

class PixelReader {
 public:
  // Pictures of width x height, of which `depth` may be under way.
  PixelReader(int width, int height, int depth = 3);
  ~PixelReader();

  // Asks for the colours of `framebuffer`. Where `depth` are under way the oldest is handed to `take` first.
  // rgb: [height][width][3], the top row first.
  using Take = std::function<void(const std::vector<std::uint8_t>& rgb)>;
  void request(unsigned framebuffer, const Take& take);
  // Hands over all that are under way.
  void finish(const Take& take);

 private:
  struct Slot;
  void hand_over(const Take& take);
  int width_, height_;
  std::size_t depth_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> under_way_;
  std::vector<std::uint8_t> rgb_;
};

}  // namespace hotloop

// A film made by ffmpeg, which is given raw pictures through a pipe. The file appears when it is whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace hotloop {

// Whether ffmpeg is on PATH.
bool has_ffmpeg();
// Error for an ending that is none of those of films, a file that is there already, a folder that is not.
void check_video(const std::filesystem::path& file);

class VideoWriter {
 public:
  // Error where ffmpeg does not start.
  VideoWriter(const std::filesystem::path& file, int width, int height, double frames_per_second);
  ~VideoWriter();  // an unfinished film is removed

  // rgb: [height][width][3]. Error with ffmpeg's last message where it has ended.
  void write(std::span<const std::uint8_t> rgb);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hotloop

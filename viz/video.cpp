#include "viz/video.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "data/file.h"
#include "data/staged_path.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// ffmpeg's names of formats by a file's ending: the file has another name until it is whole.
const std::map<std::string, std::string>& formats() {
  static const std::map<std::string, std::string> names = {
      {".mp4", "mp4"}, {".mov", "mov"}, {".mkv", "matroska"}, {".webm", "webm"}, {".gif", "gif"}};
  return names;
}

std::string ffmpeg_path() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/ffmpeg";
    if (::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
  }
  return "";
}

std::vector<std::string> arguments(const fs::path& out, const std::string& format, int width, int height, double fps) {
  std::vector<std::string> words = {"ffmpeg",
                                    "-hide_banner",
                                    "-loglevel",
                                    "error",
                                    "-y",
                                    "-f",
                                    "rawvideo",
                                    "-pixel_format",
                                    "rgb24",
                                    "-video_size",
                                    std::to_string(width) + "x" + std::to_string(height),
                                    "-framerate",
                                    std::to_string(fps),
                                    "-i",
                                    "pipe:0"};
  if (format == "gif")  // the colours of the first frames, without noise in between: clear and small
    words.insert(words.end(),
                 {"-vf", "split[a][b];[a]trim=end_frame=16,palettegen[colours];[b][colours]paletteuse=dither=none"});
  else  // players want halved colours, which want even sides
    words.insert(words.end(), {"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"});
  words.insert(words.end(), {"-f", format, "file:" + out.string()});
  return words;
}

}  // namespace

bool has_ffmpeg() { return !ffmpeg_path().empty(); }

void check_video(const fs::path& file) {
  if (formats().count(file.extension().string()) == 0)
    throw Error("video '" + file.string() + "': must end in .mp4, .mov, .mkv, .webm or .gif");
  std::error_code ignored;
  if (fs::exists(file, ignored)) throw Error("video '" + file.string() + "': exists; remove it or choose another name");
  if (file.has_parent_path() && !fs::is_directory(file.parent_path(), ignored))
    throw Error("video '" + file.string() + "': no folder '" + file.parent_path().string() + "'");
}

struct VideoWriter::State {
  explicit State(const fs::path& file) : staged(file) {}
  StagedPath staged;
  pid_t child = -1;
  detail::Descriptor pipe, messages;
  std::size_t frame_bytes = 0;

  // Waits for ffmpeg; Error with what it said last where it has failed.
  void wait() {
    pipe = detail::Descriptor();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    child = -1;
    const off_t size = ::lseek(messages.get(), 0, SEEK_END);
    // of a disk that is full when the film is closed it only says so, and its status is 0
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && size == 0) return;
    std::string text(4096, '\0');
    const ssize_t n = ::pread(messages.get(), text.data(), text.size(), std::max<off_t>(0, size - 4096));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    text = text.substr(text.find_last_of("\r\n") + 1);
    throw Error("video '" + staged.target().string() + "': ffmpeg failed: " + (text.empty() ? "no message" : text));
  }
};

VideoWriter::VideoWriter(const fs::path& file, int width, int height, double frames_per_second) {
  check_video(file);
  const std::string program = ffmpeg_path();
  if (program.empty()) throw Error("video '" + file.string() + "': ffmpeg is not on PATH");
  state_ = std::make_unique<State>(file);
  state_->frame_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
  // a socket, not a pipe: writing to one whose reader has gone can be told to raise no signal
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_file_error(file, errno);
  state_->pipe = detail::Descriptor(ends[0]);
  const detail::Descriptor reader(ends[1]);
  state_->messages = detail::Descriptor(::memfd_create("ffmpeg", MFD_CLOEXEC));

  std::vector<std::string> words =
      arguments(state_->staged.path(), formats().at(file.extension().string()), width, height, frames_per_second);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, reader.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, state_->messages.get(), STDERR_FILENO);
  // Ctrl-C is for this process, which finishes the film
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int failure = ::posix_spawn(&state_->child, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    state_->child = -1;
    throw_file_error(program, failure);
  }
}

VideoWriter::~VideoWriter() {
  if (!state_ || state_->child < 0) return;
  ::kill(state_->child, SIGKILL);
  while (::waitpid(state_->child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void VideoWriter::write(std::span<const std::uint8_t> rgb) {
  std::size_t done = 0;
  while (done < state_->frame_bytes) {
    const ssize_t n = ::send(state_->pipe.get(), rgb.data() + done, state_->frame_bytes - done, MSG_NOSIGNAL);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) {
      const int reason = errno;
      state_->wait();  // says why ffmpeg has ended
      throw_file_error(state_->staged.target(), reason);
    }
  }
}

void VideoWriter::finish() {
  state_->wait();
  state_->staged.commit_file();
}

}  // namespace hotloop

#include "viz/headless.h"

#include <sys/stat.h>

#include <fstream>

#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/viz/stage.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using HeadlessTest = GlTest;

HeadlessOptions small(std::int64_t frames) {
  HeadlessOptions options;
  options.frames = frames;
  options.width = 65;
  options.height = 48;
  options.quality = {.samples = 1, .shadow_size = 64, .soft_shadows = false};
  return options;
}

// PATH with a script named ffmpeg in front; or only an empty folder.
class FakeFfmpeg {
 public:
  explicit FakeFfmpeg(const std::string& script) {
    if (!script.empty()) {
      std::ofstream(folder_ / "ffmpeg") << "#!/bin/sh\nexport PATH=/usr/bin:/bin\n" << script;
      ::chmod((folder_ / "ffmpeg").c_str(), 0755);
    }
    setenv("PATH", folder_.path().c_str(), 1);
  }
  ~FakeFfmpeg() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("PATH");
  TempFolder folder_;
};

// Writes its input and its arguments beside it into the file named last.
constexpr const char* kTaking =
    "for last; do :; done\ncat > \"${last#file:}\"\necho \"$@\" > \"$(dirname \"${last#file:}\")/arguments\"\n";

TEST_F(HeadlessTest, WritesFramesAndStepsOncePerFrame) {
  const TempFolder folder;
  StillSource source = spider(4);
  HeadlessOptions options = small(5);
  options.grid.count = 4;
  options.out = folder / "new/frames";
  const HeadlessReport report = render_headless(source, options);
  for (int i = 0; i < 5; ++i) {
    const Picture picture = read_png(folder.path() / ("new/frames/frame_00000" + std::to_string(i) + ".png"));
    EXPECT_EQ(picture.width, 65);
    EXPECT_EQ(picture.height, 48);
  }
  EXPECT_FALSE(fs::exists(folder / "new/frames/frame_000005.png"));
  EXPECT_EQ(source.steps, 4);  // the first frame shows the start
  EXPECT_EQ(report.frames, 5);
  EXPECT_EQ(report.path, "host");
  EXPECT_NE(report.line().find("5 frames in "), std::string::npos) << report.line();
  EXPECT_NE(report.line().find("OpenGL 4.5"), std::string::npos) << report.line();
}

TEST_F(HeadlessTest, FramesAreTheRightWayUpAndThoseOfTheScene) {
  const TempFolder folder;
  StillSource source = spider(1);
  HeadlessOptions options = small(1);
  options.out = folder / "frames";
  render_headless(source, options);
  std::string reason;
  ASSERT_NE(test_context(reason), nullptr);
  Shot shot;
  shot.camera = start_camera(source.visual());
  shot.quality = options.quality;
  shot.width = options.width;
  shot.height = options.height;
  EXPECT_EQ(mean_difference(read_png(folder / "frames/frame_000000.png"), shoot(source, shot)), 0);
}

TEST_F(HeadlessTest, TheCameraMayMove) {
  const TempFolder folder;
  StillSource source = spider(1);
  HeadlessOptions options = small(2);
  options.out = folder / "frames";
  options.before_frame = [](const HeadlessOptions::Moment& moment) {
    EXPECT_EQ(moment.world.size(), 2u);
    moment.camera.azimuth += 40;
  };
  render_headless(source, options);
  EXPECT_GT(mean_difference(read_png(folder / "frames/frame_000000.png"), read_png(folder / "frames/frame_000001.png")),
            0.1);
}

TEST_F(HeadlessTest, OneFrameIsCountedToo) {
  const TempFolder folder;
  StillSource source = spider(4);
  HeadlessOptions options = small(1);
  options.grid.count = 4;
  options.out = (folder / "frames").string();
  const HeadlessReport report = render_headless(source, options);
  EXPECT_GT(report.stats.drawn, 0);
  EXPECT_GT(report.stats.triangles, 0);
  EXPECT_EQ(report.line().rfind("1 frame in ", 0), 0u) << report.line();
}

TEST_F(HeadlessTest, FfmpegGetsRawFrames) {
  const TempFolder folder;
  const FakeFfmpeg fake(kTaking);
  StillSource source = spider(1);
  HeadlessOptions options = small(3);
  options.video = folder / "a.mp4";
  const HeadlessReport report = render_headless(source, options);
  EXPECT_EQ(fs::file_size(folder / "a.mp4"), 3u * 65 * 48 * 3);
  EXPECT_EQ(report.written, options.video);
  const std::string arguments = read_file(folder / "arguments", 4096);
  EXPECT_NE(arguments.find("-video_size 65x48 -framerate 50"), std::string::npos) << arguments;
}

TEST_F(HeadlessTest, WithoutFfmpegThereArePngFrames) {
  const TempFolder folder;
  const FakeFfmpeg none("");
  StillSource source = spider(1);
  HeadlessOptions options = small(2);
  options.video = folder / "film.mp4";
  std::string line;
  options.warn = [&](const std::string& text) { line += text; };
  render_headless(source, options);
  EXPECT_TRUE(fs::exists(folder / "film_frames/frame_000001.png"));
  EXPECT_FALSE(fs::exists(folder / "film.mp4"));
  EXPECT_EQ(line, "ffmpeg is not on PATH: frames as PNG files in '" + (folder / "film_frames").string() + "' instead");
}

TEST_F(HeadlessTest, AFailingFfmpegIsOneLineAndLeavesNothing) {
  const TempFolder folder;
  StillSource source = spider(1);
  HeadlessOptions options = small(200);
  options.video = folder / "a.webm";
  for (const char* script :
       {"echo first >&2\necho 'Unknown encoder' >&2\nexit 1\n", "cat >/dev/null\necho 'Unknown encoder' >&2\nexit 1\n",
        "cat >/dev/null\necho 'Unknown encoder' >&2\n"}) {  // a full disk: it says so, and no more
    const FakeFfmpeg fake(script);
    EXPECT_EQ(error_text([&] { render_headless(source, options); }),
              "video '" + options.video + "': ffmpeg failed: Unknown encoder");
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
}

TEST_F(HeadlessTest, StoppedEarlyTheFilmIsWhole) {
  const TempFolder folder;
  const FakeFfmpeg fake(kTaking);
  StillSource source = spider(1);
  HeadlessOptions options = small(1000);
  options.video = folder / "a.gif";
  int asked = 0;
  options.stop = [&] { return ++asked > 7; };
  EXPECT_EQ(render_headless(source, options).frames, 7);
  EXPECT_EQ(fs::file_size(folder / "a.gif"), 7u * 65 * 48 * 3);
  const std::string arguments = read_file(folder / "arguments", 4096);
  EXPECT_NE(arguments.find("palettegen"), std::string::npos) << "colours of its own: " << arguments;
}

TEST_F(HeadlessTest, BadInputIsOneLine) {
  const TempFolder folder;
  StillSource source = spider(1);
  const auto refused = [&](const std::function<void(HeadlessOptions&)>& change) {
    HeadlessOptions options = small(1);
    change(options);
    return error_text([&] { render_headless(source, options); });
  };
  const std::string file = folder / "file";
  write_file(file, "x");
  write_file(folder / "frame_000007.png", "x");
  EXPECT_EQ(refused([&](auto& o) { o.out = file; }), "'" + file + "': is not a folder");
  EXPECT_EQ(refused([&](auto& o) { o.out = folder.path(); }),
            "'" + folder.path().string() + "': holds frames already (frame_000007.png); name another folder");
  EXPECT_EQ(refused([&](auto& o) { o.video = folder / "a.txt"; }),
            "video '" + (folder / "a.txt").string() + "': must end in .mp4, .mov, .mkv, .webm or .gif");
  write_file(folder / "there.mp4", "a film");
  EXPECT_EQ(refused([&](auto& o) { o.video = folder / "there.mp4"; }),
            "video '" + (folder / "there.mp4").string() + "': exists; remove it or choose another name");
  EXPECT_EQ(refused([&](auto& o) { o.video = folder / "none" / "a.mp4"; }),
            "video '" + (folder / "none" / "a.mp4").string() + "': no folder '" + (folder / "none").string() + "'");
  EXPECT_EQ(refused([&](auto& o) { o.frames = 0; }), "frames 0: must be at least 1");
  EXPECT_EQ(refused([&](auto& o) { o.width = 0; }), "size 0x48: sides must be 1 to 16384 pixels");
  EXPECT_EQ(refused([&](auto& o) { o.speed = -1; }), "speed -1: must be above 0");
}

// Shaders that read past the end of an array would draw worlds that are not there, or end the driver.
TEST_F(HeadlessTest, MoreWorldsThanOpenGlTakesAreRefused) {
  const TempFolder folder;
  StillSource source = spider(1);
  const std::int64_t most = Scene::most_worlds(source.visual());
  EXPECT_GT(most, 16384);
  HeadlessOptions options = small(1);
  options.out = (folder / "frames").string();
  options.grid.count = most + 1;
  EXPECT_EQ(error_text([&] { render_headless(source, options); }),
            "worlds " + std::to_string(most + 1) + ": OpenGL draws at most " + std::to_string(most) +
                " of this model in one picture here");
  for (int i = 0; i < 9; ++i) source.model().shapes.insert(source.model().shapes.end(), 100, source.model().shapes[0]);
  EXPECT_LT(Scene::most_worlds(source.visual()), most / 9);
}

}  // namespace
}  // namespace hotloop

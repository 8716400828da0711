// What must not load: each model gives one line, names its file and what is wrong, and nothing else happens.
#include "sim/mujoco/features.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "sim/mujoco/load.h"
#include "sim/mujoco/model_text.h"
#include "tests/error_text.h"
#include "tests/mujoco/broken_models.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// Everything that is written to standard output and error while it lives.
class Silence {
 public:
  explicit Silence(const fs::path& file) : file_(file) {
    ::fflush(nullptr);
    const int to = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    for (int i = 0; i < 2; ++i) {
      saved_[i] = ::dup(i + 1);
      ::dup2(to, i + 1);
    }
    ::close(to);
  }
  std::string end() {
    ::fflush(nullptr);
    for (int i = 0; i < 2; ++i) {
      ::dup2(saved_[i], i + 1);
      ::close(saved_[i]);
    }
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fs::path file_;
  int saved_[2];
};

void expect_one_line(const fs::path& path, const std::string& says, const std::string& what, const fs::path& scratch) {
  Silence silence(scratch);
  std::string other;
  std::string text;
  try {
    text = error_text([&] { load_model(path.string()); });
  } catch (const std::exception& e) {
    other = e.what();
  }
  const std::string printed = silence.end();
  EXPECT_EQ(other, "") << what;
  EXPECT_EQ(printed, "") << what;
  EXPECT_NE(text, "") << what << ": loads";
  EXPECT_EQ(text.find_first_of("\r\n"), std::string::npos) << what << ": " << text;
  // the model itself, or a file that it includes
  EXPECT_EQ(text.rfind(path.string() + ": ", 0) == 0 || text.rfind(path.parent_path().string() + "/", 0) == 0, true)
      << what << ": " << text;
  EXPECT_TRUE(valid_utf8(text)) << what;
  EXPECT_NE(text.find(says), std::string::npos) << what << ": must say '" << says << "': " << text;
  EXPECT_GT(text.size(), path.string().size() + 10) << what << ": " << text;
  EXPECT_LT(text.size(), 900u) << what << ": " << text;
  if (std::getenv("HOTLOOP_SHOW_ERRORS"))
    std::cout << what << "\n    " << text.substr(std::min(text.size(), path.string().size())) << "\n";
}

TEST(BrokenModels, TheGoodOneLoads) {
  const auto model = load_model_string(good_model(), "good.xml");
  EXPECT_EQ(model->data().nv, 8);
}

TEST(BrokenModels, EachGivesOneLine) {
  const TempFolder folder;
  const std::vector<BrokenModel> cases = broken_models();
  EXPECT_GE(cases.size(), 300u);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const fs::path home = folder.path() / std::to_string(k);
    for (const auto& [name, text] : cases[k].files) {
      fs::create_directories((home / name).parent_path());
      std::ofstream(home / name, std::ios::binary) << text;
    }
    expect_one_line(home / cases[k].files[0].first, cases[k].says, cases[k].what, folder / "printed");
  }
  EXPECT_FALSE(fs::exists("MUJOCO_LOG.TXT"));
}

TEST(BrokenModels, FilesThatAreNone) {
  const TempFolder folder;
  for (const auto& [path, says] : broken_files(folder.path()))
    expect_one_line(path, says, path.string(), folder / "printed");
}

TEST(BrokenModels, AGoodOneLoadsAfterwards) {
  for (int k = 0; k < 3; ++k) {
    EXPECT_NE(error_text([] { load_model_string("<mujoco><worldbody><geom size=\"x\"/></worldbody></mujoco>", "a"); }),
              "");
    EXPECT_EQ(load_model_string(good_model(), "good.xml")->data().nu, 2);
  }
}

TEST(Features, EveryRefusalSaysWhatIsAccepted) {
  for (const Feature& f : features()) {
    const bool finds = f.find != nullptr;
    EXPECT_EQ(finds, *f.accepted != 0) << f.name;
    EXPECT_TRUE(!finds || f.support == Support::no) << f.name;
  }
}

TEST(Features, ReadmeShowsTheTable) {
  std::ifstream in(std::string(HOTLOOP_SOURCE_DIR) + "/README.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string begin = "<!-- features -->\n", end = "<!-- end of features -->";
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  EXPECT_EQ(text.substr(from + begin.size(), to - from - begin.size()), features_markdown());
}

}  // namespace
}  // namespace hotloop

// Damaged, foreign and nonsensical checkpoints, generated: `play` and `train --resume` refuse each with one line and
// status 2 and leave the run as it is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "data/file.h"
#include "data/safetensors.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "train/control.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A checkpoint taken apart, to be put together wrongly but with a checksum that fits.
struct Parts {
  std::vector<std::string> bytes;
  std::vector<NamedTensor> tensors;
  Metadata metadata;

  explicit Parts(const Safetensors& file) : tensors(file.tensors()), metadata(file.metadata()) {
    for (const NamedTensor& t : tensors)
      bytes.emplace_back(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  }
  std::size_t index(const std::string& name) const {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].name == name) return i;
    throw std::out_of_range(name);
  }
  void drop(const std::string& name) {
    const auto at = static_cast<std::ptrdiff_t>(index(name));
    tensors.erase(tensors.begin() + at);
    bytes.erase(bytes.begin() + at);
  }
  void reshape(const std::string& name, DType dtype, std::vector<std::int64_t> shape) {
    const std::size_t at = index(name);
    std::size_t size = dtype_size(dtype);
    for (const std::int64_t n : shape) size *= static_cast<std::size_t>(n);
    tensors[at].dtype = dtype;
    tensors[at].shape = std::move(shape);
    bytes[at].resize(size);
  }
  void edit_control(const std::function<void(Control&)>& change) {
    Control control;
    std::string& raw = bytes[index("control")];
    std::memcpy(&control, raw.data(), sizeof control);
    change(control);
    std::memcpy(raw.data(), &control, sizeof control);
  }
  // In the configuration, the line that sets `key` becomes `line`.
  void edit_config(const std::string& key, const std::string& line) {
    std::string& text = metadata.at("config");
    const std::size_t begin = text.find("\n" + key + " = ") + 1;
    text.replace(begin, text.find('\n', begin) - begin, line);
  }
  void edit_json(const std::string& entry, const std::string& key, const std::string& value) {
    Json object = Json::parse(metadata.at(entry));
    object[key] = "@";
    std::string text = object.dump();
    metadata.at(entry) = text.replace(text.find("\"@\""), 3, value);
  }
  void write(const fs::path& path) {
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].bytes = std::as_bytes(std::span(bytes[i]));
    write_safetensors(path, tensors, metadata);
  }
};

enum class By { both, resume };  // whom it must stop: what only a training reads does not stop `play`

class BadCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    const ProgramResult result =
        run_program(small_run("run", {"--total-timesteps", "512", "--hidden-sizes", "8,8", "--num-minibatches", "2",
                                      "--normalize-observation", "true"}),
                    folder_.path(), 120);
    ASSERT_EQ(result.status, 0) << result.err;
    good_.emplace(Safetensors::read(folder_ / "run/latest.safetensors"));
    content_ = read_file(folder_ / "run/latest.safetensors", UINT64_MAX);
    fs::remove(folder_ / "run/best.safetensors");
  }

  void check(const std::string& what, By by, const std::string& mentions) {
    SCOPED_TRACE(what);
    ++cases_;
    check_bad_input({{"train", "--resume", "run"}, mentions}, folder_.path());
    if (by == By::both) check_bad_input({{"play", "run", "--device", "cpu"}, mentions}, folder_.path());
  }
  void check_bytes(const std::string& what, const std::string& bytes, const std::string& mentions = kFile) {
    write_file(folder_ / "run/latest.safetensors", bytes);
    check(what, By::both, mentions);
  }
  void check_parts(const std::string& what, By by, const std::string& mentions,
                   const std::function<void(Parts&)>& change) {
    Parts parts(*good_);
    change(parts);
    parts.write(folder_ / "run/latest.safetensors");
    check(what, by, mentions);
  }
  void check_metadata(const std::string& key, const std::string& value, const std::string& mentions = kFile,
                      By by = By::both) {
    check_parts(key + " = " + value, by, mentions, [&](Parts& p) { p.metadata[key] = value; });
  }

  static constexpr const char* kFile = "run/latest.safetensors";
  const TempFolder folder_;
  std::optional<Safetensors> good_;
  std::string content_;
  int cases_ = 0;
};

TEST_F(BadCheckpoint, CutAndFlipped) {
  std::uint64_t header = 0;
  std::memcpy(&header, content_.data(), sizeof header);
  const std::size_t size = content_.size();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{9}, 8 + header / 2, 7 + header,
        8 + header, 9 + header, size / 2, size - 4096, size - 2, size - 1})
    check_bytes("cut to " + std::to_string(length), content_.substr(0, length));
  check_bytes("longer", content_ + '\0');
  check_bytes("twice", content_ + content_);
  std::mt19937_64 random(7);
  for (int i = 0; i < 40; ++i) {
    // a third in the eight bytes of the length, a third in the header, a third in the tensors
    const std::size_t at = i % 3 == 0 ? random() % 8 : i % 3 == 1 ? 8 + random() % header : random() % size;
    std::string bytes = content_;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    check_bytes("flip in byte " + std::to_string(at), bytes);
  }
  EXPECT_GE(cases_, 55);
}

TEST_F(BadCheckpoint, Foreign) {
  const auto with_header = [](const std::string& json, const std::string& data) {
    const std::uint64_t length = json.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + json + data;
  };
  check_bytes("text", "These are not the bytes that you look for.\n");
  check_bytes("a zip, as PyTorch writes", std::string("PK\x03\x04") + std::string(500, '\0'));
  check_bytes("an HDF5 file", "\x89HDF\r\n\x1a\n" + std::string(500, '\0'));
  check_bytes("zeros", std::string(4096, '\0'));
  check_bytes("ones", std::string(4096, '\xff'));
  check_bytes("no tensor", with_header("{}", ""));
  check_bytes("of another program",
              with_header(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678"), "no checksum");
  check_bytes("nested", with_header(std::string(100000, '['), ""));
  check_bytes("huge", with_header(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", ""));
  check_parts("no format", By::both, "no checkpoint of hotloop", [](Parts& p) { p.metadata.erase("format"); });
  check_metadata("format", "pt", "no checkpoint of hotloop");
  for (const char* version : {"0", "3", "", "1.0", "01", "one", "18446744073709551617"})
    check_metadata("format_version", version, "format");
  for (const char* key : {"format_version", "config", "counters", "metric_files"})
    check_parts(std::string("without ") + key, By::both, key, [&](Parts& p) { p.metadata.erase(key); });
}

TEST_F(BadCheckpoint, Configuration) {
  const auto edited = [&](const std::string& key, const std::string& line, By by = By::both) {
    check_parts(line, by, kFile, [&](Parts& p) { p.edit_config(key, line); });
  };
  edited("task", "task = \"Acrobot-v1\"");
  edited("task", "task = \"CartPole-v9\"");
  edited("task", "");
  edited("num_envs", "num_envs = 16");
  edited("num_envs", "num_envs = 0");
  edited("num_steps", "num_steps = 33");
  edited("hidden_sizes", "hidden_sizes = [9, 8]");
  edited("hidden_sizes", "hidden_sizes = [65536, 65536]");
  edited("hidden_sizes", "hidden_sizes = []");
  edited("shared_network", "shared_network = true");
  edited("num_minibatches", "num_minibatches = 7");
  edited("gamma", "gamma = 7");
  edited("gamma", "gamma = nan");
  edited("gamma", "gama = 0.9");
  edited("activation", "activation = \"swish\"");
  edited("action_distribution", "action_distribution = \"squashed_gaussian\"");
  edited("seed", "seed = 4", By::resume);
  edited("learning_rate", "learning_rate = 0.5", By::resume);
  edited("normalize_reward", "normalize_reward = true", By::resume);
  for (const char* text : {"", "[", "task = 'CartPole-v1'\n", "\x01", "task = 7"}) check_metadata("config", text);
}

TEST_F(BadCheckpoint, Counters) {
  for (const char* text : {"", "{}", "[]", "null", "7", "not JSON", "{\"iteration\":2}"})
    check_metadata("counters", text, "counters");
  check_metadata("counters", std::string(100000, '['), "counters");
  for (const char* name : {"iteration", "global_step", "episodes", "window_episodes", "epochs"})
    for (const char* value : {"-1", "1e30", "1.5", "null", "\"2\"", "18446744073709551615", "9000000000000000000"})
      check_parts(std::string(name) + " " + value, By::both, "counters",
                  [&](Parts& p) { p.edit_json("counters", name, value); });
  for (const char* value : {"null", "\"0\"", "1e999", "[]"})
    check_parts(std::string("best_return ") + value, By::both, "counters",
                [&](Parts& p) { p.edit_json("counters", "best_return", value); });
  for (const char* value : {"[1]", "null", "7", "[\"a\"]"})
    check_parts(std::string("terms ") + value, By::both, "counters",
                [&](Parts& p) { p.edit_json("counters", "window_reward_terms", value); });
  check_parts("another iteration", By::both, "counters", [](Parts& p) { p.edit_json("counters", "iteration", "3"); });
  for (const char* text : {"", "[1]", "{\"metrics.csv\":-1}", "{\"metrics.csv\":1e30}", "{\"metrics.csv\":\"1\"}"})
    check_metadata("metric_files", text);
  check_metadata("metric_files", "{}", "run", By::resume);
  for (const char* name : {"metrics.csv", "metrics.jsonl", "performance.csv"})
    check_parts(std::string("longer ") + name, By::resume, name,
                [&](Parts& p) { p.edit_json("metric_files", name, "1000000000"); });
}

TEST_F(BadCheckpoint, Tensors) {
  const Parts parts(*good_);
  for (const NamedTensor& t : parts.tensors) {
    const bool policy = t.name.find("optimizer") == std::string::npos && t.name.find("env.") == std::string::npos &&
                        t.name != "control";
    const By by = policy ? By::both : By::resume;
    check_parts("without " + t.name, by, t.name, [&](Parts& p) { p.drop(t.name); });
    std::vector<std::int64_t> longer = t.shape;
    longer.back() += 1;
    check_parts("longer " + t.name, by, t.name, [&](Parts& p) { p.reshape(t.name, t.dtype, longer); });
    check_parts("int16 " + t.name, by, t.name, [&](Parts& p) { p.reshape(t.name, DType::i16, t.shape); });
  }
  EXPECT_GE(cases_, 30);
}

TEST_F(BadCheckpoint, Control) {
  const auto edited = [&](const char* what, const std::function<void(Control&)>& change) {
    check_parts(what, By::resume, "control", [&](Parts& p) { p.edit_control(change); });
  };
  edited("negative iteration", [](Control& c) { c.iteration = -5; });
  edited("huge iteration", [](Control& c) { c.iteration = std::int64_t{1} << 62; });
  edited("next iteration", [](Control& c) { c.iteration += 1; });
  edited("negative Adam step", [](Control& c) { c.adam_step = -1; });
  edited("huge Adam step", [](Control& c) { c.adam_step = std::int64_t{1} << 62; });
  edited("negative learning rate", [](Control& c) { c.learning_rate = -1; });
  edited("learning rate NaN", [](Control& c) { c.learning_rate = std::numeric_limits<double>::quiet_NaN(); });
  edited("infinite learning rate", [](Control& c) { c.learning_rate = INFINITY; });
}

}  // namespace
}  // namespace hotloop

#include "tests/app/small_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "data/file.h"
#include "data/safetensors.h"

namespace hotloop {

namespace fs = std::filesystem;

std::vector<std::string> small_run(const fs::path& run, const std::vector<std::string>& more) {
  std::map<std::string, std::string> keys = {{"--device", "cpu"},         {"--seed", "3"},
                                             {"--num-threads", "2"},      {"--num-envs", "8"},
                                             {"--num-steps", "32"},       {"--total-timesteps", "15360"},
                                             {"--hidden-sizes", "16,16"}, {"--eval-interval", "10"},
                                             {"--eval-episodes", "8"},    {"--checkpoint-interval", "7"},
                                             {"--run-dir", run.string()}};
  for (std::size_t i = 0; i + 1 < more.size(); i += 2) keys[more[i]] = more[i + 1];
  std::vector<std::string> arguments = {"train", "CartPole-v1"};
  for (const auto& [key, value] : keys) arguments.insert(arguments.end(), {key, value});
  return arguments;
}

void expect_same_checkpoint(const fs::path& a, const fs::path& b) {
  const Safetensors x = Safetensors::read(a), y = Safetensors::read(b);
  ASSERT_EQ(x.tensors().size(), y.tensors().size());
  ASSERT_GT(x.tensors().size(), 5u);
  for (const NamedTensor& t : x.tensors()) {
    const NamedTensor& other = y.get(t.name, t.dtype, t.shape);
    EXPECT_TRUE(std::equal(t.bytes.begin(), t.bytes.end(), other.bytes.begin(), other.bytes.end())) << t.name;
  }
  EXPECT_EQ(x.metadata_value("counters"), y.metadata_value("counters"));
}

void expect_same_run(const fs::path& a, const fs::path& b) {
  SCOPED_TRACE(a.string() + " and " + b.string());
  for (const char* name : {"metrics.csv", "metrics.jsonl"}) {
    const std::string x = read_file(a / name, UINT64_MAX), y = read_file(b / name, UINT64_MAX);
    const auto [at, other] = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
    EXPECT_TRUE(x == y) << name << " differ from byte " << at - x.begin() << " of " << x.size() << " and " << y.size();
    EXPECT_GT(std::count(x.begin(), x.end(), '\n'), 1) << name;
  }
  expect_same_checkpoint(a / "latest.safetensors", b / "latest.safetensors");
  expect_same_checkpoint(a / "best.safetensors", b / "best.safetensors");
}

}  // namespace hotloop

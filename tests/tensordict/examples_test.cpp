// The examples in the headers of data/tensordict are the lines between the markers here.
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <fstream>
#include <set>

#include "data/tensordict/arena_view.h"
#include "data/tensordict/module.h"
#include "data/tensordict/persist.h"
#include "tests/temp_folder.h"
#include "tests/tensordict/support.h"

namespace hotloop {
namespace {

TEST(Examples, TensorDict) {
  // clang-format off
  TensorDict td({{"observation", at::zeros({4, 8, 3})}, {"next/reward", at::ones({4, 8, 1})}}, {4, 8});
  at::Tensor reward = td["next/reward"];
  td.set({"next", "terminated"}, at::zeros({4, 8, 1}, at::kBool));
  TensorDict next = td.nested("next");
  EXPECT_EQ(reward.sum().item<float>(), 32);
  EXPECT_EQ(next.keys(), (TensorDict::Keys{"reward", "terminated"}));

  TensorDict flat = td.view({-1});
  TensorDict minibatch = flat.index({at::tensor({3, 1, 2})});
  TensorDict last_step = td.index({-1});
  std::vector<TensorDict> halves = td.split(2);
  TensorDict both = cat({halves[0], halves[1]});
  EXPECT_EQ(minibatch["observation"].sizes(), at::IntArrayRef({3, 3}));
  EXPECT_EQ(last_step.batch_size(), Shape{8});
  tests::expect_equal(both, td);

  td.del_("next/terminated");
  TensorDict target = td.clone();
  target.lerp_(td, 0.005);
  TensorDict clipped = td.sub(1.0).clamp(-1.0, 1.0);
  tests::expect_equal(target, td);
  EXPECT_EQ(clipped["observation"].sum().item<float>(), -96);

  TensorDict packed = td.consolidate();
  at::Tensor bytes = packed.storage();
  EXPECT_EQ(bytes.numel(), 4 * 8 * 3 * 4 + 4 * 8 * 4);
  // clang-format on
}

TEST(Examples, Persist) {
  const TempFolder temporary;
  const std::filesystem::path dir = temporary / "td", file = temporary / "td.h5";
  const TensorDict td({{"x", at::ones({2})}}, {2});
  // clang-format off
  memmap(td, dir);
  TensorDict mapped = load_memmap(dir);
  to_h5(td, file);
  TensorDict loaded = from_h5(file);
  // clang-format on
  tests::expect_equal(mapped, td);
  tests::expect_equal(loaded, td);
}

TEST(Examples, Arena) {
  // clang-format off
  Arena arena({}, {{"observation", DType::f32, {9, 4, 3}}, {"next/reward", DType::f32, {8, 4, 1}}});
  TensorDict rollout = view(arena, {8, 4});
  at::Tensor observation = rollout["observation"];
  at::Tensor next_observation = rollout["next/observation"];
  // clang-format on
  EXPECT_EQ(observation[1].data_ptr(), next_observation[0].data_ptr());
}

TEST(Examples, Parameters) {
  at::Tensor weight = at::ones({2, 2}), bias = at::zeros({2});
  // clang-format off
  TensorDict online = from_parameters({{"actor.0.weight", weight}, {"actor.0.bias", bias}});
  TensorDict frozen = online.clone().detach();
  to_parameters(frozen, {{"actor.0.weight", weight}, {"actor.0.bias", bias}});
  // clang-format on
  EXPECT_TRUE(online["actor/0/bias"].is_same(bias));
}

TEST(Examples, AreTheLinesOfTheHeaders) {
  const auto trimmed = [](const std::string& line, std::size_t begin) {
    const std::size_t first = line.find_first_not_of(' ', begin);
    return first == std::string::npos ? std::string() : line.substr(first);
  };
  std::set<std::string> compiled;
  std::string line;
  for (std::ifstream file(HOTLOOP_SOURCE_DIR "/tests/tensordict/examples_test.cpp"); std::getline(file, line);)
    compiled.insert(trimmed(line, 0));
  int examples = 0;
  for (const char* header : {"tensordict.h", "persist.h", "arena_view.h", "module.h"}) {
    std::ifstream file(std::string(HOTLOOP_SOURCE_DIR "/data/tensordict/") + header);
    while (std::getline(file, line) && line.rfind("//", 0) == 0) {
      if (line.rfind("//   ", 0) != 0) continue;
      ++examples;
      EXPECT_TRUE(compiled.count(trimmed(line, 2))) << header << ": " << line;
    }
  }
  EXPECT_GE(examples, 20);
}

}  // namespace
}  // namespace hotloop

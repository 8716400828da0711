// Entries, locks, copies, consolidation, gradients, the arena and parameters.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "data/tensordict/arena_view.h"
#include "data/tensordict/module.h"
#include "tests/tensordict/support.h"

namespace hotloop {
namespace {

using tests::expect_equal;
using tests::expect_error;
using Keys = TensorDict::Keys;

TensorDict sample() {
  return TensorDict({{"b", at::zeros({2, 3})}, {"a", at::ones({2, 3, 4})}, {"n/x", at::zeros({2, 3})}}, {2, 3});
}

TEST(NestedKey, SplitsAndJoins) {
  EXPECT_EQ(NestedKey("next/reward").parts(), (Keys{"next", "reward"}));
  EXPECT_EQ(NestedKey({"next", "reward"}).str(), "next/reward");
  expect_error([] { NestedKey("a//b"); }, {"a", "empty part"});
  expect_error([] { NestedKey(""); }, {"empty part"});
  expect_error([] { NestedKey({"a/b"}); }, {"a/b"});
}

TEST(TensorDict, ListsKeysSortedLevelByLevel) {
  const TensorDict td = sample();
  EXPECT_EQ(td.keys(), (Keys{"a", "b", "n"}));
  EXPECT_EQ(td.keys(true), (Keys{"a", "b", "n", "n/x"}));
  EXPECT_EQ(td.keys(true, true), (Keys{"a", "b", "n/x"}));
  EXPECT_EQ(td.keys(false, true), (Keys{"a", "b"}));
  EXPECT_EQ(td.items(true, true).size(), td.leaves().size());
  EXPECT_EQ(td.values().size(), 3u);
}

TEST(TensorDict, CountsLikePython) {
  const TensorDict td = sample();
  EXPECT_EQ(td.numel(), 6);
  EXPECT_EQ(td.param_count(), 36);
  EXPECT_EQ(td.bytes(), 144);
  EXPECT_EQ(TensorDict().numel(), 1);
  EXPECT_EQ(TensorDict(Shape{0, 3}).numel(), 1);
  EXPECT_TRUE(TensorDict(Shape{2}).is_empty());
  EXPECT_EQ(td.size(-1), 3);
}

TEST(TensorDict, SetsGetsRenamesAndRemoves) {
  TensorDict td = sample();
  td.set({"n", "deep", "y"}, at::ones({2, 3}));
  EXPECT_EQ(td.nested("n/deep").batch_size(), (Shape{2, 3}));
  EXPECT_TRUE(td.contains("n/deep/y") && td.contains("n") && !td.contains("n/q") && !td.contains("b/q"));
  td.set_("b", at::full({2, 3}, 5.0));
  EXPECT_EQ(td["b"].sum().item<float>(), 30);
  const at::Tensor before = td["b"];
  td.set("b", at::full({2, 3}, 6.0), true);
  EXPECT_TRUE(td["b"].is_same(before) && before.sum().item<float>() == 36);
  EXPECT_EQ(td.setdefault("b", at::zeros({2, 3})).sum().item<float>(), 36);
  EXPECT_EQ(td.setdefault("c", at::ones({2, 3})).sum().item<float>(), 6);
  EXPECT_EQ(td.get("missing", at::ones({1})).numel(), 1);
  EXPECT_EQ(td.pop("c").sum().item<float>(), 6);
  EXPECT_FALSE(td.contains("c"));
  td.rename_key_("n/deep", "m").del_("n/x");
  EXPECT_EQ(td.keys(true), (Keys{"a", "b", "m", "m/y", "n"}));
}

TEST(TensorDict, HandlesShareAndClonesDoNot) {
  TensorDict td = sample();
  TensorDict same = td, copy = td.clone(), shallow = td.clone(false);
  same.set("new", at::zeros({2, 3}));
  EXPECT_TRUE(td.contains("new") && td.is_same(same));
  EXPECT_FALSE(copy.contains("new") || shallow.contains("new"));
  td.nested("n").set("y", at::zeros({2, 3}));
  EXPECT_TRUE(td.contains("n/y"));
  EXPECT_FALSE(shallow.contains("n/y"));
}

TEST(TensorDict, NestedBatchSizesFollowTheParent) {
  TensorDict td(Shape{2, 3});
  td.set("more", TensorDict({{"x", at::zeros({2, 3, 4})}}, {2, 3, 4}));
  td.set("fewer", TensorDict({{"x", at::zeros({2, 3, 4})}}, {2}));
  EXPECT_EQ(td.nested("more").batch_size(), (Shape{2, 3, 4}));
  EXPECT_EQ(td.nested("fewer").batch_size(), (Shape{2, 3}));
  EXPECT_EQ(td.view({6}).nested("more").batch_size(), (Shape{6, 4}));
  td.set_batch_size({2});
  EXPECT_EQ(td.nested("fewer").batch_size(), (Shape{2, 3}));
}

TEST(TensorDict, NamesTheKeyAndTheShapes) {
  TensorDict td = sample();
  expect_error([&] { td.get("bb"); }, {"no key 'bb'", "did you mean 'b'"});
  expect_error([&] { td.get("n"); }, {"'n'", "nested"});
  expect_error([&] { td.nested("b"); }, {"'b'", "tensor"});
  expect_error([&] { td.set("c", at::zeros({3, 3})); }, {"'c'", "[3, 3]", "[2, 3]"});
  expect_error([&] { td.set("n/q/c", at::zeros({3})); }, {"'n/q/c'", "[3]"});
  EXPECT_FALSE(td.contains("n/q"));
  expect_error([&] { td.set("b/c", at::zeros({2, 3})); }, {"'b/c'", "'b' is a tensor"});
  expect_error([&] { td.set("c", at::Tensor()); }, {"'c'", "undefined"});
  expect_error([&] { td.set("c", TensorDict(Shape{3, 3})); }, {"'c'", "[3, 3]"});
  expect_error([&] { td.nested("n").set("self", td); }, {"self"});
  expect_error([&] { td.set_("c", at::zeros({2, 3})); }, {"no key 'c'"});
  expect_error([&] { td.set_("b", at::zeros({2, 1})); }, {"'b'", "[2, 1]", "[2, 3]"});
  expect_error([&] { td.del_("q"); }, {"'q'"});
  expect_error([&] { td.pop("q"); }, {"'q'"});
  expect_error([&] { td.rename_key_("n", "n/m"); }, {"n/m"});
  expect_error([&] { td.set_batch_size({2, 3, 4}); }, {"'b'", "[2, 3]", "[2, 3, 4]"});
  EXPECT_EQ(td.batch_size(), (Shape{2, 3}));
  expect_error([] { TensorDict(Shape{-1}); }, {"[-1]"});
  expect_error([] { TensorDict({{"a", at::zeros({3})}}, {2}); }, {"'a'"});
  expect_error([&] { td.update_(TensorDict({{"q", at::zeros({2, 3})}}, {2, 3})); }, {"'q'"});
  expect_error([&] { td.copy_(td.exclude({"a"})); }, {"copy_", "'a'"});
}

TEST(TensorDict, LockedKeepsItsEntries) {
  TensorDict td = sample().lock_();
  EXPECT_TRUE(td.is_locked() && td.nested("n").is_locked());
  expect_error([&] { td.set("q", at::zeros({2, 3})); }, {"'q'", "locked"});
  expect_error([&] { td.set("n/q/r", at::zeros({2, 3})); }, {"'n/q/r'", "locked"});
  expect_error([&] { td.set("b", at::zeros({2, 3})); }, {"locked"});
  expect_error([&] { td.del_("b"); }, {"locked"});
  expect_error([&] { td.pop("b"); }, {"locked"});
  expect_error([&] { td.rename_key_("b", "c"); }, {"locked"});
  expect_error([&] { td.update(sample()); }, {"locked"});
  expect_error([&] { td.nested("n").unlock_(); }, {"parent is locked"});
  EXPECT_EQ(td.keys(true), sample().keys(true));
  td.set("b", at::ones({2, 3}), true).set_("n/x", at::ones({2, 3})).zero_();
  td.update_(sample());
  EXPECT_FALSE(td.clone().is_locked());
  td.unlock_();
  EXPECT_FALSE(td.nested("n").is_locked());
  td.set("q", at::zeros({2, 3}));
}

TEST(TensorDict, NestedUnlocksWhenItsParentIsGone) {
  TensorDict inner({{"x", at::zeros({2})}}, {2});
  { TensorDict({{"n", inner}}, {2}).lock_(); }
  EXPECT_TRUE(inner.is_locked());
  EXPECT_FALSE(inner.unlock_().is_locked());
}

TEST(TensorDict, UpdatesMergeAndWriteInPlace) {
  TensorDict td = sample();
  const at::Tensor a = td["a"];
  td.update_(TensorDict({{"a", at::full({2, 3, 4}, 2.0)}}, {2, 3}));
  EXPECT_TRUE(td["a"].is_same(a) && a.sum().item<float>() == 48);
  TensorDict source({{"n/z", at::zeros({2, 3})}, {"m/z", at::zeros({2, 3})}}, {2, 3});
  td.update(source);
  EXPECT_EQ(td.keys(true, true), (Keys{"a", "b", "m/z", "n/x", "n/z"}));
  source.set("m/later", at::zeros({2, 3}));
  EXPECT_FALSE(td.contains("m/later"));
}

TEST(TensorDict, StateDictIsFlatAndStrict) {
  TensorDict td = sample(), copy = td.apply([](const at::Tensor&x) { return x + 3; });
  EXPECT_EQ(td.state_dict().count("n.x"), 1u);
  td.load_state_dict(copy.state_dict());
  expect_equal(td, copy);
  auto state = copy.state_dict();
  state["n.xx"] = at::zeros({1});
  expect_error([&] { td.load_state_dict(state); }, {"n.xx", "did you mean 'n.x'"});
  td.load_state_dict(state, false);
  state.erase("n.xx"), state.erase("a");
  expect_error([&] { td.load_state_dict(state); }, {"'a'"});
  state["a"] = at::zeros({2, 3});
  expect_error([&] { td.load_state_dict(state); }, {"'a'", "[2, 3]", "[2, 3, 4]"});
}

TEST(TensorDict, ConsolidatesIntoOneStorage) {
  const TensorDict td({{"a", at::ones({3, 5})},
                       {"flag", at::tensor({1, 0, 1}).to(at::kBool)},
                       {"n/half", at::full({3}, 2.5, at::kHalf)},
                       {"n/none", at::zeros({3, 0})},
                       {"turned", at::tensor({1, 2, 3, 4, 5, 6}, at::kLong).view({2, 3}).t()}},
                      {3});
  const TensorDict packed = td.consolidate();
  expect_equal(packed, td);
  EXPECT_TRUE(packed.is_locked());
  EXPECT_EQ(packed.storage().numel(), 256);
  for (const at::Tensor& leaf : packed.leaves())
    if (leaf.numel()) {
      EXPECT_TRUE(leaf.is_alias_of(packed.storage()));
      EXPECT_EQ((static_cast<char*>(leaf.data_ptr()) - static_cast<char*>(packed.storage().data_ptr())) % 64, 0);
    }
  packed.storage().zero_();
  EXPECT_FALSE(packed.any());
  EXPECT_TRUE(td.any());
  const TensorDict moved = packed.to(at::Device(at::kCPU));
  EXPECT_TRUE(moved.storage().defined());
  expect_equal(moved, packed);
  EXPECT_FALSE(TensorDict(packed.clone()).storage().defined());
  EXPECT_EQ(TensorDict(Shape{2}).consolidate().storage().numel(), 0);
}

TEST(TensorDict, MovesToItsDevice) {
  TensorDict td({{"n/a", at::zeros({2})}}, {2}, at::Device(at::kCPU));
  EXPECT_EQ(td.nested("n").device(), at::Device(at::kCPU));
  EXPECT_FALSE(sample().device().has_value());
  EXPECT_EQ(sample().cpu().device(), at::Device(at::kCPU));
  td.set("m", TensorDict({{"a", at::zeros({2})}}, {2}));
  EXPECT_EQ(td.nested("m").device(), at::Device(at::kCPU));
  if (cuda_device_count() == 0) {
    expect_error([&] { td.cuda(); }, {"tensordict"});
    expect_error([&] { td.pin_memory(); }, {"pin_memory"});
  }
}

TEST(TensorDict, Gradients) {
  TensorDict td({{"a", at::ones({2})}, {"n/b", at::ones({2})}});
  td.requires_grad_();
  (td["a"] * 3).sum().backward();
  EXPECT_EQ(td.grad().keys(true, true), Keys{"a"});
  EXPECT_EQ(td.grad()["a"].sum().item<float>(), 6);
  EXPECT_FALSE(td.detach()["a"].requires_grad());
  EXPECT_TRUE((td + td)["a"].requires_grad());
  td.zero_grad(false);
  EXPECT_EQ(td.grad()["a"].sum().item<float>(), 0);
  td.zero_grad();
  EXPECT_TRUE(td.grad().is_empty());
  expect_error([] { TensorDict({{"i", at::ones({2}, at::kLong)}}).requires_grad_(); }, {"requires_grad_", "'i'"});
}

TEST(TensorDict, AppliesFunctions) {
  TensorDict td = sample();
  Keys seen;
  td.named_apply([&](const std::string& key, const at::Tensor& x) { return seen.push_back(key), x; });
  EXPECT_EQ(seen, td.keys(true, true));
  expect_equal(td.apply([](const at::Tensor& x, const at::Tensor& y) { return x + y; }, td), td * 2);
  td.apply_([](const at::Tensor& x) { return x + 1; });
  EXPECT_EQ(td["a"].sum().item<float>(), 48);
  EXPECT_TRUE(td.all() && td.any());
  EXPECT_FALSE(td.zero_().any());
  td.set("n/e", TensorDict(Shape{2, 3}));
  EXPECT_EQ(td.apply([](const at::Tensor& x) { return x; }).keys(true), td.keys(true));
  EXPECT_EQ(td.empty(true).keys(true), (Keys{"n", "n/e"}));
  EXPECT_TRUE(td.empty().keys().empty());
  EXPECT_EQ(td.unflatten_keys(".").keys(true), td.keys(true));
}

TEST(ArenaView, SharesTheMemory) {
  const Arena arena({}, {{"observation", DType::f32, {4, 2, 3}},
                         {"action", DType::i64, {3, 2}},
                         {"next/terminated", DType::boolean, {3, 2, 1}},
                         {"weights", DType::bf16, {3, 2, 1}},
                         {"final_observation", DType::f32, {10, 3}}});
  const TensorDict td = view(arena, {3, 2}, {"final_observation"});
  EXPECT_EQ(td.keys(true, true), (Keys{"action", "next/observation", "next/terminated", "observation", "weights"}));
  EXPECT_EQ(td["weights"].scalar_type(), at::kBFloat16);
  for (int i = 0; i < 24; ++i) arena.data<float>("observation")[i] = static_cast<float>(i);
  EXPECT_EQ(td["observation"].sizes(), at::IntArrayRef({3, 2, 3}));
  EXPECT_EQ(td["observation"][0][0][0].item<float>(), 0);
  EXPECT_EQ(td["next/observation"][0][0][0].item<float>(), 6);
  EXPECT_EQ(td["next/observation"][2][1][2].item<float>(), 23);
  td["next/terminated"].fill_(true);
  EXPECT_EQ(arena.data<std::uint8_t>("next/terminated")[5], 1);
  EXPECT_EQ(td["action"].data_ptr(), arena.data<std::int64_t>("action"));
}

TEST(ArenaView, RefusesWhatDoesNotFit) {
  const Arena arena({}, {{"table", DType::f32, {10, 3}}, {"x", DType::f32, {3, 2}}});
  expect_error([&] { view(arena, {3, 2}); }, {"'table'", "[10, 3]", "[3, 2]", "[4, 2]"});
  expect_error([&] { view(arena, {3, 2}, {"tabel"}); }, {"tabel", "did you mean 'table'"});
  const Arena twice({}, {{"x", DType::f32, {4, 2}}, {"next/x", DType::f32, {3, 2}}});
  expect_error([&] { view(twice, {3, 2}); }, {"'x'", "next/x"});
  expect_error([] { dtype_of(at::kComplexFloat); }, {"ComplexFloat"});
}

TEST(Parameters, GoThereAndBack) {
  const NamedTensors named = {{"actor.0.weight", at::ones({2, 3}).requires_grad_()}, {"actor.0.bias", at::ones({2})}};
  const TensorDict td = from_parameters(named);
  EXPECT_EQ(td.keys(true, true), (Keys{"actor/0/bias", "actor/0/weight"}));
  EXPECT_TRUE(td["actor/0/weight"].is_same(named[0].second));
  to_parameters(td.detach() * 2, named);
  EXPECT_EQ(named[0].second.sum().item<float>(), 12);
  expect_error([&] { to_parameters(td.exclude({"actor/0/bias"}), named); }, {"actor.0.bias"});
  expect_error([&] { from_parameters({named[0], named[0]}); }, {"actor.0.weight", "twice"});
}

TEST(GpuTensorDict, MovesAndViewsOnTheCard) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const TensorDict td = sample(), packed = td.consolidate(), on_card = packed.cuda();
  EXPECT_TRUE(on_card.storage().is_cuda() && on_card["n/x"].is_alias_of(on_card.storage()));
  expect_equal(on_card.cpu(), packed);
  expect_equal((td.pin_memory().to(at::Device(at::kCUDA), true) + 1).cpu(), td + 1);
  TensorDict there(Shape{2, 3}, at::Device(at::kCUDA));
  there.set("a", td["a"]);
  EXPECT_TRUE(there["a"].is_cuda());
  EXPECT_EQ(td.consolidate(at::Device(at::kCUDA)).storage().device(), at::Device(at::kCUDA, 0));
  const Arena arena({Device::Kind::cuda, 0}, {{"observation", DType::f32, {4, 2, 3}}});
  TensorDict rollout = view(arena, {3, 2});
  rollout["observation"].fill_(2);
  EXPECT_EQ(rollout["next/observation"].sum().item<float>(), 24);
  TensorDict mixed({{"a", td["a"]}, {"b", there["a"]}}, {2, 3});
  expect_error([&] { mixed.consolidate(); }, {"consolidate", "cpu", "cuda:0"});
}

}  // namespace
}  // namespace hotloop

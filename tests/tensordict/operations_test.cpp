// Every operation against the result that Python's tensordict has for the same input (make_golden.py).
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <map>
#include <set>

#include "data/tensordict/persist.h"
#include "tests/tensordict/support.h"

namespace hotloop {
namespace {

using at::indexing::Ellipsis;
using at::indexing::None;
using at::indexing::Slice;
using at::indexing::TensorIndex;
using tests::expect_equal;
using tests::expect_error;
using tests::kGolden;
using Indices = std::vector<TensorIndex>;

template <class F>
TensorDict changed(const TensorDict& td, F f) {
  TensorDict copy = td.clone();
  f(copy);
  return copy;
}

at::Tensor mask() { return at::tensor({1, 0, 1, 0, 1, 1}).view({2, 3}).to(at::kBool); }

using Results = std::map<std::string, TensorDict>;

void add_indexing(Results& r, const TensorDict& td) {
  const at::Tensor rows = at::tensor({1, 0, 1}, at::kLong), pair = at::tensor({1, 0}, at::kLong);
  const TensorDict part({{"a", at::full({3}, 9.0)}, {"n/b", at::full({3, 4}, -1, at::kLong)}}, {3});
  r["index_int"] = td.index({1});
  r["index_slice"] = td.index({Slice(), Slice(1)});
  r["index_step"] = td.index({Ellipsis, Slice(None, None, 2)});
  r["index_none"] = td.index({None, 0});
  r["index_ellipsis"] = td.index({"...", -1});
  r["index_mask"] = td.index({mask()});
  r["index_row_mask"] = td.index({at::tensor({0, 1}).to(at::kBool)});
  r["index_tensor"] = td.index({rows});
  r["index_two_tensors"] = td.index({pair, at::tensor({2, 2}, at::kLong)});
  r["index_put"] = changed(td, [&](TensorDict c) { c.index_put_(Indices{0}, part); });
  r["index_put_scalar"] = changed(td, [](TensorDict c) { c.index_put_(Indices{Slice(), 1}, 5); });
  r["set_at"] = changed(td, [](TensorDict c) { c.set_at_("a", at::full({3}, 4.0), Indices{1}); });
}

void add_shapes(Results& r, const TensorDict& td, const TensorDict& other) {
  r["view"] = td.view({6});
  r["view_infer"] = td.view({3, -1});
  r["reshape"] = td.permute({1, 0}).reshape({-1});
  r["flatten"] = td.flatten();
  r["unflatten"] = td.unflatten(1, {3, 1});
  r["permute"] = td.permute({1, 0});
  r["transpose"] = td.transpose(-1, 0);
  r["unsqueeze"] = td.unsqueeze(-1);
  r["unsqueeze_first"] = td.unsqueeze(0);
  r["squeeze"] = td.unsqueeze(1).squeeze(1);
  r["squeeze_all"] = td.unsqueeze(0).unsqueeze(-1).squeeze();
  r["expand"] = td.expand({2, 2, 3});
  r["stack"] = stack({td, other}, 1);
  r["stack_last"] = stack({td, other}, -1);
  r["cat"] = cat({td, other, td}, 1);
  r["split_first"] = td.split(2, 1)[0];
  r["split_last"] = td.split(2, 1)[1];
  r["split_sizes"] = td.split({1, 2}, 1)[1];
  r["chunk"] = td.chunk(2, 1)[1];
  r["unbind"] = td.unbind(1)[2];
  r["gather"] = td.gather(1, at::tensor({2, 0, 1, 1}, at::kLong).view({2, 2}));
}

void add_keys_and_masks(Results& r, const TensorDict& td, const TensorDict& other) {
  const at::Tensor mask = at::tensor({1, 0, 1, 0, 1, 1}).view({2, 3}).to(at::kBool);
  const at::Tensor row_mask = at::tensor({0, 1}).to(at::kBool);
  r["select"] = td.select({"n/b"});
  r["exclude"] = td.exclude({"n/b", "missing"});
  r["split_keys"] = td.split_keys({{"a"}})[1];
  r["masked_select"] = td.masked_select(mask);
  r["masked_fill"] = td.masked_fill(row_mask, -2);
  r["where"] = td.where(mask, other);
  r["where_scalar"] = td.where(mask, at::Scalar(0));
  r["where_pad"] = td.where(mask, td.select({"a"}), at::Scalar(8));
  r["pad"] = pad(td, {1, 0, 0, 2}, -3);
  r["pad_first"] = pad(td, {0, 1}, -3);
  r["zeros_like"] = zeros_like(td);
  r["ones_like"] = ones_like(td);
  r["fill_nested"] = changed(td, [](TensorDict c) { c.fill_("n", 3); });
  r["zero"] = changed(td, [](TensorDict c) { c.zero_(); });
  r["flatten_keys"] = td.flatten_keys("_");
  r["rename_key"] = changed(td, [](TensorDict c) { c.rename_key_("a", {"n", "a"}); });
  const TensorDict news({{"n/new", at::ones({2, 3})}, {"a", at::zeros({2, 3, 1})}}, {2, 3});
  r["update"] = td.clone().update(news);
  r["replace"] = td.replace(TensorDict({{"a", at::zeros({2, 3})}}, {2, 3}));
  r["apply_sum"] = td.apply([](const at::Tensor& x) { return x.sum(1); }, Shape{2});
  r["apply_drop"] = td.apply([](const at::Tensor& x) { return x.scalar_type() == at::kLong ? at::Tensor() : x; });
  r["to_half"] = td.to(at::kHalf);
  r["all"] = td.all(0);
  r["any"] = td.any(1);
  r["isfinite"] = td.isfinite();
}

void add_arithmetic(Results& r, const TensorDict& td, const TensorDict& other) {
  const TensorDict real = td.apply([](const at::Tensor& x) { return x.to(at::kDouble) + 7; });
  const TensorDict more = real.apply([](const at::Tensor& x) { return x * 0.5 - 1; });
  r["isnan"] = real.sub(20).sqrt().isnan();
  r["add"] = td.add(other, 3);
  r["add_scalar"] = td + 2;
  r["sub"] = td.sub(other, 2);
  r["sub_scalar"] = td - 1;
  r["mul"] = td * other;
  r["mul_scalar"] = td * 3;
  r["div"] = real / more;
  r["div_scalar"] = real / 4;
  r["addcmul"] = real.addcmul(more, real, 0.5);
  r["addcdiv"] = real.addcdiv(more, real, 2);
  r["lerp"] = real.lerp(more, 0.25);
  r["clamp"] = td.clamp(1, 3);
  r["sqrt"] = real.sqrt();
  r["neg"] = td.neg();
  r["abs"] = td.abs();
  r["norm"] = real.norm();
}

TEST(TensorDictOperations, EqualPython) {
  const TensorDict golden = from_h5(kGolden / "operations.h5").unflatten_keys(".");
  TensorDict td = golden.nested("input/td");
  td.set_batch_size({2, 3});
  td.nested("n/m").set_batch_size({2, 3, 2});
  const TensorDict other = td.apply([](const at::Tensor& x) { return x * 2 + 1; });
  Results results;
  add_indexing(results, td);
  add_shapes(results, td, other);
  add_keys_and_masks(results, td, other);
  add_arithmetic(results, td, other);
  std::set<std::string> names, golden_names;
  for (const auto& [name, result] : results) names.insert(name);
  for (const std::string& name : golden.keys()) golden_names.insert(name);
  golden_names.erase("input");
  EXPECT_EQ(names, golden_names);
  for (const auto& [name, result] : results) {
    SCOPED_TRACE(name);
    const at::Tensor batch = golden[name + "/batch"];
    EXPECT_EQ(result.batch_size(),
              Shape(batch.data_ptr<std::int64_t>(), batch.data_ptr<std::int64_t>() + batch.numel()));
    // the file knows no batch sizes of the levels: compare as if there were none
    expect_equal(result.flatten_keys().set_batch_size({}),
                 golden.nested(name + "/td").flatten_keys().set_batch_size({}), 1e-12);
  }
}

TEST(TensorDictOperations, InPlaceEqualsOutOfPlace) {
  const TensorDict td({{"a", at::tensor({1.0, 4.0, 9.0})}, {"n/b", at::tensor({2.0, 0.5, 16.0})}}, {3});
  const TensorDict other({{"a", at::tensor({0.5, 2.0, -3.0})}, {"n/b", at::tensor({1.0, 5.0, 7.0})}}, {3});
  const auto check = [&](const TensorDict& expected, auto change) {
    TensorDict copy = td.clone();
    const at::Tensor leaf = copy["n/b"];
    change(copy);
    expect_equal(copy, expected);
    EXPECT_TRUE(leaf.is_same(copy["n/b"]));
  };
  check(td.add(other, 2), [&](TensorDict& c) { c.add_(other, 2); });
  check(td.add(1.5), [&](TensorDict& c) { c.add_(1.5); });
  check(td.sub(other, 2), [&](TensorDict& c) { c.sub_(other, 2); });
  check(td.sub(1.5), [&](TensorDict& c) { c.sub_(1.5); });
  check(td.mul(other), [&](TensorDict& c) { c.mul_(other); });
  check(td.mul(3), [&](TensorDict& c) { c.mul_(3); });
  check(td.div(other), [&](TensorDict& c) { c.div_(other); });
  check(td.div(3), [&](TensorDict& c) { c.div_(3); });
  check(td.addcmul(other, td, 0.5), [&](TensorDict& c) { c.addcmul_(other, td, 0.5); });
  check(td.addcdiv(other, td, 0.5), [&](TensorDict& c) { c.addcdiv_(other, td, 0.5); });
  check(td.lerp(other, 0.005), [&](TensorDict& c) { c.lerp_(other, 0.005); });
  check(td.clamp(1.0, 3.0), [&](TensorDict& c) { c.clamp_(1.0, 3.0); });
  check(td.clamp(std::nullopt, 3.0), [&](TensorDict& c) { c.clamp_(std::nullopt, 3.0); });
  check(td.sqrt(), [&](TensorDict& c) { c.sqrt_(); });
  check(td.neg(), [&](TensorDict& c) { c.neg_(); });
  check(td.neg().abs(), [&](TensorDict& c) { c.neg_().abs_(); });
  const at::Tensor mask = at::tensor({1, 0, 1}).to(at::kBool);
  check(td.masked_fill(mask, 7), [&](TensorDict& c) { c.masked_fill_(mask, 7); });
}

TEST(TensorDictOperations, ViewsShareMemoryAndCopiesDoNot) {
  const TensorDict td({{"a", at::zeros({2, 3, 2})}}, {2, 3});
  for (const TensorDict& view : {td.view({6}), td.permute({1, 0}), td.index({Slice(), 1}), td.unsqueeze(0),
                                 td.split(1)[0], td.expand({4, 2, 3}), td.clone(false), td.select({"a"})})
    EXPECT_TRUE(view["a"].is_alias_of(td["a"]));
  EXPECT_FALSE(td.clone()["a"].is_alias_of(td["a"]));
  EXPECT_FALSE(td.index({at::tensor({0}, at::kLong)})["a"].is_alias_of(td["a"]));
}

TEST(TensorDictOperations, WithoutLeavesOnlyTheBatchChanges) {
  const TensorDict td({}, {2, 3});
  EXPECT_EQ(td.index({at::tensor({1, 0}).to(at::kBool)}).batch_size(), (Shape{1, 3}));
  EXPECT_EQ(td.view({-1}).batch_size(), (Shape{6}));
  EXPECT_EQ(cat({td, td}).batch_size(), (Shape{4, 3}));
  EXPECT_EQ((td + td).batch_size(), (Shape{2, 3}));
}

TEST(TensorDictOperations, NameWhatIsWrong) {
  const TensorDict td({{"observation", at::zeros({2, 3, 4})}, {"next/reward", at::zeros({2, 3})}}, {2, 3});
  expect_error([&] { td.view({4}); }, {"view", "[4]", "6"});
  expect_error([&] { td.view({-1, 4}); }, {"view", "[-1, 4]"});
  expect_error([&] { td.permute({1, 0}).view({6}); }, {"view", "next/reward"});
  expect_error([&] { td.permute({0, 0}); }, {"permute", "[0, 0]"});
  expect_error([&] { td.index({0, 0, 0}); }, {"3 indices", "2 batch dimensions"});
  expect_error([&] { td.index({5}); }, {"index", "5"});
  expect_error([&] { td.index({at::zeros({3}, at::kBool)}); }, {"mask", "[3]", "[2, 3]"});
  expect_error([&] { td.index({at::tensor({7}, at::kLong)}); }, {"index", "7"});
  expect_error([&] { td.squeeze(2); }, {"squeeze", "2"});
  expect_error([&] { td.expand({2, 5}); }, {"expand", "[2, 5]"});
  expect_error([&] { td.split({1, 3}, 1); }, {"split", "[1, 3]"});
  expect_error([&] { td.split(0); }, {"split", "0"});
  expect_error([&] { td.unflatten(1, {2, 2}); }, {"unflatten", "[2, 2]"});
  expect_error([&] { td.gather(1, at::zeros({2}, at::kLong)); }, {"gather", "[2]"});
  expect_error([&] { stack({td, td.exclude({"observation"})}); }, {"stack", "observation"});
  expect_error([&] { cat({td, td.index({0})}); }, {"cat", "[2, 3]", "[3]"});
  expect_error(
      [&] {
        stack({td, td.apply([](const at::Tensor& x) { return x.unsqueeze(-1); })});
      },
      {"stack", "next/reward"});
  expect_error([&] { stack({}); }, {"stack"});
  expect_error([&] { td.add(td.clone().rename_key_("observation", "obs")); }, {"add", "obs"});
  expect_error([&] { td.select({"observaton"}); }, {"observaton", "did you mean 'observation'"});
  expect_error([&] { td.masked_select(at::zeros({3}, at::kBool)); }, {"masked_select", "[3]"});
  expect_error([&] { td.where(at::zeros({2}, at::kLong), td); }, {"where", "Long"});
  expect_error([&] { td.where(at::zeros({2}, at::kBool), td.select({"observation"})); }, {"where", "next"});
  expect_error([&] { pad(td, {1, 1, 1, 1, 1, 1}); }, {"pad"});
  expect_error([&] { td.to(at::kLong).norm(); }, {"norm"});
  expect_error([&] { td.flatten_keys("/"); }, {"flatten_keys"});
}

}  // namespace
}  // namespace hotloop

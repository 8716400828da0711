// Shared by the tests of TensorDict.
#pragma once
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "data/tensordict/tensordict.h"
#include "sim/core/error.h"

namespace hotloop::tests {

inline const std::filesystem::path kGolden = std::filesystem::path(HOTLOOP_SOURCE_DIR) / "tests/golden/tensordict";

// Keys, batch sizes, element types, shapes and values. tolerance 0: the same values; NaN equals NaN.
inline void expect_equal(const TensorDict& result, const TensorDict& expected, double tolerance = 0) {
  EXPECT_EQ(result.keys(true), expected.keys(true));
  EXPECT_EQ(result.batch_size(), expected.batch_size());
  for (const auto& [key, value] : expected.items(true)) {
    if (!result.contains(key)) continue;
    if (!value.is_tensor()) {
      EXPECT_EQ(result.nested(key).batch_size(), value.dict().batch_size()) << key;
      continue;
    }
    const at::Tensor& want = value.tensor();
    const at::Tensor have = result.get(key);
    ASSERT_EQ(have.scalar_type(), want.scalar_type()) << key;
    ASSERT_EQ(have.sizes(), want.sizes()) << key;
    EXPECT_TRUE(have.allclose(want, tolerance, tolerance, true)) << key << "\n" << have << "\n" << want;
  }
}

// f throws an Error of one line that holds every one of `parts`.
template <class F>
void expect_error(F f, const std::vector<std::string>& parts) {
  try {
    f();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
    return;
  } catch (const std::exception& e) {
    FAIL() << "not an Error: " << e.what();
  }
  std::string all;
  for (const std::string& part : parts) all += part + " ";
  FAIL() << "no Error: " << all;
}

}  // namespace hotloop::tests

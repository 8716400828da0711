#include "data/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace hotloop {
namespace {

// RFC 3720 appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, InstructionAndTablesAgreeAtEveryLengthAndCut) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 37 + i / 7);
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const std::uint32_t whole = crc32c(text.data(), n);
    EXPECT_EQ(crc32c_portable(text.data(), n), whole) << n;
    const std::size_t cut = n / 3;
    EXPECT_EQ(crc32c(text.data() + cut, n - cut, crc32c(text.data(), cut)), whole) << n;
  }
}

}  // namespace
}  // namespace hotloop

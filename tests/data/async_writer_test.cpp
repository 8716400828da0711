#include "data/dataset/async_writer.h"

#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

constexpr std::int64_t kEpisodes = 30000;

Episode episode(std::int64_t id) {
  Episode e;
  e.id = id;
  e.length = 1 + id % 7;
  if (id % 5000 == 17) e.length = 1'000'000;  // larger than all that is kept
  e.rewards.assign(static_cast<std::size_t>(e.length), static_cast<float>(id));
  return e;
}

// Checks what comes; from episode `broken` on the disk is full.
class Checker : public DatasetWriter {
 public:
  Checker(std::int64_t broken, std::int64_t& finished) : broken_(broken), finished_(finished) {}
  void append(const Episode& e) override {
    if (next_ >= broken_) throw Error("the disk is full");
    EXPECT_EQ(e.id, next_);
    const Episode wanted = episode(next_++);
    EXPECT_EQ(e.length, wanted.length);
    EXPECT_EQ(e.rewards, wanted.rewards);
  }
  void finish() override { finished_ = next_; }

 private:
  std::int64_t broken_, next_ = 0;
  std::int64_t& finished_;
};

void append_all(AsyncWriter& writer) {
  for (std::int64_t id = 0; id < kEpisodes; ++id) {
    Episode e = episode(id);
    writer.append(e);
  }
}

TEST(AsyncWriter, EveryEpisodeComesOnceAndInOrder) {
  const TempFolder folder;
  std::int64_t finished = -1;
  AsyncWriter writer(std::make_unique<Checker>(kEpisodes, finished), folder.path());
  append_all(writer);
  writer.finish();
  EXPECT_EQ(finished, kEpisodes);
}

TEST(AsyncWriter, AFailureReachesTheCaller) {
  const TempFolder folder;
  for (const std::int64_t broken : {std::int64_t{0}, kEpisodes / 2, kEpisodes - 1}) {
    std::int64_t finished = -1;
    AsyncWriter writer(std::make_unique<Checker>(broken, finished), folder.path());
    EXPECT_THROW(
        {
          append_all(writer);
          writer.finish();
        },
        Error);
    EXPECT_EQ(finished, -1);
  }
}

TEST(AsyncWriter, OneThatIsNotFinishedFinishesNothing) {
  const TempFolder folder;
  std::int64_t finished = -1;
  {
    AsyncWriter writer(std::make_unique<Checker>(kEpisodes, finished), folder.path());
    append_all(writer);
  }
  EXPECT_EQ(finished, -1);
}

}  // namespace
}  // namespace hotloop

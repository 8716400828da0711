#include "train/first_ends.h"

#include <gtest/gtest.h>

#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"

namespace hotloop {
namespace {

// Worlds whose books are written by the test.
class WrittenBatch final : public Batch {
 public:
  explicit WrittenBatch(std::int64_t num_envs) : Batch(find_environment("CartPole-v1").spec, config(num_envs), 4) {
    std::fill_n(book_.first_length, num_envs, 0);
  }
  void reset(const Exec&, float*, std::uint8_t*) override {}
  void step(const Exec&, const StepIo&) override {}
  std::int32_t& first(std::size_t world) { return book_.first_length[world]; }

 private:
  static BatchConfig config(std::int64_t num_envs) {
    BatchConfig c;
    c.num_envs = num_envs;
    return c;
  }
};

TEST(FirstEnds, TellHowEachWorldsFirstEpisodeEnded) {
  const StreamHandle stream(Device{});
  ThreadPool pool(1);
  const Exec exec{Device{}, stream.get(), &pool};
  WrittenBatch batch(6);
  FirstEnds ends(Device{}, 6);
  ends.clear(exec);
  using Flags = std::vector<std::uint8_t>;
  const auto step = [&](Flags terminated, Flags truncated) {
    StepIo io;
    io.terminated = terminated.data();
    io.truncated = truncated.data();
    ends.record(exec, batch, io);
    synchronize(exec);
  };
  step({0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0});
  // world 3 turns non-finite: it has ended, and no episode is booked
  batch.first(0) = batch.first(1) = batch.first(2) = 2;
  step({1, 0, 1, 1, 0, 0}, {0, 1, 1, 0, 0, 0});
  // its next episode is booked; worlds 0 and 1 end a second one; world 4 a first
  batch.first(3) = 1;
  batch.first(4) = 3;
  step({0, 1, 0, 1, 0, 0}, {1, 0, 0, 0, 1, 0});
  const std::vector<EpisodeEnd> found(ends.data(), ends.data() + 6);
  EXPECT_EQ(found, (std::vector<EpisodeEnd>{EpisodeEnd::terminated, EpisodeEnd::truncated, EpisodeEnd::terminated,
                                            EpisodeEnd::non_finite, EpisodeEnd::truncated, EpisodeEnd::playing}));
}

}  // namespace
}  // namespace hotloop

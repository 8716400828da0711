// Worlds that the viewer steps itself: what goes back and on again has the same bits; hands, pushes and poses act on
// one world; what reports say is what the worlds hold.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/core/error.h"
#include "tests/error_text.h"
#include "viz/source/host_copy.h"
#include "viz/source/model_source.h"
#include "viz/source/open_parts.h"
#include "viz/source/task_source.h"

namespace hotloop {
namespace {

constexpr std::int64_t kWorlds = 10;

std::string asset(const std::string& name) { return std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/" + name; }

std::unique_ptr<WorldSource> open(const std::string& what, const std::string& device = "cpu",
                                  const std::string& actions = "random", std::int64_t worlds = kWorlds) {
  SourceOptions options;
  options.what = what;
  options.worlds = worlds;
  options.seed = 7;
  options.device = device;
  options.actions = actions;
  if (source_kind(what) == SourceKind::task) return open_task_source(options);
  return open_model_source(options);
}

// Everything that panels and the scene can see.
struct Seen {
  std::vector<float> frames, observations, actions, returns, numbers, contacts;
  bool operator==(const Seen&) const = default;
};
Seen look(WorldSource& source) {
  Seen seen;
  const std::int64_t n = source.info().num_worlds, frames = source.visual().num_frames();
  const Buffer<Frame> out(source.info().device, static_cast<std::size_t>(n * frames));
  source.write_frames(0, n, out.data());
  for (const Frame& f : to_host(source.exec(), out.data(), n * frames)) {
    seen.frames.insert(seen.frames.end(), f.pos, f.pos + 3);
    seen.frames.insert(seen.frames.end(), f.quat, f.quat + 4);
  }
  source.read_observations(seen.observations);
  source.read_actions(seen.actions);
  source.read_returns(seen.returns);
  for (std::int64_t w = 0; w < n; ++w) {
    const WorldReport r = source.report(w);
    for (const double x : {r.reward, r.episode_return, static_cast<double>(r.episode_length), r.energy,
                           static_cast<double>(r.terminated), static_cast<double>(r.episodes)})
      seen.numbers.push_back(static_cast<float>(x));
    for (const std::vector<float>* row : {&r.observation, &r.action, &r.reward_terms, &r.qpos, &r.qvel})
      seen.numbers.insert(seen.numbers.end(), row->begin(), row->end());
    for (const ShownContact& c : source.contacts(w)) {
      seen.contacts.insert(seen.contacts.end(), c.pos.begin(), c.pos.end());
      seen.contacts.insert(seen.contacts.end(), c.force.begin(), c.force.end());
    }
  }
  return seen;
}

void step(WorldSource& source, int steps) {
  for (int i = 0; i < steps; ++i) source.step();
}

// Back to each of some positions, and from there on again: as it was the first time.
void check_history(const std::string& what, const std::string& device) {
  SCOPED_TRACE(what + " on " + device);
  const auto source = open(what, device);
  EXPECT_EQ(source->position(), 0);
  std::vector<Seen> seen = {look(*source)};
  for (int i = 0; i < 40; ++i) {
    step(*source, 1);
    seen.push_back(look(*source));
  }
  EXPECT_FALSE(seen[39] == seen[40]);
  EXPECT_EQ(source->last_position(), 40);
  EXPECT_EQ(source->first_position(), 0);
  for (const std::int64_t back : {39, 12, 25, 0}) {
    source->seek(back);
    EXPECT_EQ(source->position(), back);
    EXPECT_EQ(source->last_position(), 40);  // going back forgets nothing
    EXPECT_TRUE(look(*source) == seen[static_cast<std::size_t>(back)]) << "position " << back;
  }
  source->seek(12);
  step(*source, 1);
  EXPECT_EQ(source->last_position(), 13);  // stepping does
  step(*source, 27);
  EXPECT_TRUE(look(*source) == seen[40]);
  source->seek(1000);
  EXPECT_EQ(source->position(), 40);
}

TEST(LiveSource, GoesBackAndOnToTheSameBits) {
  for (const char* task : {"CartPole-v1", "SpringChain-v0", "Ant-v5", "Humanoid-v5"}) check_history(task, "cpu");
  check_history(asset("ant.xml"), "cpu");
}
TEST(LiveSource, GpuGoesBackAndOnToTheSameBits) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const char* task : {"CartPole-v1", "SpringChain-v0", "Ant-v5"}) check_history(task, "cuda");
  check_history(asset("ant.xml"), "cuda");
}

TEST(History, KeepsTheLatestThatFit) {
  std::int64_t value = 0;
  History history({}, {{&value, sizeof value}}, 5 * sizeof value);
  EXPECT_TRUE(history.empty());
  for (value = 0; value < 12; ++value) history.keep(value);
  EXPECT_EQ(history.first(), 7);
  EXPECT_EQ(history.last(), 11);
  for (const std::int64_t position : {8, 7, 11}) {
    history.restore(position);
    EXPECT_EQ(value, position);
  }
  value = -9;
  history.keep(9);  // another past from here on
  EXPECT_EQ(history.last(), 9);
  history.restore(8);
  EXPECT_EQ(value, 8);
  history.restore(9);
  EXPECT_EQ(value, -9);
}

TEST(LiveSource, StartsAnewAsItBegan) {
  const auto source = open("Ant-v5");
  const Seen start = look(*source);
  step(*source, 5);
  source->reset();
  EXPECT_EQ(source->position(), 0);
  EXPECT_TRUE(look(*source) == start);
  source->restart(8);
  EXPECT_EQ(source->info().seed, 8);
  EXPECT_FALSE(look(*source) == start);
  source->restart(7);
  EXPECT_TRUE(look(*source) == start);
}

TEST(LiveSource, HandsMoveOneWorld) {
  for (const std::string& what : {std::string("CartPole-v1"), std::string("Ant-v5"), asset("ant.xml")}) {
    SCOPED_TRACE(what);
    const auto free = open(what), held = open(what);
    const std::size_t n = held->info().controls.size();
    held->take_over(3, std::vector<float>(n, 1.0f));
    for (const auto& source : {free.get(), held.get()}) step(*source, 4);
    EXPECT_EQ(held->report(3).action, std::vector<float>(n, 1.0f));
    EXPECT_EQ(held->report(2).action, free->report(2).action);
    const auto frames = [](WorldSource& s, std::int64_t w) {
      const Buffer<Frame> out(Device{}, static_cast<std::size_t>(s.visual().num_frames()));
      s.write_frames(w, 1, out.data());
      return out.data()[1].pos[0];
    };
    EXPECT_NE(frames(*held, 3), frames(*free, 3));
    EXPECT_EQ(frames(*held, 2), frames(*free, 2));
    held->release();
    for (const auto& source : {free.get(), held.get()}) step(*source, 1);
    EXPECT_EQ(held->report(3).action, free->report(3).action);
    EXPECT_NE(error_text([&] { held->take_over(3, std::vector<float>(n + 1)); }), "");
    EXPECT_NE(error_text([&] { held->take_over(kWorlds, std::vector<float>(n)); }), "");
  }
}

// A push upward of more than its weight lifts one world's robot; what ends it lets it fall.
TEST(LiveSource, PushesLiftOneWorld) {
  for (const std::string& what : {std::string("Ant-v5"), asset("ant.xml")}) {
    SCOPED_TRACE(what);
    const auto source = open(what, "cpu", "zero");
    ASSERT_TRUE(source->info().can_perturb);
    float weight = 0;
    for (const VisualFrame& f : source->visual().frames) weight += 9.81f * f.mass;
    const auto height = [&](std::int64_t w) { return source->report(w).qpos[2]; };
    const auto speed = [&](std::int64_t w) { return source->report(w).qvel[2]; };
    const bool task = source->info().kind == SourceKind::task;
    step(*source, task ? 4 : 20);
    source->perturb(5, 1, {0, 0, 3 * weight}, {0, 0, 0});
    step(*source, task ? 3 : 15);
    EXPECT_GT(speed(5), speed(4) + 1);
    EXPECT_GT(height(5), height(4) + 0.05f);
    source->perturb(5, 1, {0, 0, 0}, {0, 0, 0});
    const float fast = speed(5);
    step(*source, task ? 1 : 5);
    EXPECT_NEAR(speed(5), fast - 9.81f * 0.05f, 0.1f);
  }
  EXPECT_FALSE(open("CartPole-v1")->info().can_perturb);
}

TEST(LiveSource, PosesAreSetByHandAndBelongToTheHistory) {
  const auto source = open(asset("half_cheetah.xml"), "cpu", "zero");
  step(*source, 3);
  std::vector<float> pose = source->report(1).qpos, other = source->report(2).qpos;
  pose[1] = 0.4f;
  pose[3] = -0.3f;
  source->set_qpos(1, pose);
  EXPECT_EQ(source->report(1).qpos, pose);
  EXPECT_EQ(source->report(2).qpos, other);
  EXPECT_EQ(source->position(), 3);
  step(*source, 5);
  const Seen later = look(*source);
  source->seek(3);
  EXPECT_EQ(source->report(1).qpos, pose);
  step(*source, 5);
  EXPECT_TRUE(look(*source) == later);
  EXPECT_NE(error_text([&] { source->set_qpos(1, std::vector<float>(2)); }), "");
}

TEST(LiveSource, EpisodesThatEndAreTold) {
  const auto source = open("CartPole-v1");
  std::vector<WorldSource::EpisodeEnd> ends;
  std::vector<float> running;
  for (int i = 0; i < 100; ++i) {
    std::vector<float> before;
    source->read_returns(before);
    const std::size_t known = ends.size();
    source->step();
    source->take_episode_ends(ends);
    for (std::size_t k = known; k < ends.size(); ++k) {
      const auto& end = ends[k];
      EXPECT_EQ(end.episode_return, before[static_cast<std::size_t>(end.world)] + 1);
      EXPECT_EQ(end.length, static_cast<std::int64_t>(end.episode_return));
      EXPECT_TRUE(end.terminated);
      EXPECT_TRUE(source->report(end.world).terminated);
      EXPECT_EQ(source->report(end.world).episode_length, 0);
    }
  }
  EXPECT_GT(ends.size(), kWorlds * 2u);
  std::int64_t episodes = 0;
  for (std::int64_t w = 0; w < kWorlds; ++w) episodes += source->report(w).episodes;
  EXPECT_EQ(episodes, static_cast<std::int64_t>(ends.size()));
}

TEST(LiveSource, TermsAddUpToTheReward) {
  const auto source = open("Ant-v5");
  ASSERT_EQ(source->info().reward_terms.size(), 4u);
  for (int i = 0; i < 10; ++i) {
    source->step();
    for (std::int64_t w = 0; w < kWorlds; ++w) {
      const WorldReport r = source->report(w);
      float sum = 0;
      for (const float term : r.reward_terms) sum += term;
      if (r.episode_length > 0) {
        EXPECT_NEAR(sum, r.reward, 1e-4) << "world " << w;
      }
    }
  }
}

TEST(LiveSource, PhysicsOptionsActWhileWorldsRun) {
  const auto source = std::make_unique<ModelSource>(
      load_model_string("<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='1 1 1'/>"
                        "<body pos='0 0 .75'><freejoint/><geom size='.1'/></body></worldbody></mujoco>",
                        "ball.xml"),
      ModelSource::Config{.worlds = 3});
  const auto speed = [&] { return source->report(2).qvel[2]; };
  step(*source, 5);
  EXPECT_NEAR(speed(), -9.81f * 0.05f, 1e-3);
  source->set_physics_option("gravity z", -1.62);  // from the next step on
  step(*source, 5);
  EXPECT_NEAR(speed(), -(9.81f + 1.62f) * 0.05f, 1e-3);
  source->reset();
  step(*source, 5);
  EXPECT_NEAR(speed(), -9.81f * 0.05f, 1e-3) << "a reset undoes it";
  source->set_physics_option("timestep", 0.002);
  EXPECT_EQ(source->info().control_period, static_cast<double>(0.002f));
  step(*source, 5);
  EXPECT_NEAR(speed(), -9.81f * 0.06f, 1e-3);
  source->reset();
  EXPECT_EQ(source->info().control_period, static_cast<double>(0.01f));
  for (const auto& option : source->physics_options())
    if (option.name == "gravity z") {
      EXPECT_EQ(option.value, static_cast<double>(-9.81f));
    }
  source->set_physics_option("contact", 0);
  step(*source, 200);
  EXPECT_LT(source->report(0).qpos[2], -0.5);  // through the floor
  bool listed = false;
  for (const auto& option : source->physics_options())
    if (option.name == "contact") listed = option.is_flag && option.value == 0;
  EXPECT_TRUE(listed);
  const std::string refused = error_text([&] { source->set_physics_option("gravity w", 1); });
  EXPECT_EQ(refused.find("'gravity w': no physics option of this model (did you mean 'gravity x'?)"), 0u) << refused;
  EXPECT_NE(error_text([&] { source->set_physics_option("timestep", -1); }), "");
  EXPECT_NE(error_text([&] { source->set_physics_option("timestep", NAN); }), "");
}

// Free fall keeps the energy, to the integrator's error.
TEST(LiveSource, EnergyIsMechanical) {
  const auto source = open(asset("humanoid.xml"), "cpu", "zero", 1);
  double mass = 0;
  for (const VisualFrame& f : source->visual().frames) mass += f.mass;
  const double before = source->report(0).energy;
  std::vector<float> qpos = source->report(0).qpos;
  qpos[2] += 1;
  source->set_qpos(0, qpos);
  EXPECT_NEAR(source->report(0).energy - before, mass * 9.81, 1e-3 * mass);
}

TEST(LiveSource, EnvironmentsWithoutAPictureAreEmptyWorlds) {
  EnvEntry env = find_environment("CartPole-v1");
  env.visual = nullptr;
  TaskSource source(env, {.num_envs = 3, .device = Device{}}, TaskSource::Actions::random);
  source.step();
  EXPECT_EQ(source.visual().num_frames(), 1);
  EXPECT_TRUE(source.visual().shapes.empty());
  std::vector<Frame> frames(4, Frame{{5, 5, 5}, 0, {0, 1, 0, 0}});
  source.write_frames(0, 3, frames.data());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(frames[i].pos[0] == 0 && frames[i].quat[0] == 1);
  EXPECT_EQ(frames[3].pos[0], 5);
}

TEST(SourceKind, TellsWhatWasGiven) {
  EXPECT_EQ(source_kind("Ant-v5"), SourceKind::task);
  EXPECT_EQ(source_kind(asset("ant.xml")), SourceKind::model);
  EXPECT_EQ(source_kind(HOTLOOP_SOURCE_DIR), SourceKind::policy);
  const auto text = [](const std::string& what) { return error_text([&] { source_kind(what); }); };
  EXPECT_NE(text("Ant-v4").find("did you mean 'Ant-v5'"), std::string::npos) << text("Ant-v4");
  EXPECT_EQ(text("nowhere/log.h5"), "nowhere/log.h5: no such file or folder");
  EXPECT_EQ(text("model.xml"), "model.xml: no such file or folder");
  const std::string code = std::string(HOTLOOP_SOURCE_DIR) + "/README.md";
  EXPECT_EQ(text(code).find(code + ": is no MJCF or URDF file"), 0u) << text(code);
  EXPECT_NE(text(""), "");
  EXPECT_NE(text("/dev/null"), "");
}

TEST(SourceKind, OptionsOfTasks) {
  const EnvOptions options = parse_env_options({"frame-skip=2", "env.reset_noise_scale=0", "randomize.body_mass=1,2"});
  ASSERT_EQ(options.size(), 3u);
  EXPECT_EQ(options[0], (EnvOption{"frame_skip", "2"}));
  EXPECT_EQ(options[1], (EnvOption{"reset_noise_scale", "0"}));
  EXPECT_EQ(options[2].label, "--randomize.body_mass");
  EXPECT_NE(error_text([] { parse_env_options({"frame_skip"}); }), "");
  SourceOptions source;
  source.what = "Ant-v5";
  source.device = "cpu";
  source.env_options = {"frame_skip=2"};
  EXPECT_EQ(open_task_source(source)->info().control_period, 0.02);
  source.env_options = {"frame_skp=2"};
  EXPECT_NE(error_text([&] { open_task_source(source); }).find("did you mean"), std::string::npos);
}

}  // namespace
}  // namespace hotloop

// What the viewer looks at: worlds of a task, of a bare model, of a policy at work, of a training, or of a log. The
// window's code knows only this; each kind is one file beside this one.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/core/device.h"
#include "sim/core/visual.h"
#include "train/telemetry.h"

namespace hotloop {

enum class SourceKind : std::uint8_t { task, model, policy, training, log };

// One component of an action, or one actuator of a model.
struct ControlInfo {
  std::string name;
  float low = -1, high = 1;
  int choices = 0;  // of a discrete component; 0: a number in [low, high]
};

struct SourceInfo {
  SourceKind kind = SourceKind::task;
  std::string name;  // of the task or model, for titles
  std::string path;  // of what was opened; empty for a task
  Device device;     // where the worlds are
  std::int64_t num_worlds = 1;
  double control_period = 0.02;  // [s] of one step
  std::vector<ControlInfo> controls;
  std::int64_t observation_dim = 0;  // 0: has none (a bare model)
  std::vector<std::string> reward_terms;
  std::int64_t seed = 0;
  bool can_step = true;                        // the viewer moves the time (not that of a training)
  bool can_control = true;                     // hand control of actions
  bool can_perturb = false, can_pose = false;  // forces on bodies; joints set by hand
};

// One world as panels show it; vectors that a source does not have are empty.
struct WorldReport {
  double reward = 0, episode_return = 0;
  std::int64_t episode_length = 0, episodes = 0;  // since the source was opened
  bool terminated = false, truncated = false;     // at the latest step
  std::vector<float> observation, action, reward_terms;
  std::vector<float> qpos, qvel;
  double energy = 0;
};

struct ShownContact {
  Float3 pos{}, normal{};  // world frame; normal out of geom 1
  float depth = 0;         // [m] of penetration
  Float3 force{};          // [N] world frame, on the second geom
  int shape1 = -1, shape2 = -1;
};

class WorldSource {
 public:
  virtual ~WorldSource() = default;

  virtual const SourceInfo& info() const = 0;
  virtual const VisualModel& visual() const = 0;
  // Where write_frames and step are queued.
  virtual const Exec& exec() const = 0;
  // Frames of worlds [first, first + count) as of the latest step: out [count][frames], on info().device.
  virtual void write_frames(std::int64_t first, std::int64_t count, Frame* out) = 0;

  // ---- time: of sources that can_step
  // One control step of all worlds.
  virtual void step() {}
  virtual void reset() {}
  // From the start with another seed (info().seed then).
  virtual void restart(std::int64_t /*seed*/) { reset(); }
  // Of those that cannot: so many seconds of their worlds went by.
  virtual void pass(double /*seconds*/) {}
  double time() const { return static_cast<double>(position()) * info().control_period; }
  // Steps since the start; of a log the row.
  virtual std::int64_t position() const { return 0; }
  // Positions that seek() reaches, first and last: what history keeps, or a log holds.
  virtual std::int64_t first_position() const { return position(); }
  virtual std::int64_t last_position() const { return position(); }
  virtual void seek(std::int64_t) {}

  // ---- one world
  virtual WorldReport report(std::int64_t) { return {}; }
  virtual std::vector<ShownContact> contacts(std::int64_t) { return {}; }
  // The world does what `action` says (as many numbers as controls; a choice is its index) until release().
  virtual void take_over(std::int64_t, std::span<const float> /*action*/) {}
  virtual void release() {}
  virtual void set_qpos(std::int64_t, std::span<const float> /*qpos*/) {}
  // Force [N] and torque [N m] on a body in the world's frame, at its centre of mass, until the next call; zeros end
  // it.
  virtual void perturb(std::int64_t, int /*frame*/, const Float3& /*force*/, const Float3& /*torque*/) {}

  // The names of the model's keyframes; set_keyframe puts one world into one.
  virtual std::vector<std::string> keyframes() { return {}; }
  virtual void set_keyframe(std::int64_t, int /*index*/) {}

  // ---- physics options of all worlds that may change while they run; none: the source has none
  struct PhysicsOption {
    std::string name = {}, help = {};  // MJCF's name
    double value = 0, low = 0, high = 1;
    std::vector<std::string> choices = {};  // not empty: value is an index of it
    bool is_flag = false;                   // value is 0 or 1
  };
  virtual std::vector<PhysicsOption> physics_options() { return {}; }
  virtual void set_physics_option(const std::string& /*name*/, double /*value*/) {}

  // ---- episodes of all worlds under way and ended
  // Sum of the rewards of each world's running episode, [num_worlds].
  virtual void read_returns(std::vector<float>& out) {
    out.resize(static_cast<std::size_t>(info().num_worlds));
    for (std::size_t w = 0; w < out.size(); ++w)
      out[w] = static_cast<float>(report(static_cast<std::int64_t>(w)).episode_return);
  }
  struct EpisodeEnd {
    std::int64_t world = 0;
    double episode_return = 0;
    std::int64_t length = 0;
    bool terminated = false;
  };
  // Appends the episodes that ended since the last call.
  virtual void take_episode_ends(std::vector<EpisodeEnd>& /*out*/) {}

  // ---- all worlds: numbers of the latest step on the host, [num_worlds][dim]
  virtual void read_observations(std::vector<float>& out) { out.clear(); }
  virtual void read_actions(std::vector<float>& out) { out.clear(); }

  // ---- any tensor by key: rollout buffers of a training, leaves of a log
  struct TensorInfo {
    std::string key;
    std::vector<std::int64_t> shape;
  };
  virtual std::vector<TensorInfo> tensors() { return {}; }
  // As numbers, at most `limit` of the first dimensions' slices; row-major.
  virtual std::vector<float> read_tensor(const std::string& /*key*/, std::int64_t /*limit*/) { return {}; }

  // Curves and counters: of a training under way, or of the folder of a run; null: has none.
  virtual const Telemetry* telemetry() { return nullptr; }

  // ---- a log: rows at which an episode of `world` ends, in order; and all episodes, for best and worst
  struct EpisodeMark {
    std::int64_t world, first_row, last_row;
    double episode_return;
    bool terminated;
  };
  virtual const std::vector<EpisodeMark>& episodes() {
    static const std::vector<EpisodeMark> none;
    return none;
  }
  // The position of an episode's first or last row. A source may move what it shows beside the episode's own world.
  virtual std::int64_t jump(const EpisodeMark& mark, bool to_end) { return to_end ? mark.last_row : mark.first_row; }

  // ---- two logs side by side
  // The world of the other log that stands beside this one; -1: there is none.
  virtual std::int64_t partner(std::int64_t /*world*/) const { return -1; }
  // Where a number alone would not do; empty else.
  virtual std::string world_name(std::int64_t /*world*/) const { return {}; }
};

// What `hotloop view` was given: a task's name, or a path (MJCF or URDF, a run's folder or checkpoint, a log). Error,
// one line, for what is none of these. worlds 0: as many as suit the kind.
struct SourceOptions {
  std::string what;
  std::string beside = {};  // of a log: another one of the same task, shown beside it
  std::int64_t worlds = 0;
  std::int64_t seed = 1;
  std::string device = "auto";
  std::string actions = "policy";  // of a task without one: "random" or "zero"
  bool stochastic = false;         // a policy's actions are sampled
  std::string task = {};           // of a policy of another program
  std::vector<std::string> env_options = {};
  std::function<void(const std::string&)> warn = {};  // a line that the user should see
};
std::unique_ptr<WorldSource> open_source(const SourceOptions& options);

}  // namespace hotloop

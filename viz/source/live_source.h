// What sources have in common whose worlds the viewer itself steps: time with its history, actions by hand, pushes.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "sim/core/contact_record.h"
#include "sim/core/thread_pool.h"
#include "viz/source/history.h"
#include "viz/source/world_source.h"

namespace hotloop {

class LiveSource : public WorldSource {
 public:
  const SourceInfo& info() const override { return info_; }
  const VisualModel& visual() const override { return visual_; }
  const Exec& exec() const override { return exec_; }

  std::int64_t position() const override { return position_; }
  std::int64_t first_position() const override { return history_->empty() ? position_ : history_->first(); }
  std::int64_t last_position() const override { return history_->empty() ? position_ : history_->last(); }
  // To the nearest position that is kept.
  void seek(std::int64_t position) override;

  std::vector<ShownContact> contacts(std::int64_t world) override;
  void take_over(std::int64_t world, std::span<const float> action) override;
  void release() override { hands_.clear(); }
  void perturb(std::int64_t world, int frame, const Float3& force, const Float3& torque) override;

 protected:
  explicit LiveSource(Device device);

  // Begins a history of these parts, with the worlds as they are at position 0. The first part holds the actions of the
  // latest step.
  void begin_history(std::vector<History::Part> parts);
  // After a step: the next position. After a change by hand: the same one anew.
  void advance() {
    contacts_stale_ = false;
    history_->keep(++position_);
  }
  void changed() { history_->keep(position_); }

  // Of the latest step.
  virtual std::vector<ContactRecord> read_contacts(std::int64_t world) const = 0;
  // One step of the worlds with the actions that are there, and nothing else.
  virtual void repeat_step() = 0;
  // [num_worlds][frames][6], as MuJoCo's xfrc_applied; null: worlds take no forces.
  virtual float* forces() const { return nullptr; }
  void end_push();
  // Error naming a world that is not there.
  void check_world(std::int64_t world) const;

  SourceInfo info_;
  VisualModel visual_;
  ThreadPool pool_;
  StreamHandle stream_;
  Exec exec_;
  std::map<std::int64_t, std::vector<float>> hands_;  // actions by hand

 private:
  std::int64_t position_ = 0;
  std::unique_ptr<History> history_;
  bool contacts_stale_ = true;  // those on the device are not of the step that led to position_
  float* pushed_ = nullptr;     // six numbers of forces() that are not zero
};

}  // namespace hotloop

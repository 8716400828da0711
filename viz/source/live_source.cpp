#include "viz/source/live_source.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "viz/source/host_copy.h"

namespace hotloop {

LiveSource::LiveSource(Device device) : stream_(device), exec_{device, stream_.get(), &pool_} { info_.device = device; }

void LiveSource::begin_history(std::vector<History::Part> parts) {
  history_ = std::make_unique<History>(exec_, std::move(parts));
  position_ = 0;
  contacts_stale_ = true;
  history_->keep(0);
}

void LiveSource::seek(std::int64_t position) {
  position_ = std::clamp(position, first_position(), last_position());
  contacts_stale_ = true;
  history_->restore(position_);
}

void LiveSource::check_world(std::int64_t world) const {
  if (world < 0 || world >= info_.num_worlds)
    throw Error("world " + std::to_string(world) + ": there are " + std::to_string(info_.num_worlds));
}

void LiveSource::take_over(std::int64_t world, std::span<const float> action) {
  check_world(world);
  if (action.size() != info_.controls.size())
    throw Error("an action of " + std::to_string(action.size()) + " numbers: " + info_.name + " takes " +
                std::to_string(info_.controls.size()));
  hands_[world].assign(action.begin(), action.end());
}

void LiveSource::perturb(std::int64_t world, int frame, const Float3& force, const Float3& torque) {
  if (forces() == nullptr) return;
  check_world(world);
  end_push();
  const std::vector<float> six = {force[0], force[1], force[2], torque[0], torque[1], torque[2]};
  if (frame <= 0 || frame >= visual_.num_frames() || std::count(six.begin(), six.end(), 0.0f) == 6) return;
  pushed_ = forces() + 6 * (world * visual_.num_frames() + frame);
  to_device(exec_, pushed_, six);
}

void LiveSource::end_push() {
  if (pushed_ != nullptr) to_device(exec_, pushed_, std::vector<float>(6));
  pushed_ = nullptr;
}

std::vector<ShownContact> LiveSource::contacts(std::int64_t world) {
  check_world(world);
  if (contacts_stale_) {  // after going back: the step that led here once more
    if (position_ == first_position()) return {};
    history_->restore(position_ - 1);
    history_->restore_part(position_, 0);
    repeat_step();
    history_->restore(position_);
    contacts_stale_ = false;
  }
  std::vector<ShownContact> points;
  for (const ContactRecord& r : read_contacts(world))
    points.push_back({.pos = {r.pos[0], r.pos[1], r.pos[2]},
                      .normal = {r.normal[0], r.normal[1], r.normal[2]},
                      .depth = std::max(0.0f, -r.dist),
                      .force = {r.force[0], r.force[1], r.force[2]},
                      .shape1 = r.geom1,  // geoms are a model's first shapes
                      .shape2 = r.geom2});
  return points;
}

}  // namespace hotloop

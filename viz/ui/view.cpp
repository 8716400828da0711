#include "viz/ui/view.h"

#include <algorithm>

namespace hotloop {

View::View(WorldSource& worlds)
    : source(worlds), camera(worlds.visual()), count(worlds.info().num_worlds), max_shown(count) {
  panel.seed = worlds.info().seed;
}

WorldGrid View::grid() const {
  WorldGrid shown{.first = first, .count = count, .spacing = spacing, .selected = selected};
  if (alone) {
    const std::int64_t other = source.partner(selected);
    shown.first = other < 0 ? selected : std::min(selected, other);
    shown.count = other < 0 ? 1 : 2;
  }
  return shown;
}

void View::go_to(const WorldSource::EpisodeMark& mark, bool end) {
  select_world(mark.world);
  pacer.seek(source.jump(mark, end));
  recorder.refresh();
  partner.refresh();
}

std::string View::selected_name() const {
  const std::string name = source.world_name(selected);
  return name.empty() ? std::to_string(selected) : name;
}

double View::steps_per_second() const {
  if (source.info().kind != SourceKind::training)
    return pacer.steps_per_second() * static_cast<double>(source.info().num_worlds);
  const Telemetry* telemetry = source.telemetry();
  return telemetry != nullptr ? telemetry->steps_per_second : 0;
}

// The shown range moves along, and a hand that was on another world lets go.
void View::select_world(std::int64_t world) {
  world = std::clamp<std::int64_t>(world, 0, source.info().num_worlds - 1);
  if (world == selected) return;
  perturb.end(source, selected);
  release();
  selected = world;
  if (selected < first) first = selected;
  if (selected >= first + count) first = selected - count + 1;
}

void View::select_extreme_world(bool best) {
  std::vector<float> returns;
  source.read_returns(returns);
  if (returns.empty()) return;
  const auto found =
      best ? std::max_element(returns.begin(), returns.end()) : std::min_element(returns.begin(), returns.end());
  select_world(found - returns.begin());
}

void View::say(const std::string& line) {
  constexpr std::size_t kLines = 2000;
  messages.push_back(line);
  ++said;
  while (messages.size() > kLines) messages.pop_front();
}

void View::take_over() {
  const std::size_t size = source.info().controls.size();
  if (!source.info().can_control || size == 0) return;
  hand.active = true;
  hand.world = selected;
  hand.action = recorder.report().action;  // from where the world is
  if (hand.action.size() != size) hand.action.assign(size, 0.0f);
  source.take_over(selected, hand.action);
}

void View::set_action(std::size_t component, float value) {
  if (!hand.active) take_over();
  if (!hand.active || component >= hand.action.size()) return;
  const ControlInfo& control = source.info().controls[component];
  const float high = control.choices > 0 ? static_cast<float>(control.choices - 1) : control.high;
  hand.action[component] = std::clamp(value, control.choices > 0 ? 0.0f : control.low, high);
  source.take_over(hand.world, hand.action);
}

void View::release() {
  if (hand.active) source.release();
  hand.active = false;
}

void View::set_qpos(std::size_t index, float value) {
  std::vector<float> qpos = recorder.report().qpos;
  if (!source.info().can_pose || index >= qpos.size()) return;
  qpos[index] = value;
  source.set_qpos(selected, qpos);
  recorder.refresh();
}

}  // namespace hotloop

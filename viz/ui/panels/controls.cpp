// The selected world's actuators: shown, and by hand once it is taken over.
#include <imgui.h>

#include <algorithm>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

std::string label_of(const SourceInfo& info, std::size_t i) {
  const std::string& name = info.controls[i].name;
  return (name.empty() ? "control " + std::to_string(i) : name) + "##" + std::to_string(i);
}

void control_widget(View& view, std::size_t i, float value) {
  const ControlInfo& control = view.source.info().controls[i];
  const std::string label = label_of(view.source.info(), i);
  if (control.choices > 0) {
    int index = static_cast<int>(value);
    if (ImGui::SliderInt(label.c_str(), &index, 0, control.choices - 1)) view.set_action(i, static_cast<float>(index));
  } else if (ImGui::SliderFloat(label.c_str(), &value, control.low, control.high, "%.3f",
                                ImGuiSliderFlags_AlwaysClamp) &&
             is_number(view, label.substr(0, label.find("##")), value)) {
    view.set_action(i, value);
  }
  tip("Moving it takes the selected world over");
}

}  // namespace

void draw_controls(View& view) {
  const SourceInfo& info = view.source.info();
  if (info.controls.empty()) {
    unavailable("These worlds have no actuators.");
    return;
  }
  if (!info.can_control) unavailable("Shown only: this source does not take actions by hand.");
  ImGui::BeginDisabled(!info.can_control);
  if (!view.hand.active) {
    if (ImGui::Button("Take over")) view.take_over();
    tip("The selected world does what the sliders say (U)");
  } else {
    if (ImGui::Button("Release")) view.release();
    tip("The world acts by itself again (U)");
    beside("Clear all");
    if (ImGui::Button("Clear all"))
      for (std::size_t i = 0; i < view.hand.action.size(); ++i) view.set_action(i, 0);
    tip("All actuators to zero");
    beside("world 1000 by hand");
    ImGui::TextDisabled("world %lld by hand", static_cast<long long>(view.hand.world));
  }
  const std::vector<float>& now = view.hand.active ? view.hand.action : view.recorder.report().action;
  const std::vector<float> values = now;  // a slider may change them
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < info.controls.size(); ++i) labels.push_back(label_of(info, i));
  push_label_room(labels);
  for (std::size_t i = 0; i < info.controls.size(); ++i) control_widget(view, i, i < values.size() ? values[i] : 0);
  ImGui::PopItemWidth();
  ImGui::EndDisabled();
}

}  // namespace hotloop

// Options of the physics, as far as the source lets them change while it runs.
#include <imgui.h>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

void option_widget(View& view, const WorldSource::PhysicsOption& option) {
  double value = option.value;
  bool changed = false;
  if (option.is_flag) {
    bool on = value != 0;
    changed = ImGui::Checkbox(option.name.c_str(), &on);
    value = on ? 1 : 0;
  } else if (!option.choices.empty()) {
    const auto index = static_cast<std::size_t>(value);
    if (ImGui::BeginCombo(option.name.c_str(), index < option.choices.size() ? option.choices[index].c_str() : "")) {
      for (std::size_t i = 0; i < option.choices.size(); ++i)
        if (ImGui::Selectable(option.choices[i].c_str(), i == index)) {
          value = static_cast<double>(i);
          changed = true;
        }
      ImGui::EndCombo();
    }
  } else {
    changed = ImGui::SliderScalar(option.name.c_str(), ImGuiDataType_Double, &value, &option.low, &option.high, "%.5g",
                                  ImGuiSliderFlags_AlwaysClamp);
  }
  tip(option.help.c_str());
  if (changed && is_number(view, option.name, value)) view.source.set_physics_option(option.name, value);
}

// Why there is nothing to change.
const char* reason(SourceKind kind) {
  switch (kind) {
    case SourceKind::log:
      return "A log is played back, not simulated: its physics are what they were.";
    case SourceKind::training:
      return "A training is only watched: its physics stay as they are.";
    case SourceKind::model:
      return "This model has no options of physics that may change while it runs.";
    default:
      return "The step of a task is compiled for its model, options of physics with it. "
             "`hotloop view MODEL.xml` changes all of them while a model runs, "
             "--env.NAME VALUE sets what the task offers.";
  }
}

}  // namespace

void draw_physics(View& view) {
  const std::vector<WorldSource::PhysicsOption> options = view.source.physics_options();
  if (options.empty()) {
    unavailable(reason(view.source.info().kind));
    return;
  }
  unavailable("From the next step on; a reset undoes all.");
  std::vector<std::string> labels;
  for (const WorldSource::PhysicsOption& option : options) labels.push_back(option.name);
  push_label_room(labels);
  for (const WorldSource::PhysicsOption& option : options) option_widget(view, option);
  ImGui::PopItemWidth();
}

}  // namespace hotloop

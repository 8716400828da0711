// Time: pause, speed, steps, reset, seed, and the history.
#include <imgui.h>

#include <cstdio>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

void transport(View& view) {
  const float width = 5.5f * ImGui::GetFontSize();
  if (ImGui::Button(view.pacer.paused ? "Run###pause" : "Pause###pause", {width, 0})) view.pacer.toggle();
  tip("Let time run or stand still (Space)");
  ImGui::SameLine();
  if (ImGui::ArrowButton("back", ImGuiDir_Left)) view.pacer.step(-1);
  tip("One step back, where the history reaches (Left)");
  ImGui::SameLine();
  if (ImGui::ArrowButton("forward", ImGuiDir_Right)) view.pacer.step(1);
  tip("One step forward (Right)");
  beside(width);
  if (ImGui::Button("Reset", {width, 0})) view.pacer.reset();
  tip("Begin new episodes in all worlds (Backspace)");
}

void speed_slider(View& view) {
  int exponent = view.pacer.exponent();
  char text[32];
  std::snprintf(text, sizeof text, exponent < 0 ? "1/%d" : "%d x", 1 << std::abs(exponent));
  if (ImGui::SliderInt("Speed", &exponent, Pacer::kSlowest, Pacer::kFastest, text, ImGuiSliderFlags_NoInput))
    view.pacer.set_exponent(exponent);
  tip("Simulated seconds per second (- and =)");
  if (!view.source.info().can_step) return;
  ImGui::Checkbox("Backward", &view.pacer.backward);
  tip("Time runs towards the oldest step kept, or the start of a log (Shift Space)");
}

void history(View& view) {
  WorldSource& source = view.source;
  std::int64_t position = source.position();
  const std::int64_t first = source.first_position(), last = source.last_position();
  ImGui::BeginDisabled(last <= first);
  if (ImGui::SliderScalar("History", ImGuiDataType_S64, &position, &first, &last, "step %lld"))
    view.pacer.seek(position);
  ImGui::EndDisabled();
  tip(last > first ? "Drag to look at what was; running on starts from there (Left, Home, End)"
                   : "There are no earlier steps to look at yet");
}

void seed_field(View& view) {
  ImGui::SetNextItemWidth(6 * ImGui::GetFontSize());
  ImGui::InputScalar("##seed", ImGuiDataType_S64, &view.panel.seed);
  tip("Seed of the resets and random actions");
  beside("Restart with seed");
  if (ImGui::Button("Restart with seed")) view.pacer.restart(view.panel.seed);
  tip("From the start, with this seed: the same seed gives the same episodes");
}

void keyframes(View& view) {
  const std::vector<std::string> names = view.source.keyframes();
  if (names.empty()) return;
  if (ImGui::BeginCombo("Keyframe", "choose one")) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (ImGui::Selectable((names[i] + "##" + std::to_string(i)).c_str())) {
        view.source.set_keyframe(view.selected, static_cast<int>(i));
        view.recorder.refresh();
      }
    ImGui::EndCombo();
  }
  tip("Puts the selected world into a keyframe of the model");
}

}  // namespace

void draw_simulation(View& view) {
  const SourceInfo& info = view.source.info();
  push_label_room(5.5f);
  if (info.can_step) {
    transport(view);
    speed_slider(view);
  } else {
    unavailable("The training's latest rollout is shown at its worlds' own pace, then the next one.");
    if (ImGui::Button(view.pacer.paused ? "Run###pause" : "Pause###pause")) view.pacer.toggle();
    tip("Whether the picture follows the training (Space)");
    speed_slider(view);
  }
  history(view);
  if (info.can_step && info.kind != SourceKind::log) seed_field(view);
  keyframes(view);
  ImGui::PopItemWidth();
  ImGui::Separator();
  ImGui::TextWrapped("%.3f s, step %lld of %g ms", view.source.time(), static_cast<long long>(view.source.position()),
                     1e3 * info.control_period);
  if (info.can_step) {
    ImGui::TextWrapped("%.3g x real time, %s", view.pacer.real_time_factor(), speed_text(view).c_str());
  } else {
    ImGui::TextUnformatted(speed_text(view).c_str());
  }
  if (view.pacer.behind()) unavailable("slower than asked for: the worlds take all the time there is");
}

}  // namespace hotloop

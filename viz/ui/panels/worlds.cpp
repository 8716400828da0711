// Which worlds are shown, and which one the other panels speak of.
#include <imgui.h>

#include <algorithm>

#include "viz/ui/mouse.h"
#include "viz/ui/panel.h"

namespace hotloop {
namespace {

// A number of worlds or the index of one; true when it was changed to a valid one.
bool world_field(const char* label, std::int64_t& value, std::int64_t low, std::int64_t high) {
  std::int64_t edited = value;
  const std::int64_t one = 1;
  if (!ImGui::InputScalar(label, ImGuiDataType_S64, &edited, &one)) return false;
  value = std::clamp(edited, low, high);
  return true;
}

void jump(View& view, const char* label, bool best) {
  if (ImGui::Button(label)) view.select_extreme_world(best);
  tip(best ? "Select the world whose running episode has the highest return (Ctrl .)"
           : "Select the world whose running episode has the lowest return (Ctrl ,)");
}

}  // namespace

void draw_worlds(View& view) {
  const SourceInfo& info = view.source.info();
  ImGui::TextWrapped("%s: %lld worlds on %s", info.name.c_str(), static_cast<long long>(info.num_worlds),
                     info.device.str().c_str());
  push_label_room(6.5f);
  std::int64_t selected = view.selected;
  if (world_field("Selected", selected, 0, info.num_worlds - 1)) view.select_world(selected);
  tip("The world that panels and aids speak of (, and . or double click)");
  jump(view, "Best", true);
  beside("Worst");
  jump(view, "Worst", false);
  ImGui::SeparatorText("Shown");
  if (ImGui::Checkbox("Only the selected one", &view.alone)) align_camera(view);
  tip("One world alone, or a grid of them (O)");
  ImGui::BeginDisabled(view.alone);
  if (world_field("First", view.first, 0, info.num_worlds - 1))
    view.count = std::min(view.count, info.num_worlds - view.first);
  tip("The first world of the grid");
  world_field("Count", view.count, 1, std::min(info.num_worlds - view.first, view.max_shown));
  tip("How many worlds the grid shows");
  float spacing = view.spacing;
  if (ImGui::SliderFloat("Spacing", &spacing, 0, 4 * view.source.visual().extent + 4,
                         spacing > 0 ? "%.1f m" : "automatic", ImGuiSliderFlags_AlwaysClamp) &&
      is_number(view, "Spacing", spacing))
    view.spacing = spacing;
  tip("Distance between worlds in the grid");
  ImGui::EndDisabled();
  ImGui::PopItemWidth();
  if (ImGui::Button("See all")) align_camera(view);
  tip("The camera far enough off for all shown worlds (Ctrl A)");
  const WorldReport& report = view.recorder.report();
  ImGui::SeparatorText(("World " + view.selected_name()).c_str());
  ImGui::TextWrapped("return %.4g after %lld steps", report.episode_return,
                     static_cast<long long>(report.episode_length));
  ImGui::Text("reward %.4g", report.reward);
  if (report.terminated || report.truncated) ImGui::TextUnformatted(report.terminated ? "terminated" : "truncated");
}

}  // namespace hotloop

// What the program has said: the viewer's own lines and those of the training.
#include <imgui.h>

#include "viz/ui/panel.h"

namespace hotloop {

void draw_log(View& view) {
  auto& state = view.panel.log;
  filter_field(state.filter);
  ImGui::SameLine();
  ImGui::Checkbox("Follow", &state.follow);
  tip("Keep the newest line in sight");
  if (ImGui::BeginChild("lines", ImVec2(0, 0), ImGuiChildFlags_None, ImGuiWindowFlags_HorizontalScrollbar)) {
    if (const Telemetry* telemetry = view.source.telemetry())
      for (const std::string& line : telemetry->log_lines)
        if (passes(state.filter, line)) ImGui::TextUnformatted(line.c_str());
    for (const std::string& line : view.messages)
      if (passes(state.filter, line)) ImGui::TextUnformatted(line.c_str());
    if (state.follow) ImGui::SetScrollHereY(1);
  }
  ImGui::EndChild();
}

}  // namespace hotloop

// Contacts of the selected world, the source's own: nothing is computed again.
#include <imgui.h>

#include <cmath>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

std::string shape_name(const VisualModel& model, int shape) {
  if (shape < 0 || shape >= static_cast<int>(model.shapes.size())) return "?";
  const VisualShape& s = model.shapes[static_cast<std::size_t>(shape)];
  if (!s.name.empty()) return s.name;
  return model.frames[static_cast<std::size_t>(s.frame)].name + " (" + std::to_string(shape) + ")";
}

}  // namespace

void draw_contacts(View& view) {
  const std::vector<ShownContact> contacts = view.source.contacts(view.selected);
  if (contacts.empty()) {
    unavailable("No contacts in the selected world now, or the source has none.");
    return;
  }
  const ImGuiTableFlags flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("contacts", 4, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("first");
  ImGui::TableSetupColumn("second");
  ImGui::TableSetupColumn("force");
  ImGui::TableSetupColumn("depth");
  ImGui::TableHeadersRow();
  for (const ShownContact& contact : contacts) {
    const Float3& f = contact.force;
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(shape_name(view.source.visual(), contact.shape1).c_str());
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(shape_name(view.source.visual(), contact.shape2).c_str());
    ImGui::TableNextColumn();
    ImGui::Text("%.3g N", static_cast<double>(std::sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])));
    ImGui::TableNextColumn();
    ImGui::Text("%.3g mm", 1e3 * static_cast<double>(contact.depth));
  }
  ImGui::EndTable();
}

}  // namespace hotloop

// Episodes of a log: the best and the worst first, and jumps to where they begin and end.
#include <imgui.h>

#include <algorithm>
#include <numeric>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

using Mark = WorldSource::EpisodeMark;

void episode_row(View& view, const Mark& mark, int id) {
  ImGui::PushID(id);
  ImGui::TableNextColumn();
  const std::int64_t here = view.source.position();
  const bool inside = mark.world == view.selected && here >= mark.first_row && here <= mark.last_row;
  char label[32];
  std::snprintf(label, sizeof label, "%.5g###row", mark.episode_return);
  if (ImGui::Selectable(label, inside)) view.go_to(mark, false);
  tip("Jump to its start");
  ImGui::TableNextColumn();
  const std::string name = view.source.world_name(mark.world);
  ImGui::TextUnformatted(name.empty() ? std::to_string(mark.world).c_str() : name.c_str());
  ImGui::TableNextColumn();
  ImGui::Text("%lld", static_cast<long long>(mark.last_row - mark.first_row + 1));
  ImGui::TableNextColumn();
  if (ImGui::SmallButton(mark.terminated ? "terminated" : "truncated")) view.go_to(mark, true);
  tip("Jump to its end");
  ImGui::PopID();
}

void table(View& view, const std::vector<const Mark*>& order) {
  const ImGuiTableFlags flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("episodes", 4, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (const char* name : {"return", "world", "steps", "end"}) ImGui::TableSetupColumn(name);
  ImGui::TableHeadersRow();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(order.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      episode_row(view, *order[static_cast<std::size_t>(i)], i);
  ImGui::EndTable();
}

}  // namespace

void draw_episodes(View& view) {
  const std::vector<Mark>& all = view.source.episodes();
  if (all.empty()) {
    unavailable("Only a log has a list of its episodes: open one with `hotloop view LOG.h5`.");
    return;
  }
  auto& state = view.panel.episodes;
  std::vector<const Mark*> order;
  for (const Mark& mark : all)
    if (!state.this_world || mark.world == view.selected) order.push_back(&mark);
  const auto better = [](const Mark* a, const Mark* b) { return a->episode_return > b->episode_return; };
  if (state.by_return) std::stable_sort(order.begin(), order.end(), better);
  const auto [worst, best] = std::minmax_element(
      all.begin(), all.end(), [](const Mark& a, const Mark& b) { return a.episode_return < b.episode_return; });
  if (ImGui::Button("Best")) view.go_to(*best, false);
  tip("To the start of the episode with the highest return");
  beside("Worst");
  if (ImGui::Button("Worst")) view.go_to(*worst, false);
  tip("To the start of the episode with the lowest return");
  beside("By return");
  choice("By return", state.by_return, true);
  tip("The best first");
  beside("By time");
  choice("By time", state.by_return, false);
  tip("In the log's order");
  beside("Selected world only");
  ImGui::Checkbox("Selected world only", &state.this_world);
  tip("Leaves out episodes of other worlds");
  table(view, order);
}

}  // namespace hotloop

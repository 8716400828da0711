// Any numbers of the selected world, now and over time.
#include <imgui.h>
#include <implot.h>

#include <algorithm>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

void chooser(View& view) {
  auto& state = view.panel.watch;
  filter_field(state.filter);
  if (ImGui::BeginChild("signals")) {
    for (const Signal& signal : signals(view.recorder.report())) {
      const std::string name = signal_name(signal, view.source.info());
      if (!passes(state.filter, name)) continue;
      const auto found = std::find(state.signals.begin(), state.signals.end(), signal);
      bool on = found != state.signals.end();
      ImGui::PushID(static_cast<int>(signal.kind) * 100000 + signal.index);
      if (ImGui::Checkbox(name.c_str(), &on)) {
        if (on)
          state.signals.push_back(signal);
        else
          state.signals.erase(found);
      }
      ImGui::PopID();
      ImGui::SameLine(11 * ImGui::GetFontSize());
      ImGui::TextDisabled("%.5g", signal_value(signal, view.recorder.report()));
    }
  }
  ImGui::EndChild();
}

void plot(const View& view) {
  if (!ImPlot::BeginPlot("##watch", ImVec2(-1, -1), ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes("s", nullptr, ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  ImPlot::SetupLegend(ImPlotLocation_NorthWest);
  for (const Signal& signal : view.panel.watch.signals) plot_signal(view, signal);
  ImPlot::EndPlot();
}

}  // namespace

void draw_watch(View& view) {
  const float width = std::min(18 * ImGui::GetFontSize(), 0.5f * ImGui::GetContentRegionAvail().x);
  if (ImGui::BeginChild("choose", ImVec2(width, 0))) chooser(view);
  ImGui::EndChild();
  ImGui::SameLine();
  plot(view);
}

}  // namespace hotloop

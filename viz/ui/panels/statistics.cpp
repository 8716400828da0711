// Returns and lengths of the episodes that ended, of all worlds.
#include <imgui.h>
#include <implot.h>

#include <algorithm>
#include <cmath>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments m;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  m.low = *low;
  m.high = *high;
  const double n = static_cast<double>(values.size());
  for (double value : values) m.mean += value / n;
  for (double value : values) m.deviation += (value - m.mean) * (value - m.mean) / n;
  m.deviation = std::sqrt(m.deviation);
  return m;
}

void row(const char* name, const std::vector<double>& values) {
  const Moments m = moments(values);
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(name);
  for (const double value : {m.mean, m.deviation, m.low, m.high}) {
    ImGui::TableNextColumn();
    ImGui::Text("%.5g", value);
  }
}

void histogram(const char* title, const std::vector<double>& values, int bins, float width) {
  if (!ImPlot::BeginPlot(title, ImVec2(width, -1), ImPlotFlags_NoLegend | ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes(nullptr, nullptr, ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  ImPlot::PlotHistogram(title, values.data(), static_cast<int>(values.size()), bins);
  ImPlot::EndPlot();
}

}  // namespace

void draw_episode_statistics(View& view) {
  const auto& episodes = view.recorder.episodes();
  if (view.source.info().kind == SourceKind::model) {
    unavailable("A bare model has no episodes: open a task, a run or a log.");
    return;
  }
  if (episodes.empty()) {
    unavailable("No episode has ended yet since the viewer was opened.");
    return;
  }
  std::vector<double> returns, lengths;
  std::size_t terminated = 0;
  for (const WorldSource::EpisodeEnd& end : episodes) {
    returns.push_back(end.episode_return);
    lengths.push_back(static_cast<double>(end.length));
    terminated += end.terminated;
  }
  ImGui::TextWrapped("%zu episodes, %.1f %% ended by termination", episodes.size(),
                     100.0 * static_cast<double>(terminated) / static_cast<double>(episodes.size()));
  const float width = 8 * ImGui::GetFontSize();
  beside(width + ImGui::CalcTextSize("bins ").x);
  ImGui::SetNextItemWidth(width);
  ImGui::SliderInt("bins", &view.panel.statistics.bins, 5, 100, "%d", ImGuiSliderFlags_AlwaysClamp);
  tip("Bars of the histograms");
  beside("Forget");
  if (ImGui::Button("Forget")) view.recorder.clear();
  tip("Counts from now on");
  if (ImGui::BeginTable("numbers", 5, ImGuiTableFlags_SizingStretchSame)) {
    for (const char* name : {"", "mean", "deviation", "lowest", "highest"}) ImGui::TableSetupColumn(name);
    ImGui::TableHeadersRow();
    row("return", returns);
    row("length", lengths);
    ImGui::EndTable();
  }
  const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
  histogram("returns", returns, view.panel.statistics.bins, half);
  ImGui::SameLine();
  histogram("lengths", lengths, view.panel.statistics.bins, half);
}

}  // namespace hotloop

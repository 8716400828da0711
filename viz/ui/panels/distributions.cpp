// How observations and actions are spread over the worlds, by component.
#include <imgui.h>
#include <implot.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

constexpr int kBins = 24;

// Values of component `k` over the worlds; those that are not finite are left out.
std::vector<double> column(const std::vector<float>& table, std::size_t dim, std::size_t k) {
  std::vector<double> values;
  for (std::size_t i = k; i < table.size(); i += dim)
    if (std::isfinite(table[i])) values.push_back(table[i]);
  return values;
}

// A shape about x = `at`, as wide as values are frequent, and a line from the lower to the upper quartile.
void violin(int at, std::vector<double> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const double low = values.front(), step = std::max((values.back() - low) / kBins, 1e-9);
  std::vector<double> count(kBins + 1), y(kBins + 1), left(kBins + 1), right(kBins + 1);
  for (const double value : values) ++count[static_cast<std::size_t>(std::min<double>(kBins, (value - low) / step))];
  const double most = *std::max_element(count.begin(), count.end());
  for (std::size_t b = 0; b <= kBins; ++b) {
    y[b] = low + (static_cast<double>(b) + 0.5) * step;
    left[b] = at - 0.42 * count[b] / most;
    right[b] = at + 0.42 * count[b] / most;
  }
  std::vector<double> outline_x(left), outline_y(y);
  outline_x.insert(outline_x.end(), right.rbegin(), right.rend());
  outline_y.insert(outline_y.end(), y.rbegin(), y.rend());
  outline_x.push_back(left[0]);
  outline_y.push_back(y[0]);
  ImPlotSpec spec;
  spec.LineColor = ImPlot::GetColormapColor(0);
  char label[32];
  std::snprintf(label, sizeof label, "##v%d", at);
  ImPlot::PlotLine(label, outline_x.data(), outline_y.data(), static_cast<int>(outline_x.size()), spec);
  const double x[2] = {double(at), double(at)};
  const double quartiles[2] = {values[values.size() / 4], values[values.size() * 3 / 4]};
  spec.LineWeight = 4;
  std::snprintf(label, sizeof label, "##q%d", at);
  ImPlot::PlotLine(label, x, quartiles, 2, spec);
}

void violins(const std::vector<float>& table, std::size_t dim) {
  if (!ImPlot::BeginPlot("##violins", ImVec2(-1, -1), ImPlotFlags_NoLegend | ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes("component", nullptr, ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  for (std::size_t k = 0; k < dim; ++k) violin(static_cast<int>(k), column(table, dim, k));
  ImPlot::EndPlot();
}

void one(const std::vector<float>& table, std::size_t dim, int& component) {
  component = std::clamp(component, 0, static_cast<int>(dim) - 1);
  ImGui::SetNextItemWidth(12 * ImGui::GetFontSize());
  ImGui::SliderInt("component", &component, 0, static_cast<int>(dim) - 1, "%d", ImGuiSliderFlags_AlwaysClamp);
  const std::vector<double> values = column(table, dim, static_cast<std::size_t>(component));
  if (!ImPlot::BeginPlot("##one", ImVec2(-1, -1), ImPlotFlags_NoLegend | ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes(nullptr, "worlds", ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  ImPlot::PlotHistogram("worlds", values.data(), static_cast<int>(values.size()), kBins);
  ImPlot::EndPlot();
}

}  // namespace

void draw_distributions(View& view) {
  auto& state = view.panel.distributions;
  bool fresh = due(view, "distributions", 0.25);
  fresh |= choice("Observations", state.actions, false);
  tip("Of the latest step, one value a world");
  beside("Actions");
  fresh |= choice("Actions", state.actions, true);
  tip("Of the latest step, one value a world");
  beside("All components");
  choice("All components", state.violins, true);
  tip("A shape for each component: wide where many worlds are");
  beside("One");
  choice("One", state.violins, false);
  tip("The histogram of one component");
  std::vector<float>& table = state.actions ? state.action_values : state.observations;
  if (fresh && state.actions) view.source.read_actions(table);
  if (fresh && !state.actions) view.source.read_observations(table);
  const auto worlds = static_cast<std::size_t>(std::max<std::int64_t>(view.source.info().num_worlds, 1));
  const std::size_t dim = table.size() / worlds;
  if (dim == 0) {
    unavailable(state.actions ? "This source has no actions to show." : "This source has no observations to show.");
    return;
  }
  if (state.violins)
    violins(table, dim);
  else
    one(table, dim, state.component);
}

}  // namespace hotloop

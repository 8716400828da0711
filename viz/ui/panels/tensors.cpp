// Any tensor of a training's rollout or of a log, by key: as lines or as a heat map.
#include <imgui.h>
#include <implot.h>

#include <algorithm>
#include <cmath>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

void keys(View& view, const std::vector<WorldSource::TensorInfo>& all) {
  auto& state = view.panel.tensors;
  for (const WorldSource::TensorInfo& tensor : all) {
    const std::string label = tensor.key + "  " + shape_text(tensor.shape);
    if (ImGui::Selectable((label + "###" + tensor.key).c_str(), tensor.key == state.key)) {
      state.key = tensor.key;
      view.panel.asked.erase("tensor");
    }
    if (tensor.key == state.key) state.shape = tensor.shape;
  }
}

// Rows: the first dimension; columns: all others together.
void picture(View& view) {
  auto& state = view.panel.tensors;
  if (due(view, "tensor", 0.5)) state.values = view.source.read_tensor(state.key, state.slices);
  int columns = 1;
  for (std::size_t i = 1; i < state.shape.size(); ++i)
    columns *= static_cast<int>(std::max<std::int64_t>(state.shape[i], 1));
  const int rows = static_cast<int>(state.values.size()) / columns;
  if (rows == 0) {
    unavailable("This tensor has no values yet.");
    return;
  }
  float low = INFINITY, high = -INFINITY;
  for (const float value : state.values)
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  beside("100 x 100, from -1.234 to 1.234");
  ImGui::TextDisabled("%d x %d, from %.4g to %.4g", rows, columns, static_cast<double>(low), static_cast<double>(high));
  if (!ImPlot::BeginPlot("##tensor", ImVec2(-1, -1), ImPlotFlags_NoLegend)) return;
  if (state.heat) {
    ImPlot::SetupAxes(nullptr, nullptr, ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit | ImPlotAxisFlags_Invert);
    ImPlot::PushColormap(ImPlotColormap_Viridis);
    ImPlot::PlotHeatmap("values", state.values.data(), rows, columns, low, high > low ? high : low + 1, nullptr,
                        {0, double(rows)}, {double(columns), 0});
    ImPlot::PopColormap();
  } else {
    ImPlot::SetupAxes(nullptr, nullptr, ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
    ImPlotSpec spec;
    spec.Stride = columns * static_cast<int>(sizeof(float));
    for (int c = 0; c < std::min(columns, 32); ++c)
      ImPlot::PlotLine(("column " + std::to_string(c)).c_str(), state.values.data() + c, rows, 1.0, 0.0, spec);
  }
  ImPlot::EndPlot();
}

}  // namespace

void draw_tensors(View& view) {
  const std::vector<WorldSource::TensorInfo> all = view.source.tensors();
  if (all.empty()) {
    unavailable("No tensors here: a training that is watched and a log have them.");
    return;
  }
  const float width = std::min(18 * ImGui::GetFontSize(), 0.35f * ImGui::GetContentRegionAvail().x);
  if (ImGui::BeginChild("keys", ImVec2(width, 0))) keys(view, all);
  ImGui::EndChild();
  ImGui::SameLine();
  if (ImGui::BeginChild("picture")) {
    auto& state = view.panel.tensors;
    choice("Heat map", state.heat, true);
    tip("Rows: the first dimension; columns: all others");
    beside("Lines");
    choice("Lines", state.heat, false);
    tip("A line a column, at most 32");
    const float slider = 8 * ImGui::GetFontSize();
    beside(slider + ImGui::CalcTextSize("rows ").x);
    ImGui::SetNextItemWidth(slider);
    ImGui::SliderInt("rows", &state.slices, 1, 1024, "%d", ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
    tip("How much of the first dimension is read");
    if (state.key.empty())
      unavailable("Choose a tensor on the left.");
    else
      picture(view);
  }
  ImGui::EndChild();
}

}  // namespace hotloop

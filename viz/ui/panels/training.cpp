// Curves of a training: each metric that the run writes, smoothed as one likes.
#include <fmt/format.h>
#include <imgui.h>
#include <implot.h>

#include <algorithm>
#include <cmath>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

// Exponential mean that starts unbiased, as TensorBoard's slider.
std::vector<double> smoothed(const std::vector<double>& values, double weight) {
  std::vector<double> out;
  double sum = 0, total = 0;
  for (const double value : values) {
    if (std::isfinite(value)) {
      sum = weight * sum + (1 - weight) * value;
      total = weight * total + (1 - weight);
    }
    out.push_back(total > 0 ? sum / total : value);
  }
  return out;
}

// Unit of a curve's values, by its name as metrics.csv has it; "" for plain numbers.
const char* unit_of(const std::string& name) {
  const auto ends_with = [&](const char* what) { return name.ends_with(what); };
  if (ends_with("SPS")) return "steps/s";
  if (ends_with("_length")) return "steps";
  if (ends_with("_time") || ends_with("_seconds")) return "s";
  if (ends_with("entropy")) return "nats";
  return "";
}

void plot(const TelemetryCurve& curve, const PanelState& panel, const ImVec2& size) {
  if (!ImPlot::BeginPlot(curve.name.c_str(), size, ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes("steps", unit_of(curve.name), ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  ImPlot::SetupLegend(ImPlotLocation_NorthWest);
  if (panel.training.log_x) ImPlot::SetupAxisScale(ImAxis_X1, ImPlotScale_Log10);
  if (panel.training.log_y) ImPlot::SetupAxisScale(ImAxis_Y1, ImPlotScale_Log10);
  const int count = static_cast<int>(std::min(curve.step.size(), curve.value.size()));
  ImPlotSpec faint, strong;
  faint.LineColor = ImPlot::GetColormapColor(0);
  faint.LineColor.w = 0.3f;
  strong.LineColor = ImPlot::GetColormapColor(0);
  strong.LineWeight = 1.5f;
  const bool smooths = panel.training.smoothing > 0;
  if (smooths) ImPlot::PlotLine("as logged", curve.step.data(), curve.value.data(), count, faint);
  const std::vector<double> smooth = smoothed(curve.value, panel.training.smoothing);
  ImPlot::PlotLine(smooths ? "smoothed" : "as logged##strong", curve.step.data(), smooth.data(), count, strong);
  ImPlot::EndPlot();
}

// "finished: iteration 60 of 60, 1.536e+04 steps, 8570 steps/s, 12 s"; what is not known is left out.
std::string training_text(const Telemetry& t) {
  std::string text = fmt::format("{}iteration {}", t.finished ? "finished: " : "", t.iteration);
  if (t.total_iterations > 0) text += fmt::format(" of {}", t.total_iterations);
  text += fmt::format(", {:.4g} steps", static_cast<double>(t.global_step));
  if (t.steps_per_second > 0) text += fmt::format(", {:.4g} steps/s", t.steps_per_second);
  if (t.elapsed_seconds > 0) text += fmt::format(", {:.0f} s", t.elapsed_seconds);
  return text;
}

void settings(PanelState& panel) {
  const float width = 8 * ImGui::GetFontSize();
  beside(width + ImGui::CalcTextSize("smoothing ").x);
  ImGui::SetNextItemWidth(width);
  ImGui::SliderFloat("smoothing", &panel.training.smoothing, 0, 0.99f, "%.2f", ImGuiSliderFlags_AlwaysClamp);
  tip("Weight of what was; the faint line is not smoothed");
  beside("log steps");
  ImGui::Checkbox("log steps", &panel.training.log_x);
  tip("Steps on a logarithmic axis");
  beside("log values");
  ImGui::Checkbox("log values", &panel.training.log_y);
  tip("Values on a logarithmic axis");
  beside(12 * ImGui::GetFontSize());
  filter_field(panel.training.filter);
}

}  // namespace

void draw_training(View& view) {
  const Telemetry* telemetry = view.source.telemetry();
  if (!telemetry) {
    unavailable("No training here: open a run's folder, or start one with `hotloop train TASK --watch`.");
    return;
  }
  ImGui::TextWrapped("%s", training_text(*telemetry).c_str());
  settings(view.panel);
  if (telemetry->curves.empty()) unavailable("The training has not written a metric yet.");
  if (!ImGui::BeginChild("curves")) {
    ImGui::EndChild();
    return;
  }
  const float size = 17 * ImGui::GetFontSize(), spacing = ImGui::GetStyle().ItemSpacing.x;
  const int columns = std::max(1, static_cast<int>((ImGui::GetContentRegionAvail().x + spacing) / (size + spacing)));
  const float width = (ImGui::GetContentRegionAvail().x + spacing) / static_cast<float>(columns) - spacing;
  int shown = 0;
  for (const TelemetryCurve& curve : telemetry->curves) {
    if (!passes(view.panel.training.filter, curve.name)) continue;
    if (shown++ % columns != 0) ImGui::SameLine();
    plot(curve, view.panel, {width, 0.62f * size});
  }
  ImGui::EndChild();
}

}  // namespace hotloop

// What the machine does: the card's load and memory, steps and pictures a second.
#include <imgui.h>
#include <implot.h>

#include <algorithm>
#include <cmath>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

constexpr std::size_t kHistory = 600;

void keep(std::deque<float>& values, double value) {
  values.push_back(static_cast<float>(value));
  while (values.size() > kHistory) values.pop_front();
}

// The card of the worlds, once one looks at this panel.
void look_for_card(View& view) {
  auto& state = view.panel.machine;
  if (state.looked) return;
  state.looked = true;
  const Device device = view.source.info().device;
  if (device.is_cuda()) state.monitor = std::make_unique<GpuMonitor>(cuda_device_info(device.index).pci_bus_id);
}

void card_text(View& view) {
  const std::optional<GpuSample> sample =
      view.panel.machine.monitor ? view.panel.machine.monitor->latest() : std::optional<GpuSample>();
  if (!sample) {
    unavailable(view.source.info().device.is_cuda() ? "The driver tells nothing of the card (no NVML)."
                                                    : "The worlds are on the CPU: no card to speak of.");
    return;
  }
  ImGui::ProgressBar(static_cast<float>(sample->utilization / 100), ImVec2(-1, 0));
  tip("Part of the last second in which the card computed");
  ImGui::TextWrapped("%.1f GiB used, %.0f W, %.0f MHz", sample->memory_gib, sample->power_w, sample->sm_mhz);
}

void numbers(const View& view) {
  const SceneStats& s = view.stats;
  ImGui::TextWrapped("%s", speed_text(view).c_str());
  tip("Steps of all worlds together");
  ImGui::TextWrapped("%.1f pictures/s, %.1f ms each", view.picture_rate, 1e3 * view.frame_seconds);
  ImGui::TextWrapped("%.2f ms of drawing on the GPU", s.gpu_milliseconds);
  ImGui::TextWrapped("%lld of %lld shapes, %.3g triangles", static_cast<long long>(s.drawn),
                     static_cast<long long>(s.instances), static_cast<double>(s.triangles));
  ImGui::TextWrapped("%s; frames: %s", view.renderer.c_str(), view.frame_path.c_str());
  tip("What draws, and how poses reach it");
  if (view.quality.empty()) return;
  ImGui::TextWrapped("%s, now at %.0f %% of the resolution", view.quality.c_str(), 100 * static_cast<double>(s.scale));
  tip("OpenGL runs on the CPU, or --quality low was asked for; --quality high draws all");
}

void plot_history(const char* title, const std::deque<float>& values) {
  const std::vector<float> line(values.begin(), values.end());
  if (!ImPlot::BeginPlot(title, ImVec2(-1, -1), ImPlotFlags_NoLegend | ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes(nullptr, "ms", ImPlotAxisFlags_NoTickLabels | ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  ImPlot::PlotLine("picture", line.data(), static_cast<int>(line.size()));
  ImPlot::EndPlot();
}

}  // namespace

void draw_machine(View& view) {
  look_for_card(view);
  keep(view.panel.machine.picture_ms, 1e3 * view.frame_seconds);
  const float width = std::min(24 * ImGui::GetFontSize(), 0.6f * ImGui::GetContentRegionAvail().x);
  if (ImGui::BeginChild("numbers", ImVec2(width, 0))) {
    card_text(view);
    numbers(view);
  }
  ImGui::EndChild();
  ImGui::SameLine();
  plot_history("time of a picture", view.panel.machine.picture_ms);
}

}  // namespace hotloop

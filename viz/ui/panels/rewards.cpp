// The selected world's reward by term: now as bars, or over time as lines.
#include <imgui.h>
#include <implot.h>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

void bars(const SourceInfo& info, const WorldReport& report) {
  std::vector<double> values(report.reward_terms.begin(), report.reward_terms.end());
  std::vector<const char*> names;
  for (std::size_t i = 0; i < values.size(); ++i)
    names.push_back(i < info.reward_terms.size() ? info.reward_terms[i].c_str() : "?");
  values.push_back(report.reward);
  names.push_back("reward");
  const int count = static_cast<int>(values.size());
  if (!ImPlot::BeginPlot("##terms", ImVec2(-1, -1), ImPlotFlags_NoLegend | ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes(nullptr, nullptr, ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_Invert);
  ImPlot::SetupAxisLimits(ImAxis_Y1, -0.6, count - 0.4, ImPlotCond_Always);
  ImPlot::SetupAxisTicks(ImAxis_Y1, 0, count - 1, count, names.data());
  ImPlotSpec spec;
  spec.Flags = ImPlotBarsFlags_Horizontal;
  ImPlot::PlotBars("terms", values.data(), count, 0.6, 0, spec);
  ImPlot::EndPlot();
}

void lines(const View& view) {
  const WorldReport& report = view.recorder.report();
  if (!ImPlot::BeginPlot("##rewards", ImVec2(-1, -1), ImPlotFlags_NoMouseText)) return;
  ImPlot::SetupAxes("s", nullptr, ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
  ImPlot::SetupLegend(ImPlotLocation_NorthWest);
  for (std::size_t i = 0; i < report.reward_terms.size(); ++i)
    plot_signal(view, {Signal::Kind::term, static_cast<int>(i)});
  plot_signal(view, {Signal::Kind::reward, 0});
  ImPlot::EndPlot();
}

}  // namespace

void draw_rewards(View& view) {
  const SourceInfo& info = view.source.info();
  if (info.kind == SourceKind::model) {
    unavailable("A bare model has no reward: open a task, a run or a log.");
    return;
  }
  const WorldReport& report = view.recorder.report();
  choice("Over time", view.panel.rewards.over_time, true);
  tip("Since the selected world was selected");
  beside("Now");
  choice("Now", view.panel.rewards.over_time, false);
  tip("Terms of the latest step");
  beside("reward -1.234, return -1234.5");
  if (info.kind == SourceKind::training)  // a rollout does not know its episodes' returns
    ImGui::TextDisabled("reward %.4g", report.reward);
  else
    ImGui::TextDisabled("reward %.4g, return %.5g", report.reward, report.episode_return);
  if (report.reward_terms.empty()) {
    beside("   this task has one term only");
    ImGui::TextDisabled("   this task has one term only");
  }
  if (view.panel.rewards.over_time)
    lines(view);
  else
    bars(info, report);
}

}  // namespace hotloop

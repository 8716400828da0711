#include "viz/ui/panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_stdlib.h>
#include <implot.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "viz/ui/keys.h"

namespace hotloop {
namespace {

using Place = Panel::Place;

constexpr Panel kPanels[] = {
    {"Simulation", "Time: pause, speed, steps, reset, history", Place::top_left, draw_simulation},
    {"Worlds", "Which worlds are shown and which one is selected", Place::top_left, draw_worlds},
    {"Rendering", "What is drawn, and how", Place::low_left, draw_rendering},
    {"Camera", "Free, following, or a camera of the model", Place::low_left, draw_camera},
    {"Controls", "The selected world's actuators, by hand", Place::right, draw_controls},
    {"Joints", "The selected world's joints", Place::right, draw_joints},
    {"Physics", "Options of the physics, while it runs", Place::right, draw_physics},
    {"Contacts", "Contacts of the selected world with their forces", Place::right, draw_contacts},
    {"Rewards", "The reward of the selected world, by term", Place::bottom, draw_rewards},
    {"Statistics", "Returns and lengths of the episodes of all worlds", Place::bottom, draw_episode_statistics},
    {"Training", "Curves of the training", Place::bottom, draw_training},
    {"Distributions", "Observations and actions over all worlds", Place::bottom, draw_distributions},
    {"Watch", "Any number of the selected world over time", Place::bottom, draw_watch},
    {"Tensors", "Any tensor of the training or the log", Place::bottom, draw_tensors},
    {"Episodes", "Episodes of the log, best and worst", Place::bottom, draw_episodes},
    {"Machine", "The card's load and memory, steps and pictures a second", Place::bottom, draw_machine},
    {"Log", "What the program has said", Place::bottom, draw_log},
};

constexpr int kFirstPictures = 4;  // until panels have found their places

bool column_shown(const ViewSettings& settings, Place place) {
  if (place == Place::right) return settings.right;
  return place == Place::bottom ? settings.bottom : settings.left;
}

void key_menu(View& view, const char* group) {
  if (!ImGui::BeginMenu(group)) return;
  for (const KeyBinding& binding : key_bindings())
    if (std::strcmp(binding.group, group) == 0 && ImGui::MenuItem(binding.text, key_text(binding.chord).c_str()))
      binding.act(view);
  ImGui::EndMenu();
}

void panel_menu(View& view) {
  if (!ImGui::BeginMenu("Panels")) return;
  for (const Panel& panel : kPanels) {
    bool open = !view.settings.closed[panel.name];
    if (ImGui::MenuItem(panel.name, nullptr, &open)) view.settings.closed[panel.name] = !open;
    tip(panel.tip);
  }
  ImGui::Separator();
  if (ImGui::MenuItem("Panels where they were at first")) view.reset_layout = true;
  ImGui::MenuItem("Keys act", nullptr, &view.settings.shortcuts);
  tip("Off: only F1 is a shortcut, all other keys are free");
  ImGui::MenuItem("Wait for the screen (vsync)", nullptr, &view.settings.vsync);
  ImGui::EndMenu();
}

const char* state_text(const View& view) {
  if (!view.drawing) return "not drawing (V)";
  if (view.pacer.paused) return "paused";
  if (view.pacer.behind()) return "slower than asked for";
  if (view.source.info().can_step) return "running";
  const Telemetry* training = view.source.telemetry();
  return training != nullptr && training->finished ? "finished" : "live";
}

void status(View& view) {
  const std::string speed =
      view.source.info().can_step ? fmt::format("{:.2g}x real time", view.pacer.real_time_factor()) : speed_text(view);
  const std::string text = fmt::format("{}   {:.2f} s   {}   {:.0f} pictures/s", state_text(view), view.source.time(),
                                       speed, view.picture_rate);
  const float width = ImGui::CalcTextSize(text.c_str()).x + 2 * ImGui::GetStyle().ItemSpacing.x;
  const float left = ImGui::GetWindowWidth() - width;
  if (left > ImGui::GetCursorPosX()) ImGui::SetCursorPosX(left);
  ImGui::TextDisabled("%s", text.c_str());
}

}  // namespace

std::span<const Panel> panels() { return kPanels; }

void draw_panels(View& view) {
  for (const Panel& panel : kPanels) {
    if (!column_shown(view.settings, panel.place) || view.settings.closed[panel.name]) continue;
    bool open = true;
    const bool in_front = panel.draw == draw_training && view.source.info().kind == SourceKind::training;
    if (in_front && ImGui::GetFrameCount() < kFirstPictures) ImGui::SetNextWindowFocus();
    if (ImGui::Begin(panel.name, &open)) panel.draw(view);
    ImGui::End();
    if (!open) view.settings.closed[panel.name] = true;
  }
}

void draw_menus(View& view) {
  if (!ImGui::BeginMainMenuBar()) return;
  for (const char* group : {"Time", "Worlds", "Camera", "Draw", "Groups", "Window"}) key_menu(view, group);
  panel_menu(view);
  if (ImGui::MenuItem("Help")) view.help = true;
  tip("All keys and what the mouse does (F1)");
  status(view);
  ImGui::EndMainMenuBar();
}

void unavailable(const char* why) {
  ImGui::PushTextWrapPos(0);
  ImGui::TextDisabled("%s", why);
  ImGui::PopTextWrapPos();
}

void tip(const char* text) {
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) ImGui::SetTooltip("%s", text);
}

bool is_number(View& view, const std::string& name, double value) {
  if (std::isfinite(value)) return true;
  view.say(fmt::format("{} {}: must be a number, nothing was changed", name, value));
  return false;
}

bool due(View& view, const char* key, double seconds) {
  double& then = view.panel.asked.try_emplace(key, -1e9).first->second;
  const double now = ImGui::GetTime();
  if (now - then < seconds && now >= then) return false;
  then = now;
  return true;
}

void beside(float width) {
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  if (ImGui::GetItemRectMax().x + ImGui::GetStyle().ItemSpacing.x + width <= right) ImGui::SameLine();
}

void beside(const char* label) {
  const ImGuiStyle& style = ImGui::GetStyle();
  beside(ImGui::GetFrameHeight() + style.ItemInnerSpacing.x + ImGui::CalcTextSize(label, nullptr, true).x +
         style.FramePadding.x);
}

void push_label_room(float heights) {
  ImGui::PushItemWidth(-std::min(heights * ImGui::GetFontSize(), 0.6f * ImGui::GetContentRegionAvail().x));
}

void push_label_room(std::span<const std::string> labels) {
  float widest = 0;
  for (const std::string& label : labels)
    widest = std::max(widest, ImGui::CalcTextSize(label.c_str(), nullptr, true).x);
  push_label_room((widest + ImGui::GetStyle().ItemInnerSpacing.x) / ImGui::GetFontSize());
}

bool choice(const char* label, bool& value, bool means) {
  const bool clicked = ImGui::RadioButton(label, value == means);
  if (clicked) value = means;
  return clicked;
}

std::string speed_text(const View& view) {
  const double speed = view.steps_per_second();
  if (speed <= 0 && view.source.info().kind == SourceKind::training) return "steps/s not known yet";
  return fmt::format("{:.4g} steps/s", speed);
}

void plot_signal(const View& view, const Signal& signal) {
  const std::string name = signal_name(signal, view.source.info());
  const std::int64_t other = view.source.partner(view.selected);
  std::vector<double> time, value;
  view.recorder.series(signal, time, value);
  const std::string own = other < 0 ? name : name + ", " + view.selected_name();
  ImPlot::PlotLine(own.c_str(), time.data(), value.data(), static_cast<int>(time.size()));
  if (other < 0) return;
  view.partner.series(signal, time, value);
  ImPlot::PlotLine((name + ", " + view.source.world_name(other)).c_str(), time.data(), value.data(),
                   static_cast<int>(time.size()));
}

void filter_field(std::string& filter) {
  ImGui::SetNextItemWidth(12 * ImGui::GetFontSize());
  ImGui::InputTextWithHint("##filter", "filter", &filter);
  tip("Only names with this text in them");
}

bool passes(const std::string& filter, const std::string& name) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(name.begin(), name.end(), filter.begin(), filter.end(), same) != name.end() || filter.empty();
}

}  // namespace hotloop

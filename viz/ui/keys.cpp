#include "viz/ui/keys.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "viz/ui/mouse.h"

namespace hotloop {
namespace {

constexpr ImGuiKeyChord kCtrl = ImGuiMod_Ctrl, kShift = ImGuiMod_Shift;

template <bool SceneFlags::*flag>
void flip(View& view) {
  view.flags.*flag = !(view.flags.*flag);
}

template <int group>
void flip_group(View& view) {
  view.flags.groups[group] = !view.flags.groups[group];
}

template <int group>
void flip_sites(View& view) {
  view.flags.site_groups[group] = !view.flags.site_groups[group];
}

// To the first row after (or the last before) the present one at which an episode of the selected world ends.
void to_episode_end(View& view, int direction) {
  const std::int64_t here = view.source.position();
  const WorldSource::EpisodeMark* best = nullptr;
  for (const WorldSource::EpisodeMark& mark : view.source.episodes()) {
    if (mark.world != view.selected || (mark.last_row - here) * direction <= 0) continue;
    if (best == nullptr || (best->last_row - mark.last_row) * direction > 0) best = &mark;
  }
  if (best != nullptr) view.go_to(*best, true);
}

void scale_font(View& view, float factor) {
  view.settings.font_scale = std::clamp(view.settings.font_scale * factor, 0.5f, 4.0f);
}

void free_camera(View& view) {
  view.perturb.end(view.source, view.selected);
  view.camera.set_free();
  view.selected_frame = -1;
}

void select_parent(View& view) {
  if (view.selected_frame > 0) view.selected_frame = view.source.visual().frames[view.selected_frame].parent;
}

// Seen by a camera that suits it, unless one of the model was chosen.
void toggle_alone(View& view) {
  view.alone = !view.alone;
  if (view.camera.mode() != CameraControl::Mode::fixed) align_camera(view);
}

void toggle_hand(View& view) {
  if (view.hand.active)
    view.release();
  else
    view.take_over();
}

constexpr KeyBinding kBindings[] = {
    {ImGuiKey_Space, "Time", "Pause, go on", [](View& v) { v.pacer.toggle(); }},
    {kShift | ImGuiKey_Space, "Time", "Time runs backward, forward",
     [](View& v) { v.pacer.backward = !v.pacer.backward; }},
    {ImGuiKey_RightArrow, "Time", "One step forward", [](View& v) { v.pacer.step(1); }, true},
    {ImGuiKey_LeftArrow, "Time", "One step back", [](View& v) { v.pacer.step(-1); }, true},
    {kShift | ImGuiKey_RightArrow, "Time", "10 steps forward", [](View& v) { v.pacer.step(10); }, true},
    {kShift | ImGuiKey_LeftArrow, "Time", "10 steps back", [](View& v) { v.pacer.step(-10); }, true},
    {ImGuiKey_Equal, "Time", "Twice as fast", [](View& v) { v.pacer.set_exponent(v.pacer.exponent() + 1); }},
    {ImGuiKey_Minus, "Time", "Half as fast", [](View& v) { v.pacer.set_exponent(v.pacer.exponent() - 1); }},
    {ImGuiKey_Backspace, "Time", "Reset all worlds", [](View& v) { v.pacer.reset(); }},
    {ImGuiKey_Home, "Time", "To the oldest step kept", [](View& v) { v.pacer.seek(v.source.first_position()); }},
    {ImGuiKey_End, "Time", "To the newest step", [](View& v) { v.pacer.seek(v.source.last_position()); }},
    {ImGuiKey_N, "Time", "To the next end of an episode (logs)", [](View& v) { to_episode_end(v, 1); }},
    {kShift | ImGuiKey_N, "Time", "To the previous end of an episode (logs)", [](View& v) { to_episode_end(v, -1); }},

    {ImGuiKey_Period, "Worlds", "Select the next world", [](View& v) { v.select_world(v.selected + 1); }, true},
    {ImGuiKey_Comma, "Worlds", "Select the previous world", [](View& v) { v.select_world(v.selected - 1); }, true},
    {ImGuiKey_O, "Worlds", "The selected world alone, the grid", toggle_alone},
    {kCtrl | ImGuiKey_Period, "Worlds", "Select the world with the best return",
     [](View& v) { v.select_extreme_world(true); }},
    {kCtrl | ImGuiKey_Comma, "Worlds", "Select the world with the worst return",
     [](View& v) { v.select_extreme_world(false); }},
    {ImGuiKey_U, "Worlds", "Take over the selected world's actuators, release them", toggle_hand},
    {ImGuiKey_PageUp, "Worlds", "Select the parent of the selected body", select_parent},

    {ImGuiKey_Escape, "Camera", "Free camera, nothing selected", free_camera},
    {ImGuiKey_RightBracket, "Camera", "Next camera", [](View& v) { v.camera.cycle(1); }},
    {ImGuiKey_LeftBracket, "Camera", "Previous camera", [](View& v) { v.camera.cycle(-1); }},
    {kCtrl | ImGuiKey_A, "Camera", "Align: the view as at the start", align_camera},

    {ImGuiKey_S, "Draw", "Shadows", flip<&SceneFlags::shadow>},
    {ImGuiKey_R, "Draw", "Reflections", flip<&SceneFlags::reflection>},
    {ImGuiKey_W, "Draw", "Wireframe", flip<&SceneFlags::wireframe>},
    {ImGuiKey_X, "Draw", "Textures", flip<&SceneFlags::texture>},
    {ImGuiKey_T, "Draw", "Transparent bodies", flip<&SceneFlags::transparent>},
    {ImGuiKey_K, "Draw", "Skybox", flip<&SceneFlags::skybox>},
    {ImGuiKey_G, "Draw", "Fog", flip<&SceneFlags::fog>},
    {ImGuiKey_Slash, "Draw", "Haze before the horizon", flip<&SceneFlags::haze>},
    {ImGuiKey_D, "Draw", "Static shapes", flip<&SceneFlags::static_shapes>},
    {ImGuiKey_J, "Draw", "Joints", flip<&SceneFlags::joints>},
    {ImGuiKey_M, "Draw", "Centres of mass", flip<&SceneFlags::com>},
    {ImGuiKey_I, "Draw", "Inertia boxes", flip<&SceneFlags::inertia>},
    {ImGuiKey_C, "Draw", "Contact points", flip<&SceneFlags::contacts>},
    {ImGuiKey_F, "Draw", "Contact forces", flip<&SceneFlags::contact_forces>},
    {ImGuiKey_B, "Draw", "Perturbation", flip<&SceneFlags::perturbation>},
    {ImGuiKey_Z, "Draw", "Lights", flip<&SceneFlags::lights>},
    {ImGuiKey_Q, "Draw", "Cameras", flip<&SceneFlags::cameras>},
    {ImGuiKey_F6, "Draw", "Frames of the bodies", flip<&SceneFlags::frames>},
    {ImGuiKey_F7, "Draw", "Labels", flip<&SceneFlags::labels>},

    {ImGuiKey_0, "Groups", "Shapes of group 0", flip_group<0>},
    {ImGuiKey_1, "Groups", "Shapes of group 1", flip_group<1>},
    {ImGuiKey_2, "Groups", "Shapes of group 2", flip_group<2>},
    {ImGuiKey_3, "Groups", "Shapes of group 3", flip_group<3>},
    {ImGuiKey_4, "Groups", "Shapes of group 4", flip_group<4>},
    {ImGuiKey_5, "Groups", "Shapes of group 5", flip_group<5>},
    {kShift | ImGuiKey_0, "Groups", "Sites of group 0", flip_sites<0>},
    {kShift | ImGuiKey_1, "Groups", "Sites of group 1", flip_sites<1>},
    {kShift | ImGuiKey_2, "Groups", "Sites of group 2", flip_sites<2>},
    {kShift | ImGuiKey_3, "Groups", "Sites of group 3", flip_sites<3>},
    {kShift | ImGuiKey_4, "Groups", "Sites of group 4", flip_sites<4>},
    {kShift | ImGuiKey_5, "Groups", "Sites of group 5", flip_sites<5>},

    {ImGuiKey_F1, "Window", "This help", [](View& v) { v.help = !v.help; }},
    {ImGuiKey_F2, "Window", "Numbers of the selected world over the scene", [](View& v) { v.info = !v.info; }},
    {ImGuiKey_F3, "Window", "Times of a picture over the scene", [](View& v) { v.profiler = !v.profiler; }},
    {ImGuiKey_F5, "Window", "Full screen", [](View& v) { v.full_screen = !v.full_screen; }},
    {ImGuiKey_Tab, "Window", "Panels on the left", [](View& v) { v.settings.left = !v.settings.left; }},
    {kShift | ImGuiKey_Tab, "Window", "Panels on the right", [](View& v) { v.settings.right = !v.settings.right; }},
    {kCtrl | ImGuiKey_B, "Window", "Panels at the bottom", [](View& v) { v.settings.bottom = !v.settings.bottom; }},
    {ImGuiKey_V, "Window", "Stop drawing: all of the machine computes", [](View& v) { v.drawing = !v.drawing; }},
    {ImGuiKey_P, "Window", "Save a picture of the scene", [](View& v) { v.shot = ShotKind::scene; }},
    {kShift | ImGuiKey_P, "Window", "Save a picture of the window", [](View& v) { v.shot = ShotKind::window; }},
    {kCtrl | ImGuiKey_L, "Window", "Light or dark colours", [](View& v) { v.settings.light = !v.settings.light; }},
    {kCtrl | ImGuiKey_Equal, "Window", "Larger text", [](View& v) { scale_font(v, 1.1f); }},
    {kCtrl | ImGuiKey_Minus, "Window", "Smaller text", [](View& v) { scale_font(v, 1 / 1.1f); }},
    {kCtrl | ImGuiKey_0, "Window", "Text as large as at first", [](View& v) { v.settings.font_scale = 1; }},
    {kCtrl | ImGuiKey_Q, "Window", "Quit", [](View& v) { v.quit = true; }},
};

using HelpRow = std::pair<std::string, const char*>;  // what one does, and what it does

void help_table(const char* title, const std::vector<HelpRow>& rows) {
  ImGui::SeparatorText(title);
  if (!ImGui::BeginTable(title, 2)) return;
  float widest = 0;
  for (const HelpRow& row : rows) widest = std::max(widest, ImGui::CalcTextSize(row.first.c_str()).x);
  ImGui::TableSetupColumn("input", ImGuiTableColumnFlags_WidthFixed, widest);
  for (const auto& [input, text] : rows) {
    ImGui::TableNextColumn();
    ImGui::TextDisabled("%s", input.c_str());
    ImGui::TableNextColumn();
    ImGui::TextWrapped("%s", text);
  }
  ImGui::EndTable();
}

void key_table(const char* group) {
  std::vector<HelpRow> rows;
  for (const KeyBinding& binding : kBindings)
    if (std::strcmp(binding.group, group) == 0) rows.emplace_back(key_text(binding.chord), binding.text);
  help_table(group, rows);
}

void mouse_table() {
  std::vector<HelpRow> rows;
  for (const MouseBinding& binding : mouse_bindings()) rows.emplace_back(binding.gesture, binding.text);
  help_table("Mouse", rows);
}

}  // namespace

std::span<const KeyBinding> key_bindings() { return kBindings; }

std::string key_text(ImGuiKeyChord chord) {
  constexpr std::pair<ImGuiKey, const char*> kNames[] = {
      {ImGuiKey_Equal, "="},        {ImGuiKey_Minus, "-"},        {ImGuiKey_Period, "."},
      {ImGuiKey_Comma, ","},        {ImGuiKey_Slash, "/"},        {ImGuiKey_LeftBracket, "["},
      {ImGuiKey_RightBracket, "]"}, {ImGuiKey_LeftArrow, "Left"}, {ImGuiKey_RightArrow, "Right"},
      {ImGuiKey_PageUp, "PgUp"},    {ImGuiKey_Escape, "Esc"}};
  const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
  const auto known = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& n) { return n.first == key; });
  std::string text = chord & kCtrl ? "Ctrl+" : "";
  if (chord & kShift) text += "Shift+";
  return text + (known != std::end(kNames) ? known->second : ImGui::GetKeyName(key));
}

void dispatch_keys(View& view) {
  // else Tab would also walk through the text fields of a panel
  ImGui::SetKeyOwner(ImGuiKey_Tab, ImGui::GetID("viewer keys"));
  if (ImGui::GetIO().WantTextInput) return;
  for (const KeyBinding& binding : kBindings) {
    if (!view.settings.shortcuts && binding.chord != ImGuiKey_F1) continue;
    const ImGuiInputFlags flags = binding.repeats ? ImGuiInputFlags_Repeat : ImGuiInputFlags_None;
    if (ImGui::IsKeyChordPressed(binding.chord, flags, ImGuiKeyOwner_Any)) binding.act(view);
  }
}

void draw_help(View& view) {
  if (!view.help) return;
  const ImGuiViewport* window = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(window->GetWorkCenter(), ImGuiCond_Always, ImVec2(0.5f, 0.5f));
  ImGui::SetNextWindowSize(ImVec2(window->WorkSize.x * 0.92f, window->WorkSize.y * 0.94f));
  const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoCollapse |
                                 ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove;
  const bool shown = ImGui::Begin("Keys and mouse", &view.help, flags);
  const float column = 22 * ImGui::GetFontSize();  // that texts are easily read in
  const int columns = std::clamp(static_cast<int>(ImGui::GetContentRegionAvail().x / column), 1, 3);
  if (shown && ImGui::BeginTable("columns", columns)) {
    ImGui::TableNextColumn();
    for (const char* group : {"Time", "Worlds", "Camera"}) key_table(group);
    ImGui::TableNextColumn();
    key_table("Draw");
    mouse_table();
    ImGui::TableNextColumn();
    for (const char* group : {"Groups", "Window"}) key_table(group);
    ImGui::EndTable();
  }
  ImGui::End();
}

}  // namespace hotloop

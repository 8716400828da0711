#include "viz/ui/layout.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "data/file.h"
#include "sim/core/error.h"
#include "viz/ui/panel.h"

namespace hotloop {
namespace {

constexpr std::uint64_t kMaxFile = 1 << 20;
constexpr float kSmallest = 0.5f, kLargest = 4;  // of the text's scale
constexpr float kWidestColumn = 0.3f;            // of the window

View& view_of(const ImGuiSettingsHandler* handler) { return *static_cast<View*>(handler->UserData); }

void* open_section(ImGuiContext*, ImGuiSettingsHandler* handler, const char*) { return handler; }

void read_line(ImGuiContext*, ImGuiSettingsHandler* handler, void*, const char* line) {
  ViewSettings& settings = view_of(handler).settings;
  struct {
    const char* format;
    bool* value;
  } const flags[] = {{"Light=%d", &settings.light}, {"Shortcuts=%d", &settings.shortcuts},
                     {"Vsync=%d", &settings.vsync}, {"Left=%d", &settings.left},
                     {"Right=%d", &settings.right}, {"Bottom=%d", &settings.bottom}};
  int number = 0;
  for (const auto& flag : flags)
    if (std::sscanf(line, flag.format, &number) == 1) *flag.value = number != 0;
  float scale = 1;
  if (std::sscanf(line, "FontScale=%f", &scale) == 1 && scale >= kSmallest && scale <= kLargest)
    settings.font_scale = scale;
  if (std::strncmp(line, "Closed=", 7) == 0) settings.closed[line + 7] = true;
}

void write_section(ImGuiContext*, ImGuiSettingsHandler* handler, ImGuiTextBuffer* out) {
  const ViewSettings& settings = view_of(handler).settings;
  out->appendf("[%s][Settings]\nLight=%d\nShortcuts=%d\nVsync=%d\nLeft=%d\nRight=%d\nBottom=%d\nFontScale=%.3f\n",
               handler->TypeName, settings.light, settings.shortcuts, settings.vsync, settings.left, settings.right,
               settings.bottom, static_cast<double>(settings.font_scale));
  for (const auto& [name, closed] : settings.closed)
    if (closed) out->appendf("Closed=%s\n", name.c_str());
  out->append("\n");
}

void build_default(ImGuiID space, const ImVec2& size) {
  ImGui::DockBuilderRemoveNode(space);
  ImGui::DockBuilderAddNode(space, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodeSize(space, size);
  ImGuiID middle = space;
  // columns wide enough for their text, but the scene has the most
  const float room = ImGui::GetFontSize() / std::max(size.x, 1.0f);
  const float left_share = std::clamp(20 * room, 0.19f, kWidestColumn);
  const float right_share = std::clamp(21 * room, 0.235f, kWidestColumn);
  const ImGuiID left = ImGui::DockBuilderSplitNode(middle, ImGuiDir_Left, left_share, nullptr, &middle);
  const ImGuiID right =
      ImGui::DockBuilderSplitNode(middle, ImGuiDir_Right, right_share / (1 - left_share), nullptr, &middle);
  const ImGuiID bottom = ImGui::DockBuilderSplitNode(middle, ImGuiDir_Down, 0.30f, nullptr, &middle);
  ImGuiID top_left = left;
  const ImGuiID low_left = ImGui::DockBuilderSplitNode(top_left, ImGuiDir_Down, 0.56f, nullptr, &top_left);
  ImGui::DockBuilderDockWindow(kSceneWindow, middle);
  for (const Panel& panel : panels()) {
    const ImGuiID nodes[] = {top_left, low_left, right, bottom};
    ImGui::DockBuilderDockWindow(panel.name, nodes[static_cast<int>(panel.place)]);
  }
  ImGui::DockBuilderGetNode(middle)->SetLocalFlags(ImGuiDockNodeFlags_HiddenTabBar | ImGuiDockNodeFlags_CentralNode);
  ImGui::DockBuilderFinish(space);
}

// The columns beside the scene grow and shrink with their text.
void fit_columns(float factor, float window_width) {
  for (const char* panel : {"Simulation", "Controls"}) {
    const ImGuiWindow* window = ImGui::FindWindowByName(panel);
    ImGuiDockNode* node = window ? window->DockNode : nullptr;
    while (node && node->ParentNode && node->ParentNode->SplitAxis != ImGuiAxis_X) node = node->ParentNode;
    if (!node || !node->ParentNode) continue;
    const float width = std::clamp(node->Size.x * factor, 1.0f, kWidestColumn * window_width);
    ImGui::DockBuilderSetNodeSize(node->ID, {width, node->Size.y});
  }
}

}  // namespace

std::string layout_file() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config) return std::string(config) + "/hotloop/viewer.ini";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.config/hotloop/viewer.ini" : std::string();
}

void load_layout(const std::string& file, View& view) {
  ImGuiSettingsHandler handler;
  handler.TypeName = "Hotloop";
  handler.TypeHash = ImHashStr("Hotloop");
  handler.ReadOpenFn = open_section;
  handler.ReadLineFn = read_line;
  handler.WriteAllFn = write_section;
  handler.UserData = &view;
  ImGui::AddSettingsHandler(&handler);
  if (file.empty() || !std::filesystem::exists(file)) return;
  try {
    const std::string text = read_file(file, kMaxFile);
    ImGui::LoadIniSettingsFromMemory(text.data(), text.size());
  } catch (const Error& e) {
    view.say(std::string("layout not read: ") + e.what());
  }
}

void save_layout(const std::string& file, View& view) {
  ImGuiIO& io = ImGui::GetIO();
  if (file.empty() || !io.WantSaveIniSettings) return;
  io.WantSaveIniSettings = false;
  std::size_t size = 0;
  const char* text = ImGui::SaveIniSettingsToMemory(&size);
  try {
    make_folder(std::filesystem::path(file).parent_path());
    write_file(file, std::string_view(text, size));
    view.layout_failed = false;
  } catch (const Error& e) {
    if (!view.layout_failed) view.say(std::string("layout not saved: ") + e.what());
    view.layout_failed = true;
  }
}

void draw_dockspace(View& view) {
  const ImGuiID space = ImGui::GetID("dockspace");
  const ImGuiViewport* window = ImGui::GetMainViewport();
  if (view.reset_layout || !ImGui::DockBuilderGetNode(space)) {
    build_default(space, window->WorkSize);
    if (view.reset_layout) view.settings.closed.clear();
    if (view.reset_layout) view.settings.left = view.settings.right = view.settings.bottom = true;
    view.reset_layout = false;
    view.panel.columns_scale = view.settings.font_scale;
  }
  float& scale = view.panel.columns_scale;
  if (scale > 0 && scale != view.settings.font_scale) fit_columns(view.settings.font_scale / scale, window->WorkSize.x);
  scale = view.settings.font_scale;
  ImGui::DockSpaceOverViewport(space, window, ImGuiDockNodeFlags_NoDockingOverCentralNode);
}

}  // namespace hotloop

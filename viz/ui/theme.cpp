#include "viz/ui/theme.h"

#include <imgui.h>
#include <implot.h>

namespace hotloop {
namespace {

constexpr float kFontSize = 15;

ImVec4 color(unsigned rgb, float alpha = 1) {
  const auto channel = [rgb](int shift) { return static_cast<float>(rgb >> shift & 255) / 255; };
  return {channel(16), channel(8), channel(0), alpha};
}

// Few colours: three grays of surfaces, one for text, one accent.
struct Palette {
  unsigned window, frame, raised, text, dim, accent, border;
};
constexpr Palette kDark = {0x1b1d21, 0x282b31, 0x353942, 0xe4e6ea, 0x8b919c, 0x3f87d9, 0x0f1013};
constexpr Palette kLight = {0xf6f7f8, 0xe6e8eb, 0xd5d9de, 0x1d2025, 0x6c737d, 0x2f6fbd, 0xc3c8ce};

void set_colors(ImGuiStyle& style, const Palette& p, bool light) {
  if (light)
    ImGui::StyleColorsLight(&style);
  else
    ImGui::StyleColorsDark(&style);
  ImVec4* c = style.Colors;
  c[ImGuiCol_Text] = color(p.text);
  c[ImGuiCol_TextDisabled] = color(p.dim);
  c[ImGuiCol_WindowBg] = c[ImGuiCol_DockingEmptyBg] = color(p.window);
  c[ImGuiCol_PopupBg] = color(p.window, 0.97f);
  c[ImGuiCol_Border] = c[ImGuiCol_Separator] = color(p.border);
  c[ImGuiCol_FrameBg] = c[ImGuiCol_MenuBarBg] = c[ImGuiCol_TableHeaderBg] = color(p.frame);
  c[ImGuiCol_FrameBgHovered] = c[ImGuiCol_FrameBgActive] = color(p.raised);
  c[ImGuiCol_TitleBg] = c[ImGuiCol_TitleBgActive] = c[ImGuiCol_TitleBgCollapsed] = color(p.border);
  c[ImGuiCol_Tab] = c[ImGuiCol_TabDimmed] = color(p.frame);
  c[ImGuiCol_TabSelected] = c[ImGuiCol_TabDimmedSelected] = color(p.window);
  c[ImGuiCol_TabSelectedOverline] = c[ImGuiCol_TabDimmedSelectedOverline] = color(p.accent);
  c[ImGuiCol_TabHovered] = color(p.raised);
  c[ImGuiCol_Button] = color(p.raised);
  c[ImGuiCol_ButtonHovered] = c[ImGuiCol_HeaderHovered] = color(p.accent, 0.55f);
  c[ImGuiCol_ButtonActive] = c[ImGuiCol_HeaderActive] = color(p.accent, 0.85f);
  c[ImGuiCol_Header] = color(p.accent, 0.3f);
  c[ImGuiCol_SliderGrab] = c[ImGuiCol_SliderGrabActive] = c[ImGuiCol_CheckMark] = color(p.accent);
  c[ImGuiCol_PlotHistogram] = c[ImGuiCol_PlotLines] = color(p.accent);
  c[ImGuiCol_ScrollbarBg] = color(p.window);
  c[ImGuiCol_ScrollbarGrab] = color(p.raised);
  c[ImGuiCol_TableRowBgAlt] = color(p.text, 0.035f);
}

}  // namespace

void load_font() {
  ImGui::GetIO().Fonts->AddFontDefaultVector();
  ImGui::GetStyle().FontSizeBase = kFontSize;
}

void apply_theme(bool light, float monitor_scale, float font_scale) {
  ImGuiStyle style;
  set_colors(style, light ? kLight : kDark, light);
  style.WindowPadding = {8, 7};
  style.FramePadding = {7, 3};
  style.ItemSpacing = {7, 5};
  style.ItemInnerSpacing = {6, 4};
  style.WindowRounding = style.ChildRounding = style.PopupRounding = 4;
  style.FrameRounding = style.GrabRounding = style.TabRounding = 3;
  style.ScrollbarSize = 12;
  style.WindowBorderSize = style.PopupBorderSize = 1;
  style.DockingSeparatorSize = 2;
  style.SeparatorTextBorderSize = 1;
  style.ScaleAllSizes(monitor_scale);
  style.FontSizeBase = kFontSize;
  style.FontScaleDpi = monitor_scale;
  style.FontScaleMain = font_scale;
  ImGui::GetStyle() = style;

  if (light)
    ImPlot::StyleColorsLight();
  else
    ImPlot::StyleColorsDark();
  ImPlotStyle& plot = ImPlot::GetStyle();
  plot.Colors[ImPlotCol_FrameBg] = plot.Colors[ImPlotCol_PlotBorder] = ImVec4(0, 0, 0, 0);
  plot.Colors[ImPlotCol_PlotBg] = color(light ? 0xffffff : 0x131519);
  plot.Colors[ImPlotCol_AxisGrid] = color(light ? kLight.text : kDark.text, 0.12f);
  plot.PlotPadding = {6 * monitor_scale, 6 * monitor_scale};
  plot.Colormap = light ? ImPlotColormap_Dark : ImPlotColormap_Deep;
}

}  // namespace hotloop

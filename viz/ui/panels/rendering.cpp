// What is drawn, and how.
#include <imgui.h>

#include <cstdio>
#include <iterator>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

struct Flag {
  const char* label;
  const char* tip;
  bool SceneFlags::*value;
};
constexpr Flag kLook[] = {
    {"Shadows", "Of the lights that cast them (S)", &SceneFlags::shadow},
    {"Reflections", "On floors that reflect, with one world alone (R)", &SceneFlags::reflection},
    {"Textures", "Pictures on surfaces, else plain colours (X)", &SceneFlags::texture},
    {"Skybox", "The sky of the model, else a plain background (K)", &SceneFlags::skybox},
    {"Fog", "What is far away fades (G)", &SceneFlags::fog},
    {"Haze", "An endless floor passes into haze below the skybox (/)", &SceneFlags::haze},
    {"Wireframe", "Edges of the triangles only (W)", &SceneFlags::wireframe},
    {"Transparent", "Look through moving bodies (T)", &SceneFlags::transparent},
    {"Static", "Shapes that belong to the world, such as floors (D)", &SceneFlags::static_shapes},
};
constexpr Flag kAids[] = {
    {"Contacts", "Where bodies touch, in the selected world (C)", &SceneFlags::contacts},
    {"Forces", "Forces of the contacts, in the selected world (F)", &SceneFlags::contact_forces},
    {"Joints", "Axes of the joints, in the selected world (J)", &SceneFlags::joints},
    {"COM", "Centres of mass of the bodies of the selected world (M)", &SceneFlags::com},
    {"Inertia", "Boxes with the inertia of the bodies of the selected world (I)", &SceneFlags::inertia},
    {"Frames", "Axes of the bodies of the selected world: x red, y green, z blue (F6)", &SceneFlags::frames},
    {"Labels", "Names of the bodies of the selected world (F7)", &SceneFlags::labels},
    {"Perturbation", "The pull of the mouse (B)", &SceneFlags::perturbation},
    {"Lights", "Where the lights of the selected world are (Z)", &SceneFlags::lights},
    {"Cameras", "Where the cameras of the selected world are (Q)", &SceneFlags::cameras},
};

template <std::size_t size>
void flag_table(const char* title, const char* heading, const Flag (&flags)[size], SceneFlags& values) {
  ImGui::SeparatorText(heading);
  const bool wide = ImGui::GetContentRegionAvail().x > 16 * ImGui::GetFontSize();
  if (!ImGui::BeginTable(title, wide ? 2 : 1)) return;
  for (const Flag& flag : flags) {
    ImGui::TableNextColumn();
    ImGui::Checkbox(flag.label, &(values.*flag.value));
    tip(flag.tip);
  }
  ImGui::EndTable();
}

void group_row(const char* title, const char* key, bool (&groups)[6]) {
  ImGui::PushID(title);
  ImGui::TextDisabled("%s", title);
  for (int i = 0; i < 6; ++i) {
    char label[4];
    std::snprintf(label, sizeof label, "%d", i);
    if (i > 0) beside(label);
    ImGui::Checkbox(label, &groups[i]);
    char text[48];
    std::snprintf(text, sizeof text, "%s of group %d (%s%d)", title, i, key, i);
    tip(text);
  }
  ImGui::PopID();
}

}  // namespace

void draw_rendering(View& view) {
  flag_table("Look", "Look", kLook, view.flags);
  flag_table("Aids", "Aids, selected world", kAids, view.flags);
  ImGui::SeparatorText("Groups");
  group_row("Shapes", "", view.flags.groups);
  group_row("Sites", "Shift ", view.flags.site_groups);
}

}  // namespace hotloop

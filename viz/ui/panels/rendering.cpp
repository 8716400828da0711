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
    {"Shadows", "Of the first light that casts them (S)", &SceneFlags::shadow},
    {"Reflections", "On floors that reflect, with one world alone (R)", &SceneFlags::reflection},
    {"Textures", "Pictures on surfaces, else plain colours (X)", &SceneFlags::texture},
    {"Skybox", "The sky of the model, else a plain background (K)", &SceneFlags::skybox},
    {"Fog", "What is far away fades (G)", &SceneFlags::fog},
    {"Wireframe", "Edges of the triangles only (W)", &SceneFlags::wireframe},
    {"Transparent", "Look through moving bodies (T)", &SceneFlags::transparent},
    {"Static", "Shapes that belong to the world, such as floors (D)", &SceneFlags::static_shapes},
};
constexpr Flag kAids[] = {
    {"Contacts", "Where bodies touch, in the selected world (C)", &SceneFlags::contacts},
    {"Forces", "Forces of the contacts (F)", &SceneFlags::contact_forces},
    {"Joints", "Axes of the joints (J)", &SceneFlags::joints},
    {"COM", "Centres of mass of the bodies (M)", &SceneFlags::com},
    {"Inertia", "Boxes with the inertia of the bodies (I)", &SceneFlags::inertia},
    {"Frames", "Axes of the bodies: x red, y green, z blue (F6)", &SceneFlags::frames},
    {"Labels", "Names of the bodies (F7)", &SceneFlags::labels},
    {"Perturbation", "The pull of the mouse (B)", &SceneFlags::perturbation},
    {"Lights", "Where the lights are (Z)", &SceneFlags::lights},
    {"Cameras", "Where the model's cameras are (Q)", &SceneFlags::cameras},
};

template <std::size_t size>
void flag_table(const char* title, const Flag (&flags)[size], SceneFlags& values) {
  ImGui::SeparatorText(title);
  if (!ImGui::BeginTable(title, 2)) return;
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
    if (i > 0) ImGui::SameLine();
    char label[4];
    std::snprintf(label, sizeof label, "%d", i);
    ImGui::Checkbox(label, &groups[i]);
    char text[48];
    std::snprintf(text, sizeof text, "%s of group %d (%s%d)", title, i, key, i);
    tip(text);
  }
  ImGui::PopID();
}

}  // namespace

void draw_rendering(View& view) {
  flag_table("Look", kLook, view.flags);
  flag_table("Aids", kAids, view.flags);
  ImGui::SeparatorText("Groups");
  group_row("Shapes", "", view.flags.groups);
  group_row("Sites", "Shift ", view.flags.site_groups);
}

}  // namespace hotloop

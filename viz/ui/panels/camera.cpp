// The camera: free, following a body, or one of the model's.
#include <imgui.h>

#include <algorithm>

#include "viz/ui/mouse.h"
#include "viz/ui/panel.h"

namespace hotloop {
namespace {

void choose(View& view) {
  const VisualModel& model = view.source.visual();
  CameraControl& camera = view.camera;
  if (!ImGui::BeginCombo("Camera", camera.name().c_str())) {
    tip("Free, following a body, or a camera of the model ([ and ])");
    return;
  }
  if (ImGui::Selectable("free", camera.mode() == CameraControl::Mode::free)) camera.set_free();
  for (int i = 0; i < static_cast<int>(model.cameras.size()); ++i) {
    const std::string& own = model.cameras[i].name;
    const std::string name = own.empty() ? "camera " + std::to_string(i) : own;
    if (ImGui::Selectable(name.c_str(), camera.mode() == CameraControl::Mode::fixed && camera.fixed() == i))
      camera.set_fixed(i);
  }
  for (int i = 1; i < model.num_frames(); ++i) {
    const std::string name = "track " + model.frames[i].name + "##" + std::to_string(i);
    if (ImGui::Selectable(name.c_str(), camera.mode() == CameraControl::Mode::track && camera.frame() == i))
      camera.track(i);
  }
  ImGui::EndCombo();
}

}  // namespace

void draw_camera(View& view) {
  CameraControl& control = view.camera;
  push_label_room(6);
  choose(view);
  ImGui::BeginDisabled(control.mode() == CameraControl::Mode::fixed);
  Camera& orbit = control.orbit();
  const Camera before = orbit;
  ImGui::SliderFloat("Azimuth", &orbit.azimuth, -180, 180, "%.1f deg");
  tip("Looking direction about the vertical (left drag)");
  ImGui::SliderFloat("Elevation", &orbit.elevation, -89, 89, "%.1f deg", ImGuiSliderFlags_AlwaysClamp);
  tip("Looking direction up or down (left drag)");
  const float extent = view.source.visual().extent;
  if (ImGui::SliderFloat("Distance", &orbit.distance, 0.05f * extent, 200 * extent, "%.2f m",
                         ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp))
    control.zoom(0);
  tip("From the point that is looked at (wheel)");
  ImGui::BeginDisabled(control.mode() == CameraControl::Mode::track);
  ImGui::DragFloat3("Look at", &orbit.lookat.x, 0.01f * extent, 0, 0, "%.2f");
  tip("The point in the middle of the picture [m] (right drag, right double click)");
  ImGui::EndDisabled();
  ImGui::SliderFloat("Field", &orbit.fovy, 5, 120, "%.0f deg", ImGuiSliderFlags_AlwaysClamp);
  tip("Vertical field of view");
  const auto numbers = {orbit.azimuth,  orbit.elevation, orbit.distance, orbit.lookat.x,
                        orbit.lookat.y, orbit.lookat.z,  orbit.fovy};
  if (!std::all_of(numbers.begin(), numbers.end(), [&](float v) { return is_number(view, "camera", v); }))
    orbit = before;
  ImGui::EndDisabled();
  ImGui::PopItemWidth();
  if (ImGui::Button("Align")) align_camera(view);
  tip("The view as at the start (Ctrl A)");
  beside("Follow selection");
  ImGui::BeginDisabled(view.selected_frame <= 0);
  if (ImGui::Button("Follow selection")) control.track(view.selected_frame);
  ImGui::EndDisabled();
  tip("Double click a body to select it, then follow it (Ctrl right double click)");
}

}  // namespace hotloop

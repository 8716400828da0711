#include "viz/ui/mouse.h"

#include <algorithm>

#include "viz/headless.h"

namespace hotloop {
namespace {

constexpr ImGuiKeyChord kCtrl = ImGuiMod_Ctrl, kShift = ImGuiMod_Shift;
using Kind = MouseBinding::Kind;

void select_hit(View& view, const MouseEvent& event) {
  const Scene::Hit hit = event.scene.pick(event.x, event.y);
  if (hit.world >= 0) view.select_world(hit.world);
  view.selected_frame = hit.frame > 0 ? hit.frame : -1;
}

void center_hit(View& view, const MouseEvent& event) {
  const Scene::Hit hit = event.scene.pick(event.x, event.y);
  if (hit.shape < 0) return;
  const std::int64_t world = std::max<std::int64_t>(hit.world, 0);
  const Float3 offset = hit.world < 0 ? Float3{} : Scene::world_offset(view.grid(), view.source.visual(), world);
  view.camera.center({hit.point[0] + offset[0], hit.point[1] + offset[1], hit.point[2] + offset[2]});
}

void track_hit(View& view, const MouseEvent& event) {
  const Scene::Hit hit = event.scene.pick(event.x, event.y);
  if (hit.frame <= 0) return;
  view.select_world(hit.world);
  view.selected_frame = hit.frame;
  view.camera.track(hit.frame);
}

// The first move of a drag takes hold of the selected body where the mouse is on it, else at its centre; without a
// selection of what is under the mouse.
void perturb(View& view, const MouseEvent& event, Perturb::Kind kind) {
  if (!view.perturb.active()) {
    const bool possible = view.pacer.paused ? view.source.info().can_pose : view.source.info().can_perturb;
    if (!possible && !view.push_refused)
      view.say(view.pacer.paused ? "the bodies of these worlds cannot be moved by hand"
                                 : "the bodies of these worlds cannot be pushed");
    view.push_refused = !possible;  // said once a drag
    if (!possible) return;
    const Scene::Hit hit = event.scene.pick(event.x, event.y);
    if (view.selected_frame <= 0 && hit.frame > 0) {
      view.select_world(hit.world);
      view.selected_frame = hit.frame;
      return;  // its frames are known with the next picture
    }
    if (view.selected_frame <= 0 || view.selected_frame >= static_cast<int>(view.frames.size())) return;
    const Frame& frame = view.frames[view.selected_frame];
    glm::vec3 point(frame.pos[0], frame.pos[1], frame.pos[2]);
    if (hit.world == view.selected && hit.frame == view.selected_frame)
      point = {hit.point[0], hit.point[1], hit.point[2]};
    view.perturb.begin(kind, view.source.visual(), view.selected_frame, point, view.frames);
  }
  view.perturb.move(event.dx, event.dy, view.drawn_camera);
}

constexpr MouseBinding kBindings[] = {
    {"left drag", "Turn the camera", Kind::drag, ImGuiMouseButton_Left, 0,
     [](View& v, const MouseEvent& e) { v.camera.rotate(e.dx, e.dy); }},
    {"right drag", "Move the camera", Kind::drag, ImGuiMouseButton_Right, 0,
     [](View& v, const MouseEvent& e) { v.camera.pan(e.dx, e.dy, false); }},
    {"Shift right drag", "Move the camera along the ground", Kind::drag, ImGuiMouseButton_Right, kShift,
     [](View& v, const MouseEvent& e) { v.camera.pan(e.dx, e.dy, true); }},
    {"middle drag", "Zoom", Kind::drag, ImGuiMouseButton_Middle, 0,
     [](View& v, const MouseEvent& e) { v.camera.zoom(-12 * e.dy); }},
    {"wheel", "Zoom", Kind::wheel, 0, 0, [](View& v, const MouseEvent& e) { v.camera.zoom(e.dy); }},
    {"double click", "Select the body and its world", Kind::double_click, ImGuiMouseButton_Left, 0, select_hit},
    {"right double click", "Look at the point", Kind::double_click, ImGuiMouseButton_Right, 0, center_hit},
    {"Ctrl right double click", "Follow the body", Kind::double_click, ImGuiMouseButton_Right, kCtrl, track_hit},
    {"Ctrl left drag", "Turn the body (torque; paused: pose)", Kind::drag, ImGuiMouseButton_Left, kCtrl,
     [](View& v, const MouseEvent& e) { perturb(v, e, Perturb::Kind::rotate); }},
    {"Ctrl right drag", "Pull the body (force; paused: pose)", Kind::drag, ImGuiMouseButton_Right, kCtrl,
     [](View& v, const MouseEvent& e) { perturb(v, e, Perturb::Kind::translate); }},
};

bool happens(const MouseBinding& binding, bool hovered, bool held) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyMods != binding.mods) return false;
  switch (binding.kind) {
    case Kind::wheel:
      return hovered && io.MouseWheel != 0;
    case Kind::double_click:
      return hovered && ImGui::IsMouseDoubleClicked(binding.button);
    case Kind::drag:
      return held && ImGui::IsMouseDown(binding.button) && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0);
  }
  return false;
}

}  // namespace

std::span<const MouseBinding> mouse_bindings() { return kBindings; }

void dispatch_mouse(View& view, Scene& scene, float scale) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool hovered = ImGui::IsItemHovered(), held = ImGui::IsItemActive();
  if (view.perturb.active() && (!held || !io.KeyCtrl)) view.perturb.end(view.source, view.selected);
  if (!held) view.push_refused = false;
  if (!hovered && !held) return;
  for (const MouseBinding& binding : kBindings) {
    if (!happens(binding, hovered, held)) continue;
    MouseEvent event{scene, static_cast<int>((io.MousePos.x - view.image_x) * scale),
                     static_cast<int>((io.MousePos.y - view.image_y) * scale), io.MouseDelta.x / view.image_height,
                     io.MouseDelta.y / view.image_height};
    if (binding.kind == Kind::wheel) event.dy = io.MouseWheel;
    binding.act(view, event);
  }
}

void align_camera(View& view) {
  const WorldGrid grid = view.grid();
  view.camera.align(grid_camera(view.source.visual(), grid), grid.count > 1);
}

}  // namespace hotloop

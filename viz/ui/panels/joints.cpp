// The selected world's joints as sliders: they show, and where the source lets one, they move.
#include <imgui.h>

#include <algorithm>
#include <cstdio>

#include "viz/ui/panel.h"

namespace hotloop {
namespace {

std::string label_of(const VisualJoint& joint) {
  return joint.name.empty() ? "joint " + std::to_string(joint.qpos) : joint.name;
}

void joint_slider(View& view, const VisualJoint& joint, const std::vector<float>& qpos, bool locked) {
  const bool hinge = joint.kind == VisualJoint::Kind::hinge;
  float value = qpos[static_cast<std::size_t>(joint.qpos)];
  const float low = joint.limited ? joint.range[0] : hinge ? -3.14159f : -2.0f;
  const float high = joint.limited ? joint.range[1] : -low;
  const std::string label = label_of(joint);
  ImGui::BeginDisabled(locked);
  if (ImGui::SliderFloat((label + "##" + std::to_string(joint.qpos)).c_str(), &value, low, high,
                         hinge ? "%.3f rad" : "%.3f m", ImGuiSliderFlags_AlwaysClamp) &&
      is_number(view, label, value))
    view.set_qpos(static_cast<std::size_t>(joint.qpos), value);
  ImGui::EndDisabled();
  tip(hinge ? "Angle of the hinge" : "Position of the slide");
}

void pose_text(const VisualJoint& joint, const std::vector<float>& qpos) {
  const float* q = qpos.data() + joint.qpos;
  const char* name = joint.name.empty() ? "free" : joint.name.c_str();
  if (joint.kind == VisualJoint::Kind::free)
    ImGui::TextWrapped("%s: %.2f %.2f %.2f m, quat %.2f %.2f %.2f %.2f", name, q[0], q[1], q[2], q[3], q[4], q[5],
                       q[6]);
  else
    ImGui::TextWrapped("%s: quat %.2f %.2f %.2f %.2f", name, q[0], q[1], q[2], q[3]);
}

}  // namespace

void draw_joints(View& view) {
  const std::vector<float> qpos = view.recorder.report().qpos;
  const VisualModel& model = view.source.visual();
  if (model.joints.empty() || qpos.empty()) {
    unavailable("These worlds have no joints to show: they are not made of a model.");
    return;
  }
  const bool locked = !view.source.info().can_pose;
  if (locked) unavailable("Shown only: this source does not let joints be set by hand.");
  std::vector<std::string> labels;
  for (const VisualJoint& joint : model.joints) labels.push_back(label_of(joint));
  push_label_room(labels);
  for (const VisualJoint& joint : model.joints) {
    const bool scalar = joint.kind == VisualJoint::Kind::hinge || joint.kind == VisualJoint::Kind::slide;
    const std::size_t end = static_cast<std::size_t>(joint.qpos) + (joint.kind == VisualJoint::Kind::free   ? 7
                                                                    : joint.kind == VisualJoint::Kind::ball ? 4
                                                                                                            : 1);
    if (end > qpos.size()) continue;
    if (scalar)
      joint_slider(view, joint, qpos, locked);
    else
      pose_text(joint, qpos);
  }
  ImGui::PopItemWidth();
}

}  // namespace hotloop

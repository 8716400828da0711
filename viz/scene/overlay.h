// Aids that show what one world does: contacts, forces, joints, centres of mass, inertia, frames.
#pragma once
#include <span>
#include <vector>

#include "viz/scene/shape_table.h"

namespace hotloop {

// offset: where the world stands in the picture.
std::vector<GpuShape> overlay_shapes(const VisualModel& model, std::span<const Frame> frames, const glm::vec3& offset,
                                     const SceneFlags& flags, const SceneOverlay& overlay);

}  // namespace hotloop

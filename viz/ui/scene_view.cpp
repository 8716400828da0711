#include "viz/ui/scene_view.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "viz/gl/context.h"
#include "viz/ui/mouse.h"
#include "viz/ui/panel.h"
#include "viz/ui/shot.h"

namespace hotloop {
namespace {

constexpr std::int64_t kMostWorlds = 16384, kFirstSoftware = 64, kFirstHardware = 4096;

std::int64_t room(const View& view) {
  return std::min({view.source.info().num_worlds, kMostWorlds, Scene::most_worlds(view.source.visual())});
}

Float3 floats(const glm::vec3& v) { return {v.x, v.y, v.z}; }

void label(const View& view, const glm::vec3& point, const char* text) {
  glm::vec2 pixel;
  if (!project(view.drawn_camera, point, static_cast<int>(view.image_width), static_cast<int>(view.image_height),
               pixel))
    return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 size = ImGui::CalcTextSize(text);
  const ImVec2 at(view.image_x + pixel.x + 6, view.image_y + pixel.y - size.y / 2);
  list->AddRectFilled({at.x - 3, at.y - 1}, {at.x + size.x + 3, at.y + size.y + 1}, IM_COL32(0, 0, 0, 140), 3);
  list->AddText(at, IM_COL32(255, 255, 255, 255), text);
}

void body_labels(const View& view) {
  const VisualModel& model = view.source.visual();
  const Float3 offset = Scene::world_offset(view.grid(), model, view.selected);
  for (int i = 1; i < model.num_frames() && i < static_cast<int>(view.frames.size()); ++i) {
    const float* p = view.frames[static_cast<std::size_t>(i)].pos;
    label(view, {p[0] + offset[0], p[1] + offset[1], p[2] + offset[2]},
          model.frames[static_cast<std::size_t>(i)].name.c_str());
  }
}

// Where worlds of two logs stand side by side: which is which, under each.
void world_labels(const View& view) {
  constexpr std::int64_t kReadable = 64;
  const WorldGrid grid = view.grid();
  if (view.source.partner(grid.first) < 0 || grid.count > kReadable) return;
  for (std::int64_t world = grid.first; world < grid.first + grid.count; ++world) {
    const Float3 at = Scene::world_offset(grid, view.source.visual(), world);
    label(view, {at[0], at[1], at[2]}, view.source.world_name(world).c_str());
  }
}

// A block of text in the picture, as wide as that at most: so far below its upper edge, or above the lower one where
// the number is negative. Returns its height.
float text_block(const View& view, float below, const std::string& text) {
  const float room = std::max(view.image_width - 16, 1.0f);
  const ImVec2 size = ImGui::CalcTextSize(text.c_str(), nullptr, false, room);
  const ImVec2 at(view.image_x + 8, view.image_y + (below < 0 ? view.image_height + below - size.y : below));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({at.x - 4, at.y - 2}, {at.x + size.x + 4, at.y + size.y + 2}, IM_COL32(0, 0, 0, 130), 3);
  list->AddText(ImGui::GetFont(), ImGui::GetFontSize(), at, IM_COL32(255, 255, 255, 230), text.c_str(), nullptr, room);
  return size.y;
}

// Which camera, world and body, in the picture's corner. Returns its height.
float corner_text(const View& view) {
  std::string text = "world " + view.selected_name() + "   camera: " + view.camera.name();
  if (view.selected_frame > 0)
    text += "   body: " + view.source.visual().frames[static_cast<std::size_t>(view.selected_frame)].name;
  if (view.hand.active) text += "   by hand";
  if (!view.drawing) text = "Not drawing, so that all of the machine computes. V draws again.";
  return text_block(view, 6, text);
}

// In the middle near the lower edge, larger than the rest.
void notice(const View& view) {
  if (view.notice.empty()) return;
  const float below = 3 * ImGui::GetTextLineHeight(), room = 0.9f * view.image_width;
  ImGui::PushFont(nullptr, 1.4f * ImGui::GetStyle().FontSizeBase);
  const ImVec2 size = ImGui::CalcTextSize(view.notice.c_str(), nullptr, false, room);
  const ImVec2 at(view.image_x + (view.image_width - size.x) / 2, view.image_y + view.image_height - size.y - below);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({at.x - 12, at.y - 6}, {at.x + size.x + 12, at.y + size.y + 6}, IM_COL32(20, 90, 40, 220), 5);
  list->AddText(ImGui::GetFont(), ImGui::GetFontSize(), at, IM_COL32(255, 255, 255, 255), view.notice.c_str(), nullptr,
                room);
  ImGui::PopFont();
}

// As simulate's F2 and F3, one below the other.
void number_blocks(View& view, float below) {
  if (view.info) {
    const WorldReport& world = view.recorder.report();
    below += 0.6f * ImGui::GetTextLineHeight();
    below +=
        text_block(view, below,
                   fmt::format("time     {:.3f} s, step {}\nepisode  {} steps, return {:.2f}, {} ended\n"
                               "energy   {:.4g} J\nworlds   {}, {}",
                               view.source.time(), view.source.position(), world.episode_length, world.episode_return,
                               world.episodes, world.energy, view.source.info().num_worlds, speed_text(view)));
  }
  if (view.profiler)
    text_block(
        view, below + 0.6f * ImGui::GetTextLineHeight(),
        fmt::format("picture  {:.1f} ms, {:.0f} a second\nworlds   {:.1f} ms\ndrawing  {:.1f} ms\n"
                    "shapes   {} of {}, {:.3g} triangles",
                    1e3 * view.frame_seconds, view.picture_rate, 1e3 * view.step_seconds, view.stats.gpu_milliseconds,
                    view.stats.drawn, view.stats.instances, static_cast<double>(view.stats.triangles)));
}

}  // namespace

SceneView::SceneView(View& view, const SceneQuality& quality)
    : scene_(view.source.visual(), quality),
      frames_(view.source.visual().num_frames(), room(view), view.source.info().device) {
  view.max_shown = room(view);
  view.count = std::min(room(view), is_software_gl() ? kFirstSoftware : kFirstHardware);
  view.renderer = describe_gl();
  view.quality = describe(quality);
  if (frames_.path().starts_with("copy"))  // of a card whose driver cannot share memory with OpenGL
    view.say("poses are copied through host memory: " + frames_.path());
  if (view.count > 1) align_camera(view);
}

// What the log got last, for some seconds, as its panel may be hidden.
void SceneView::latest_message(const View& view) {
  constexpr double kSeconds = 4;
  if (view.said != said_) said_ = view.said, said_at_ = ImGui::GetTime();
  if (view.messages.empty() || said_ == 0 || ImGui::GetTime() - said_at_ > kSeconds) return;
  text_block(view, -0.6f * ImGui::GetTextLineHeight(), view.messages.back());
}

void SceneView::take_frames(View& view) {
  const WorldGrid grid = view.grid();
  const bool frozen = view.pacer.paused && !view.source.info().can_step && frames_.count() == grid.count;
  if (!frozen) frames_.update(view.source, grid.first, grid.count);
  view.frame_path = frames_.path();
  view.frames.clear();
  if (view.selected >= grid.first && view.selected < grid.first + grid.count)
    view.frames = frames_.world(view.selected - grid.first);
}

SceneOverlay SceneView::overlay(View& view) const {
  SceneOverlay aids;
  aids.selected_frame = view.selected_frame;
  if (view.flags.contacts || view.flags.contact_forces) aids.contacts = view.source.contacts(view.selected);
  if (view.perturb.active() && !view.frames.empty()) {
    aids.perturbing = true;
    aids.perturb_from = floats(view.perturb.from(view.frames));
    aids.perturb_to = floats(view.perturb.to());
  }
  return aids;
}

void SceneView::draw_scene(View& view) {
  const WorldGrid grid = view.grid();
  SceneFlags flags = view.flags;
  flags.light_theme = view.settings.light;
  view.drawn_camera = view.camera.camera(view.frames, Scene::world_offset(grid, view.source.visual(), view.selected));
  scene_.draw(frames_, grid, view.drawn_camera, flags, overlay(view),
              {target_.framebuffer(), target_.width(), target_.height()});
  view.stats = scene_.stats();
}

void SceneView::draw(View& view, double seconds) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  const ImGuiWindowFlags flags = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse |
                                 ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoMove;
  const bool shown = ImGui::Begin(kSceneWindow, nullptr, flags);
  ImGui::PopStyleVar();
  const ImVec2 corner = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  const float scale = ImGui::GetIO().DisplayFramebufferScale.x;
  const int width = static_cast<int>(size.x * scale), height = static_cast<int>(size.y * scale);
  if (shown && width > 0 && height > 0) {
    view.image_x = corner.x;
    view.image_y = corner.y;
    view.image_width = size.x;
    view.image_height = size.y;
    target_.resize(width, height);
    if (view.drawing) {
      take_frames(view);
      view.perturb.apply(view.source, view.selected, view.frames, view.pacer.paused, seconds, view.recorder.report());
      draw_scene(view);
    }
    ImGui::Image(ImTextureRef(static_cast<ImTextureID>(target_.color())), size, ImVec2(0, 1), ImVec2(1, 0));
    ImGui::SetCursorScreenPos(corner);
    ImGui::InvisibleButton(
        "picture", size,
        ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight | ImGuiButtonFlags_MouseButtonMiddle);
    dispatch_mouse(view, scene_, scale);
    if (view.flags.labels) body_labels(view);
    if (view.drawing) world_labels(view);
    number_blocks(view, 6 + corner_text(view));
    latest_message(view);
    notice(view);
  }
  ImGui::End();
}

std::vector<std::uint8_t> SceneView::pixels(int& width, int& height) const {
  width = target_.width();
  height = target_.height();
  return read_pixels(target_.framebuffer(), width, height);
}

}  // namespace hotloop

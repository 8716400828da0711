// How the viewer looks: colours, sizes and the font.
#pragma once

namespace hotloop {

// After the ImGui and ImPlot contexts were made: a font that scales.
void load_font();
// Colours and sizes for a theme and the monitor's scale (2 on a HiDPI screen); text is font_scale larger still.
void apply_theme(bool light, float monitor_scale, float font_scale);

}  // namespace hotloop

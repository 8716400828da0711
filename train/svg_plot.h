// Line plots with bands as SVG: panels side by side under one legend.
#pragma once
#include <string>
#include <vector>

namespace hotloop {

struct PlotSeries {
  std::size_t color = 0;          // of a palette that repeats
  std::vector<double> x, y;       // one point: a dot
  std::vector<double> low, high;  // of the band; empty: none
};

struct PlotPanel {
  std::string title, x_label, y_label;
  std::vector<PlotSeries> series;
};

// Names by colour.
std::string plot_svg(const std::vector<PlotPanel>& panels, const std::vector<std::string>& names,
                     const std::string& caption);

// Round values (1, 2 or 5 times a power of ten) that cover [low, high], about `wanted` of them.
std::vector<double> ticks(double low, double high, int wanted);
// "0", "0.5", "250 k", "1.5 M".
std::string tick_text(double value);

}  // namespace hotloop

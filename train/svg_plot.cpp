#include "train/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hotloop {
namespace {

// Okabe and Ito's colours, which the colour-blind tell apart, without yellow.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr const char* kDashes[] = {"", "7 3", "2 3", "9 3 2 3"};  // once the colours are used up
constexpr std::size_t kNumColors = std::size(kColors);
constexpr const char* kInk = "#333333";

constexpr double kWidth = 420, kHeight = 280;                       // of a panel's axes [px]
constexpr double kLeft = 78, kRight = 22, kTop = 34, kBottom = 52;  // around them
constexpr double kFont = 13, kCharacter = 7.3;                      // size, width of a character on average
constexpr std::size_t kColumns = 3;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return out;
}

struct Range {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void cover(const std::vector<double>& values) {
    for (const double v : values) low = std::min(low, v), high = std::max(high, v);
  }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

std::string stroke_of(std::size_t color) {
  const char* dashes = kDashes[color / kNumColors % std::size(kDashes)];
  return fmt::format("stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"{}", kColors[color % kNumColors],
                     *dashes == '\0' ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", dashes));
}

class Panel {
 public:
  Panel(const PlotPanel& panel, double left, double top) : panel_(panel), left_(left), top_(top) {
    Range x, y;
    for (const PlotSeries& s : panel.series) {
      x.cover(s.x);
      for (const auto* values : {&s.y, &s.low, &s.high}) y.cover(*values);
    }
    x_ticks_ = ticks(x.low, x.high, 6);
    y_ticks_ = ticks(y.low, y.high, 6);
    x_low_ = x.low < x.high ? std::min(x.low, x_ticks_.front()) : x_ticks_.front();
    if (x.low < x.high && x.low > 0.5 * x.high) x_low_ = x.low;  // far from 0: no empty part
    x_high_ = x.low < x.high ? x.high : x_ticks_.back();
    const double room = 0.02 * (y_ticks_.back() - y_ticks_.front());  // for lines along the edge
    y_low_ = y_ticks_.front() - room;
    y_high_ = y_ticks_.back() + room;
  }

  std::string draw() const {
    std::string out = axes();
    for (const PlotSeries& s : panel_.series)
      if (!s.low.empty()) out += band(s);
    for (const PlotSeries& s : panel_.series) out += line(s);
    return out;
  }

 private:
  double at_x(double x) const { return left_ + kWidth * (x - x_low_) / (x_high_ - x_low_); }
  double at_y(double y) const { return top_ + kHeight * (1 - (y - y_low_) / (y_high_ - y_low_)); }

  std::string axes() const {
    std::string out;
    const double bottom = top_ + kHeight, right = left_ + kWidth;
    for (const double t : y_ticks_) {
      const double y = at_y(t);
      out += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#e3e3e3\"/>\n", left_, y, right);
      out += text_at(left_ - 8, y + 4.5, "end", tick_text(t));
    }
    for (const double t : x_ticks_) {
      if (t < x_low_ || t > x_high_ * (1 + 1e-9)) continue;
      const double x = at_x(t);
      out += fmt::format("<path d=\"M{:.1f} {:.1f}v5\" stroke=\"{}\"/>\n", x, bottom, kInk);
      out += text_at(x, bottom + 19, "middle", tick_text(t));
    }
    out += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"{}\"/>\n", left_, top_, bottom,
                       right, kInk);
    out += text_at(left_ + kWidth / 2, bottom + 40, "middle", panel_.x_label);
    const double x = left_ - 60, y = top_ + kHeight / 2;
    out +=
        text_at(x, y, "middle", panel_.y_label, fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y).c_str());
    return out + text_at(left_ + kWidth / 2, top_ - 12, "middle", panel_.title, " font-weight=\"bold\"");
  }

  std::string band(const PlotSeries& s) const {
    std::string path;
    for (std::size_t i = 0; i < s.x.size(); ++i)
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", at_x(s.x[i]), at_y(s.high[i]));
    for (std::size_t i = s.x.size(); i-- > 0;) path += fmt::format("L{:.1f} {:.1f}", at_x(s.x[i]), at_y(s.low[i]));
    return fmt::format("<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"0.18\"/>\n", path, kColors[s.color % kNumColors]);
  }

  std::string line(const PlotSeries& s) const {
    if (s.x.size() == 1)
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", at_x(s.x[0]), at_y(s.y[0]),
                         kColors[s.color % kNumColors]);
    std::string path;
    for (std::size_t i = 0; i < s.x.size(); ++i)
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", at_x(s.x[i]), at_y(s.y[i]));
    return fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", path, stroke_of(s.color));
  }

  const PlotPanel& panel_;
  double left_, top_, x_low_, x_high_, y_low_, y_high_;
  std::vector<double> x_ticks_, y_ticks_;
};

// Names in lines as wide as the picture; returns its height.
double draw_legend(const std::vector<std::string>& names, double width, double top, std::string& out) {
  double x = kLeft, y = top + 14;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const double needed = 44 + kCharacter * static_cast<double>(names[k].size());
    if (x > kLeft && x + needed > width - kRight) x = kLeft, y += 22;
    out += fmt::format("<path d=\"M{:.1f} {:.1f}h26\" {}/>\n", x, y - 4.5, stroke_of(k));
    out += text_at(x + 32, y, "start", names[k]);
    x += needed + 12;
  }
  return y - top + 10;
}

}  // namespace

constexpr double kMostTick = 1e300;

std::vector<double> ticks(double low, double high, int wanted) {
  // differences of the largest numbers would be infinite
  const auto within = [](double v) { return std::isnan(v) ? 0.0 : std::clamp(v, -kMostTick, kMostTick); };
  low = within(low), high = within(high);
  if (low > high) low = high = 0;  // of no numbers at all
  if (!(low < high)) {
    const double room = std::max(1.0, 0.1 * std::abs(low));
    low -= room, high += room;
  }
  const double rough = (high - low) / wanted, power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  std::vector<double> values;
  const double last = std::ceil(high / step - 1e-9);
  for (double k = std::floor(low / step + 1e-9); k <= last; ++k) values.push_back(k * step);
  return values;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  const auto with = [&](double unit, const char* name) { return fmt::format("{:g} {}", value / unit, name); };
  if (size >= 1e9) return with(1e9, "G");
  if (size >= 1e6) return with(1e6, "M");
  if (size >= 1e4) return with(1e3, "k");
  return fmt::format("{:g}", std::round(value * 1e9) / 1e9);
}

std::string plot_svg(const std::vector<PlotPanel>& panels, const std::vector<std::string>& names,
                     const std::string& caption) {
  const std::size_t columns = std::min(panels.size(), kColumns), rows = (panels.size() + columns - 1) / columns;
  const double panel_width = kLeft + kWidth + kRight, panel_height = kTop + kHeight + kBottom;
  const double width = panel_width * static_cast<double>(columns);
  std::string body;
  for (std::size_t k = 0; k < panels.size(); ++k)
    body += Panel(panels[k], kLeft + panel_width * static_cast<double>(k % columns),
                  kTop + panel_height * static_cast<double>(k / columns))
                .draw();
  double height = panel_height * static_cast<double>(rows) + 4;
  height += draw_legend(names, width, height, body);
  body += text_at(kLeft, height + 12, "start", caption, " font-size=\"11\" fill=\"#777777\"");
  height += 24;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{2}\" fill=\"{3}\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{4}</svg>\n",
      width, height, kFont, kInk, body);
}

}  // namespace hotloop

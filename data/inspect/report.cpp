#include "data/inspect/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostProblems = 50, kMostKeys = 1000, kHistogramBins = 12, kBarWidth = 40, kMostAbout = 160;

std::string statistics_text(const char* name, const Statistics& s) {
  std::string text =
      fmt::format("{}  mean {:.6g}, std {:.6g}, min {:.6g}, max {:.6g}\n", name, s.mean(), s.std(), s.min(), s.max());
  const std::vector<Statistics::Bin> bins = s.histogram(kHistogramBins);
  std::int64_t most = 1;
  for (const Statistics::Bin& bin : bins) most = std::max(most, bin.count);
  for (const Statistics::Bin& bin : bins) {
    const double share = static_cast<double>(bin.count) / static_cast<double>(most);
    const auto bar = static_cast<std::size_t>(std::ceil(share * static_cast<double>(kBarWidth)));
    text += fmt::format("  [{:>10.6g}, {:>10.6g})  {:>9}  {}\n", bin.low, bin.high, bin.count, std::string(bar, '#'));
  }
  return text;
}

Json statistics_json(const Statistics& s) {
  if (s.count() == 0) return {};
  Json bins = Json::array();
  for (const Statistics::Bin& bin : s.histogram(kHistogramBins))
    bins.push_back({{"low", bin.low}, {"high", bin.high}, {"count", bin.count}});
  return {{"count", s.count()}, {"mean", s.mean()}, {"std", s.std()},
          {"min", s.min()},     {"max", s.max()},   {"histogram", bins}};
}

}  // namespace

KeyReport& Report::key(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& row_shape) {
  auto found = std::find_if(keys.begin(), keys.end(), [&](const KeyReport& k) { return k.name == name; });
  if (found == keys.end()) {
    if (keys.size() >= kMostKeys) throw Error("there are more than " + std::to_string(kMostKeys) + " keys");
    keys.push_back({name, dtype, row_shape});
    return keys.back();
  }
  if (found->dtype != dtype || found->row_shape != row_shape)
    problem(fmt::format("{}: here {} [{}], there {} [{}]", name, found->dtype, fmt::join(found->row_shape, ", "), dtype,
                        fmt::join(row_shape, ", ")));
  return *found;
}

void Report::problem(const std::string& text) {
  if (problems_.size() < kMostProblems)
    problems_.push_back(one_line(text));
  else
    ++further_problems_;
}

void Report::add_episode(double episode_return, std::int64_t length) {
  if (std::isfinite(episode_return)) returns.add(episode_return);
  lengths.add(static_cast<double>(length));
}

void Report::finish() {
  for (const KeyReport& k : keys)
    if (k.non_finite > 0) problem(fmt::format("{}: {} values are NaN or infinite", k.name, k.non_finite));
  if (further_problems_ > 0) problems_.push_back(fmt::format("{} further problems", further_problems_));
}

std::string Report::text() const {
  std::string text = fmt::format("{}\n{:<16}{}\n", one_line(path), "format", format);
  for (const auto& [name, value] : about)
    text += fmt::format("{:<16}{}\n", name, one_line(value.substr(0, kMostAbout)));
  text += fmt::format("{:<16}{}\n{:<16}{}\n", "episodes", episodes, "steps", steps);
  std::size_t width = 4;
  for (const KeyReport& k : keys) width = std::max(width, std::min<std::size_t>(40, k.name.size() + 2));
  for (const KeyReport& k : keys) {
    const std::string comma = k.row_shape.empty() ? "" : ", ";
    text += fmt::format("  {:<{}}{:<9}[{}{}{}]\n", one_line(k.name), width, k.dtype, k.rows, comma,
                        fmt::join(k.row_shape, ", "));
  }
  if (returns.count() > 0) text += statistics_text("return", returns);
  if (lengths.count() > 0) text += statistics_text("length", lengths);
  for (const std::string& p : problems_) text += "problem: " + p + "\n";
  return text + (problems_.empty() ? "no problems found\n" : "");
}

std::string Report::json() const {
  Json json = {{"path", path}, {"format", format}, {"about", Json::object()}, {"episodes", episodes}, {"steps", steps}};
  for (const auto& [name, value] : about) json["about"][name] = value;
  json["keys"] = Json::array();
  for (const KeyReport& k : keys)
    json["keys"].push_back({{"name", k.name},
                            {"dtype", k.dtype},
                            {"rows", k.rows},
                            {"row_shape", k.row_shape},
                            {"non_finite", k.non_finite}});
  json["return"] = statistics_json(returns);
  json["length"] = statistics_json(lengths);
  json["problems"] = problems_;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hotloop

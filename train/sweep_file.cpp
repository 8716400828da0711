// Sweeps in TOML.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "data/file.h"
#include "sim/core/rng.h"
#include "train/population.h"
#include "train/toml_file.h"

namespace hotloop {
namespace {

// What UpdateSpec takes of a configuration: all else is built into the kernels that members share.
const std::vector<std::string> kMemberKeys = {
    "learning_rate", "lr_schedule",   "min_learning_rate", "max_learning_rate", "desired_kl", "adam_eps", "adam_beta1",
    "adam_beta2",    "gamma",         "gae_lambda",        "clip_coef",         "ent_coef",   "vf_coef",  "norm_adv",
    "clip_vloss",    "max_grad_norm", "target_kl",         "clip_reward"};

enum class Method : std::uint8_t { grid, zip, random };

// One parameter: the values in the file, or a range to draw from.
struct Parameter {
  std::string key, where;
  std::vector<std::string> values;
  double min = 0, max = 0;
  bool log = false;

  std::string label() const { return where + ": " + key + " ="; }
  Setting setting(const std::string& text) const { return {key, text, where}; }
};

class SweepReader {
 public:
  SweepReader(const std::string& text, const std::string& source)
      : table_(parse_toml(text, source)), source_(shown(source)) {
    read_head();
    read_parameters();
  }
  Sweep combinations(std::uint64_t seed) const;

 private:
  std::string place(const toml::node& node) const { return source_ + ":" + std::to_string(node.source().begin.line); }
  void read_head();
  void read_parameters();
  Parameter read_parameter(const std::string& key, const toml::node& node) const;
  void read_range(Parameter& parameter, const toml::table& range) const;
  std::string value(const Parameter& parameter, const toml::node& node) const;
  std::string draw(const Parameter& parameter, Rng& rng) const;

  toml::table table_;
  std::string source_;
  Method method_ = Method::grid;
  std::int64_t count_ = 0;
  std::vector<Parameter> parameters_;  // in the order of the file
};

void SweepReader::read_head() {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str()), label = place(node) + ": " + shown(name);
    if (name == "method") {
      const std::optional<std::string> method = node.value<std::string>();
      if (method == "grid")
        method_ = Method::grid;
      else if (method == "zip")
        method_ = Method::zip;
      else if (method == "random")
        method_ = Method::random;
      else
        throw Error(label + " = " + (node.is_string() ? shown(*method) : "?") + ": must be grid, zip or random");
    } else if (name == "count") {
      if (!node.is_integer() || *node.value<std::int64_t>() < 1 || *node.value<std::int64_t>() > 1'000'000)
        throw Error(label + ": must be an integer in [1, 1000000]");
      count_ = *node.value<std::int64_t>();
    } else if (name != "parameters" || !node.is_table()) {
      throw Error(label + ": unknown key" + suggestion(name, {"method", "count", "parameters"}) +
                  "; a sweep has method, count and a table [parameters]");
    }
  }
  if (method_ == Method::random && count_ == 0)
    throw Error(source_ + ": count is missing: method random draws so many combinations");
  if (method_ != Method::random && count_ != 0)
    throw Error(place(*table_.get("count")) + ": count: is of method random only");
}

void SweepReader::read_parameters() {
  const toml::table* parameters = table_["parameters"].as_table();
  if (parameters == nullptr || parameters->empty())
    throw Error(source_ + ": the table [parameters] is missing or empty");
  std::map<unsigned, std::vector<Parameter>> by_line;  // toml++ sorts by key
  std::map<std::string, std::string> seen;
  for (const auto& [key, node] : *parameters) {
    Parameter parameter = read_parameter(std::string(key.str()), node);
    const auto [first, inserted] = seen.try_emplace(parameter.key, std::string(key.str()));
    if (!inserted) throw Error(parameter.label() + ": set twice, keep one");
    by_line[node.source().begin.line].push_back(std::move(parameter));
  }
  for (auto& [line, on_line] : by_line)
    for (Parameter& parameter : on_line) parameters_.push_back(std::move(parameter));
}

Parameter SweepReader::read_parameter(const std::string& key, const toml::node& node) const {
  Parameter parameter;
  parameter.where = place(node);
  const std::optional<std::string> canonical = canonical_key(key);
  if (!canonical || std::find(kMemberKeys.begin(), kMemberKeys.end(), *canonical) == kMemberKeys.end())
    throw Error(fmt::format("{}: {} {}{}; members may differ in {}", parameter.where, canonical ? "key" : "unknown key",
                            shown(key), suggestion(key, kMemberKeys), fmt::join(kMemberKeys, ", ")));
  parameter.key = *canonical;
  const toml::node* values = &node;
  if (const toml::table* range = node.as_table()) {
    values = range->get("values");
    if (values == nullptr) {
      read_range(parameter, *range);
      return parameter;
    }
    if (range->size() != 1) throw Error(parameter.label() + " {...}: values stand alone, or min and max do");
  }
  const toml::array* list = values->as_array();
  if (list == nullptr || list->empty())
    throw Error(parameter.label() + ": must be a list of values, {values = [...]} or {min = ..., max = ...}");
  for (const toml::node& element : *list) parameter.values.push_back(value(parameter, element));
  return parameter;
}

void SweepReader::read_range(Parameter& parameter, const toml::table& range) const {
  for (const auto& [key, node] : range) {
    if (key == "log" && node.is_boolean())
      parameter.log = *node.value<bool>();
    else if ((key != "min" && key != "max") || !(node.is_integer() || node.is_floating_point()))
      throw Error(parameter.label() + " {...}: " + shown(std::string(key.str())) +
                  ": a range has the numbers min and max, and log = true or false");
  }
  const std::optional<double> min = range["min"].value<double>(), max = range["max"].value<double>();
  if (!min || !max) throw Error(parameter.label() + " {...}: a range needs min and max");
  parameter.min = *min, parameter.max = *max;
  if (!(parameter.min <= parameter.max) || (parameter.log && parameter.min <= 0))
    throw Error(fmt::format("{} {{min = {}, max = {}}}: min must be at most max{}", parameter.label(), parameter.min,
                            parameter.max, parameter.log ? ", and above 0 for log = true" : ""));
  if (method_ != Method::random)
    throw Error(parameter.label() + " {...}: a range is of method random; grid and zip take lists of values");
  for (const double end : {parameter.min, parameter.max}) {
    TrainConfig unused;
    apply_setting(unused, parameter.setting(toml_text(end)));
  }
}

// An element of a list as the command line would spell it, if the key takes it.
std::string SweepReader::value(const Parameter& parameter, const toml::node& node) const {
  std::string text;
  if (node.is_integer() || node.is_floating_point())
    text = number_text(node);
  else if (node.is_boolean())
    text = toml_text(*node.value<bool>());
  else if (node.is_string())
    text = *node.value<std::string>();
  else
    throw Error(parameter.label() + " [...]: must be numbers, texts, or true and false");
  TrainConfig unused;
  apply_setting(unused, parameter.setting(text));
  return text;
}

std::string SweepReader::draw(const Parameter& parameter, Rng& rng) const {
  const double part = static_cast<double>(rng.bits()) / 4294967296.0;
  if (!parameter.values.empty())
    return parameter.values[static_cast<std::size_t>(part * static_cast<double>(parameter.values.size()))];
  const double low = parameter.log ? std::log(parameter.min) : parameter.min;
  const double high = parameter.log ? std::log(parameter.max) : parameter.max;
  const double x = low + part * (high - low);
  return toml_text(std::clamp(parameter.log ? std::exp(x) : x, parameter.min, parameter.max));
}

Sweep SweepReader::combinations(std::uint64_t seed) const {
  Sweep sweep;
  if (method_ == Method::random) {
    sweep.combinations.assign(static_cast<std::size_t>(count_), {});
    for (std::size_t i = 0; i < sweep.combinations.size(); ++i) {
      Rng rng(seed, RngStream::resample, 0, i);
      for (const Parameter& p : parameters_) sweep.combinations[i].push_back(p.setting(draw(p, rng)));
    }
    return sweep;
  }
  const std::size_t length = parameters_[0].values.size();
  if (method_ == Method::zip) {
    sweep.combinations.assign(length, {});
    for (const Parameter& p : parameters_) {
      if (p.values.size() != length)
        throw Error(fmt::format("{} {} values: method zip takes lists of one length, {} has {}", p.label(),
                                p.values.size(), parameters_[0].key, length));
      for (std::size_t i = 0; i < length; ++i) sweep.combinations[i].push_back(p.setting(p.values[i]));
    }
    return sweep;
  }
  for (const Parameter& p : parameters_) {  // the last parameter changes fastest
    std::vector<std::vector<Setting>> longer;
    if (sweep.combinations.size() > 1'000'000 / p.values.size())
      throw Error(source_ + ": more than 1000000 combinations");
    for (const std::vector<Setting>& combination : sweep.combinations)
      for (const std::string& text : p.values) {
        longer.push_back(combination);
        longer.back().push_back(p.setting(text));
      }
    sweep.combinations = std::move(longer);
  }
  return sweep;
}

}  // namespace

Sweep parse_sweep(const std::string& text, const std::string& source, std::uint64_t seed) {
  return SweepReader(text, source).combinations(seed);
}

std::int64_t read_num_seeds(const std::filesystem::path& file) {
  const toml::table table = parse_toml(read_file(file, kMostTomlBytes), file.string());
  const std::optional<std::int64_t> num_seeds = table["num_seeds"].value<std::int64_t>();
  if (!num_seeds || *num_seeds < 1) throw Error(file.string() + ": num_seeds: must be an integer of at least 1");
  return *num_seeds;
}

Sweep read_sweep(const std::filesystem::path& file, std::uint64_t seed) {
  return parse_sweep(read_file(file, kMostTomlBytes), file.string(), seed);
}

}  // namespace hotloop

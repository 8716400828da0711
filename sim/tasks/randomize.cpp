#include "sim/tasks/randomize.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/tasks/task_host.h"

namespace hotloop {
namespace {

// The range that leaves the model as it is.
Interval neutral(const FieldInfo& field) { return field.adds ? Interval{0, 0} : Interval{1, 1}; }

KeyRule rule_of(const FieldInfo& field) {
  if (field.adds) return {.low = -10, .high = 10};
  return {.low = field.decides_consts ? 0.001 : 0, .high = 1000};  // nothing moves without mass
}

const FieldInfo& field_of(const EnvOption& option) {
  std::vector<std::string> keys;
  for (const FieldInfo& field : field_infos()) {
    keys.push_back(std::string(kRandomizePrefix) + field.name);
    if (option.key == keys.back()) return field;
  }
  throw Error(option_label(option) + ": no such field" + suggestion(option.key, keys));
}

Interval range_of(const EnvOption& option, const FieldInfo& field) {
  Interval range;
  parse_value(option_label(option), option.text, rule_of(field), range);
  return range;
}

bool changes(const FieldInfo& field, const ModelData& model) {
  const std::vector<double>& values = field_values(model, field.name);
  if (field.name == std::string("geom_friction") && model.npair == 0) return false;
  return field.adds ? !values.empty() : std::any_of(values.begin(), values.end(), [](double x) { return x != 0; });
}

}  // namespace

std::vector<EnvOptionInfo> randomize_infos() {
  std::vector<EnvOptionInfo> infos;
  for (const FieldInfo& field : field_infos())
    infos.push_back({std::string(kRandomizePrefix) + field.name, toml_text(neutral(field)),
                     accepted(rule_of(field), Interval{}),
                     std::string(field.help) + (field.adds ? "" : ", scaled") + " for each world"});
  return infos;
}

EnvOptions resolve_randomize(const EnvOptions& given) {
  EnvOptions all;
  for (const FieldInfo& field : field_infos())
    all.push_back({std::string(kRandomizePrefix) + field.name, toml_text(neutral(field))});
  for (const EnvOption& option : given) {
    if (!is_randomize(option.key)) continue;
    const FieldInfo& field = field_of(option);
    all[static_cast<std::size_t>(&field - field_infos().data())].text = toml_text(range_of(option, field));
  }
  return all;
}

std::vector<FieldRange> read_randomize(const EnvOptions& given, const ModelData& model) {
  std::vector<FieldRange> ranges;
  for (const EnvOption& option : given) {
    if (!is_randomize(option.key)) continue;
    const FieldInfo& field = field_of(option);
    const Interval range = range_of(option, field), none = neutral(field);
    std::erase_if(ranges, [&](const FieldRange& r) { return r.field == &field; });  // the last one wins
    if (range.low == none.low && range.high == none.high) continue;
    if (!changes(field, model))
      throw Error(fmt::format("{} {}: {} has no {} to change", option_label(option), shown(option.text), model.path,
                              field.name));
    ranges.push_back({&field, range});
  }
  return ranges;
}

void randomize(WorldFields& fields, const std::vector<FieldRange>& ranges, Device device, std::uint64_t seed,
               std::uint32_t stream) {
  const Exec exec{device};
  for (const FieldRange& r : ranges) fields.draw_rows(exec, r.field->name, {r.range.low, r.range.high, seed, stream});
  fields.set_const(exec);
  synchronize(exec);
}

}  // namespace hotloop

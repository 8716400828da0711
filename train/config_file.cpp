// Configurations in TOML.
#include <map>
#include <type_traits>

#include "data/file.h"
#include "sim/core/assets.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/config.h"
#include "train/toml_file.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

enum class Wants { flag, number, text, list };

Wants wanted(const std::string& key) {
  Wants wants = Wants::text;
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto& value, const KeyRule&) {
    using T = std::decay_t<decltype(value)>;
    if (key != name) return;
    if constexpr (std::is_same_v<T, bool>)
      wants = Wants::flag;
    else if constexpr (std::is_arithmetic_v<T>)
      wants = Wants::number;
    else if constexpr (std::is_same_v<T, std::string>)
      wants = Wants::text;
    else
      wants = Wants::list;
  });
  return wants;
}

// An option of a task as the command line would spell it; nothing for a type that no option takes.
std::optional<std::string> option_text(const toml::node& node) {
  if (node.is_boolean()) return toml_text(node.as_boolean()->get());
  if (node.is_string()) return node.as_string()->get();
  if (node.is_integer() || node.is_floating_point()) return number_text(node);
  if (!node.is_array()) return std::nullopt;
  std::string text = "[";
  for (const toml::node& element : *node.as_array()) {
    if (!element.is_integer() && !element.is_floating_point()) return std::nullopt;
    if (text.size() > 1) text += ", ";
    text += number_text(element);
  }
  return text + "]";
}

// The node as the command line would spell it; nothing for a type that the key does not take.
std::optional<std::string> value_text(const toml::node& node, Wants wants) {
  const bool number = node.is_integer() || node.is_floating_point();
  if (wants == Wants::flag && node.is_boolean()) return toml_text(node.as_boolean()->get());
  if (wants == Wants::number && number) return number_text(node);
  if (wants == Wants::text && node.is_string()) return node.as_string()->get();
  if (wants != Wants::list || !node.is_array()) return std::nullopt;
  std::string text = "[";
  for (const toml::node& element : *node.as_array()) {
    if (!element.is_integer() && !element.is_floating_point()) return std::nullopt;
    if (text.size() > 1) text += ',';
    text += number_text(element);
  }
  return text + "]";
}

const char* type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "an array";
    default:
      return "a date or time";
  }
}

const char* type_name(Wants wants) {
  switch (wants) {
    case Wants::flag:
      return "true or false";
    case Wants::number:
      return "a number";
    case Wants::text:
      return "a string";
    case Wants::list:
      return "an array of integers";
  }
  return "";
}

Setting read_setting(const std::string& key, const toml::node& node, const std::string& where) {
  Setting setting{key, "", where};
  if (node.is_table() || node.is_array_of_tables())
    throw Error(where + ": [" + shown(key) +
                "] is a table: keys stand at the top level, only options of the task in [env] and [randomize]");
  const std::optional<std::string> canonical = canonical_key(key);
  if (!canonical) {
    resolve_settings({setting});  // refuses it with the nearest key
    return setting;
  }
  Wants wants = wanted(*canonical);
  if (is_flag_key(key)) wants = Wants::flag;
  const std::optional<std::string> text = value_text(node, wants);
  if (!text) throw Error(setting.label() + " " + type_name(node) + ": must be " + type_name(wants));
  setting.text = *text;
  return setting;
}

// An entry of the table [env] or [randomize].
Setting read_env_setting(const std::string& table, const std::string& key, const toml::node& node,
                         const std::string& where) {
  Setting setting{table + "." + key, "", where};
  const std::optional<std::string> text = option_text(node);
  if (!text)
    throw Error(setting.label() + " " + type_name(node) +
                ": must be a number, true or false, text or a range of numbers");
  setting.text = *text;
  return setting;
}

}  // namespace

std::vector<Setting> read_settings(const fs::path& path) {
  return parse_settings(read_file(path, kMostTomlBytes), path.string());
}

std::vector<Setting> parse_settings(const std::string& text, const std::string& source) {
  const toml::table table = parse_toml(text, source);
  const std::string name = shown(source);
  const auto place = [&](const toml::node& node) { return name + ":" + std::to_string(node.source().begin.line); };
  std::map<unsigned, std::vector<Setting>> by_line;  // toml++ sorts by key, messages and layers want the file's order
  std::map<std::string, std::string> seen;           // canonical key, spelling
  for (const auto& [key, node] : table) {
    const unsigned line = node.source().begin.line;
    if ((key == "env" || key == "randomize") && node.is_table()) {
      for (const auto& [option, value] : *node.as_table())
        by_line[value.source().begin.line].push_back(
            read_env_setting(std::string(key.str()), std::string(option.str()), value, place(value)));
      continue;
    }
    const Setting setting = read_setting(std::string(key.str()), node, place(node));
    const auto [first, inserted] = seen.try_emplace(*canonical_key(setting.key), setting.key);
    if (!inserted)
      throw Error(setting.where + ": " + setting.key + " and " + first->second + " both set " + first->first +
                  ": keep one");
    by_line[line].push_back(setting);
  }
  std::vector<Setting> settings;
  for (const auto& [line, on_line] : by_line) settings.insert(settings.end(), on_line.begin(), on_line.end());
  return settings;
}

std::vector<fs::path> task_config_files(const std::string& task) {
  const std::optional<fs::path> assets = assets_dir();
  if (!assets || task.empty() || task.find('/') != std::string::npos) return {};
  const fs::path file = *assets / "configs" / (task + ".toml");
  std::error_code ignored;
  return fs::exists(file, ignored) ? std::vector<fs::path>{file} : std::vector<fs::path>{};
}

}  // namespace hotloop

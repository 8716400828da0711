#include "sim/mujoco/model_text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;
constexpr int kMaxIncludeDepth = 16;
constexpr double kMaxReplicas = 1e5, kMaxCount = 1e6;

// "geom 'foot'", or "geom" where it has no name.
std::string label(const XmlTag& tag) {
  const std::string* name = tag.attribute("name");
  return one_line(name && !name->empty() ? tag.name + " '" + *name + "'" : tag.name);
}

std::string place(const std::string& file, const XmlTag& tag) {
  return file + ": line " + std::to_string(tag.line) + ": " + label(tag);
}

std::string read_file(const std::string& name, const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) throw Error(name + ": no such file; accepted: an MJCF or URDF file");
  if (fs::is_directory(status)) throw Error(name + ": is a folder; accepted: an MJCF or URDF file");
  if (!fs::is_regular_file(status)) throw Error(name + ": is no regular file; accepted: an MJCF or URDF file");
  const std::uintmax_t bytes = fs::file_size(path, failure);
  if (bytes > kMaxBytes)
    throw Error(name + ": has " + std::to_string(bytes >> 20) + " MB; accepted: at most " +
                std::to_string(kMaxBytes >> 20) + " MB");
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw Error(name + ": cannot be read");
  if (text.empty()) throw Error(name + ": is empty; accepted: an MJCF or URDF file");
  return text;
}

std::string without(std::string text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// What lies between `from` and the next `to`, or the end; "" without `from`.
std::string between(const std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

// "XML_ERROR_PARSING_ELEMENT" -> "parsing element".
std::string words(std::string name) {
  name = without(name, "XML_ERROR_");
  for (char& c : name) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// Whether a list of numbers has one that is NaN.
bool holds_nan(const std::string& value) {
  const char* at = value.c_str();
  bool found = false;
  for (char* end = nullptr; *at != '\0'; at = end) {
    found |= std::isnan(std::strtod(at, &end));
    if (end == at) return false;  // text
    while (*end == ' ' || *end == '\t' || *end == '\n' || *end == '\r') ++end;
  }
  return found;
}

}  // namespace

bool valid_utf8(std::string_view text) {
  int pending = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = byte >= 0x80 && byte < 0xc0;
    if (continues != (pending > 0) || byte >= 0xf8) return false;
    pending = continues ? pending - 1 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
  }
  return pending == 0;
}

std::string one_line(const std::string& text) {
  std::string line;
  const unsigned char most = valid_utf8(text) ? 255 : 126;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!space)
      line += static_cast<unsigned char>(c) < 32 || c == 127 || static_cast<unsigned char>(c) > most ? '?' : c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == ':')) line.pop_back();
  return line;
}

ModelText ModelText::from_file(const std::string& path) {
  ModelText source;
  source.name_ = path;
  const std::string text = read_file(path, path);
  source.root_ = fs::canonical(fs::absolute(path).parent_path());
  source.add(path, fs::canonical(path), text, 0);
  source.check_assets();
  source.check_numbers();
  return source;
}

ModelText ModelText::from_text(const std::string& xml, const std::string& name) {
  ModelText source;
  source.name_ = name;
  if (xml.empty()) throw Error(name + ": is empty; accepted: MJCF or URDF text");
  source.add(name, {}, xml, 0);
  source.check_assets();
  source.check_numbers();
  return source;
}

void ModelText::add(const std::string& name, const fs::path& path, const std::string& text, int depth) {
  chain_.push_back(path);
  files_.push_back({name, path, scan_xml(text)});
  const File file = files_.back();  // a copy: including others moves the list
  check_counts(file);
  for (const XmlTag& tag : file.tags)
    if (tag.name == "include" || tag.name == "model") add_included(file, tag, depth);
  chain_.pop_back();
}

void ModelText::add_included(const File& from, const XmlTag& tag, int depth) {
  const std::string* value = tag.attribute("file");
  if (!value) return;  // MuJoCo says what is missing
  // paths count from the model's folder; where nothing is there, from the folder of the file that names them
  fs::path path = inside(from, tag, *value, {});
  if (std::error_code none; !fs::exists(path, none)) {
    const fs::path beside = fs::path(*value).is_absolute() ? fs::path(*value) : from.path.parent_path() / *value;
    path = inside(from, tag, beside.string(), {});
  }
  const std::string where = place(from.name, tag) + ": file '" + one_line(*value) + "'";
  if (std::error_code none; !fs::is_regular_file(path, none)) throw Error(where + " cannot be opened");
  path = fs::canonical(path);
  const bool open = std::find(chain_.begin(), chain_.end(), path) != chain_.end();
  const bool twice =
      tag.name == "include" && std::any_of(files_.begin(), files_.end(), [&](const File& f) { return f.path == path; });
  if (open || twice)
    throw Error(where + (open ? " includes itself" : " is included twice") + "; accepted: each file once");
  if (depth >= kMaxIncludeDepth)
    throw Error(where + " is included more than " + std::to_string(kMaxIncludeDepth) + " levels deep");
  add(path.string(), path, read_file(where, path), depth + 1);
}

// `value` as a path that counts from `folder` below the model's folder. Error where it leads out of the model's folder.
fs::path ModelText::inside(const File& file, const XmlTag& tag, const std::string& value,
                           const fs::path& folder) const {
  const std::string where = place(file.name, tag) + ": file '" + one_line(value) + "'";
  if (root_.empty()) throw Error(where + ": a model given as text has no folder; accepted: models without files");
  if (value.find('\0') != std::string::npos) throw Error(where + ": is no file name");
  const fs::path asked = fs::path(value).is_absolute() ? fs::path(value) : root_ / folder / value;
  std::error_code failure;
  const fs::path path = fs::weakly_canonical(asked, failure);
  const fs::path relative = path.lexically_relative(root_);
  if (failure || relative.empty() || *relative.begin() == "..")
    throw Error(where + " lies outside the model's folder " + root_.string() + "; accepted: files inside it");
  return path;
}

std::string ModelText::compiler_value(std::string_view key) const {
  std::string value;
  for (const File& file : files_)
    for (const XmlTag& tag : file.tags)
      if (const std::string* set = tag.name == "compiler" ? tag.attribute(key) : nullptr) value = *set;
  return value;
}

void ModelText::check_assets() const {
  const std::string assets = compiler_value("assetdir");
  const auto or_assets = [&](const std::string& folder) { return folder.empty() ? assets : folder; };
  const std::string meshes = or_assets(compiler_value("meshdir")), textures = or_assets(compiler_value("texturedir"));
  const bool strip = compiler_value("strippath") == "true";
  for (const File& file : files_)
    for (const XmlTag& tag : file.tags)
      for (const auto& [key, value] : tag.attributes) {
        if (!key.starts_with("file") || value.empty() || tag.name == "include" || tag.name == "model") continue;
        const std::string path = without(value, "package://");
        inside(file, tag, strip ? fs::path(path).filename().string() : path, tag.name == "texture" ? textures : meshes);
      }
}

// Replication and grids are expanded while the file is read: too late to stop once it runs out of memory.
void ModelText::check_counts(const File& file) const {
  std::vector<double> replicas(file.tags.size(), 1);
  for (std::size_t i = 0; i < file.tags.size(); ++i) {
    const XmlTag& tag = file.tags[i];
    double product = tag.parent >= 0 ? replicas[tag.parent] : 1;
    const auto refuse = [&](const std::string& key, const std::string& value, double most) {
      throw Error(place(file.name, tag) + ": " + key + " '" + one_line(value.substr(0, 40)) +
                  "' is too large; accepted: at most " + std::to_string(static_cast<long>(most)) +
                  (key == "count" ? " in all, nested counts multiplied" : ""));
    };
    for (const auto& [key, value] : tag.attributes) {
      const char* at = value.c_str();
      char* end = nullptr;
      if (key == "count") {
        for (double n = std::strtod(at, &end); end != at; at = end, n = std::strtod(at, &end)) product *= n;
        if (!(product <= kMaxReplicas)) refuse(key, value, kMaxReplicas);
      }
      const bool size = tag.name == "size" && key != "memory";
      const bool grid = key == "nrow" || key == "ncol" || (tag.name == "numeric" && key == "size") ||
                        (tag.name == "texture" && (key == "width" || key == "height"));
      const double most = size ? kMaxCount : 1e4;
      if ((size || grid) && !(std::strtod(at, &end) <= most)) refuse(key, value, most);
    }
    replicas[i] = product;
  }
}

// MuJoCo takes NaN for a number that was not given and goes on with its default. A user's own numerics are not ours.
void ModelText::check_numbers() const {
  const auto is_name = [&](const std::string& value) {
    for (const File& file : files_)
      for (const XmlTag& tag : file.tags)
        for (const char* key : {"name", "class"})
          if (const std::string* name = tag.attribute(key); name && *name == value) return true;
    return false;
  };
  for (const File& file : files_)
    for (const XmlTag& tag : file.tags)
      for (const auto& [key, value] : tag.attributes)
        if (tag.name != "numeric" && holds_nan(value) && !is_name(value))
          throw Error(place(file.name, tag) + ": " + key + " '" + one_line(value.substr(0, 40)) +
                      "' holds no number; accepted: finite numbers");
}

std::string ModelText::explain(const std::string& message) const {
  const std::vector<XmlTag>& tags = files_.front().tags;
  std::string text = one_line(message);
  if (text.starts_with("XML parse error")) {
    // "XML parse error 6: Error=XML_ERROR_NAME ErrorID=6 (0x6) Line number=1: XMLElement name=body"
    const std::string name = between(text, "XMLElement name=", " ");
    const std::string element = !name.empty()   ? "element '" + name + "': "
                                : !tags.empty() ? "after " + label(tags.back()) + ": "
                                                : "";
    return name_ + ": line " + between(text, "Line number=", ":") + ": " + element + "malformed XML (" +
           words(between(text, "Error=", " ")) + ")";
  }
  for (const char* prefix : {"XML Error: ", "ParseXML: ", "Error: ", "Schema violation: "})
    text = without(text, prefix);
  // "... Element name 'foot', id 3, line 7", from the compiler
  if (const std::size_t at = text.rfind(" Element name '"); at != std::string::npos) {
    const std::string tail = text.substr(at), element = between(tail, "name '", "', id ");
    const std::string line = between(tail, ", line ", " ");
    const auto named = [&](const XmlTag& tag) {
      const std::string* name = tag.attribute("name");
      return (line.empty() || tag.line == std::atoi(line.c_str())) && name && *name == element;
    };
    const auto tag = element.empty() ? tags.end() : std::find_if(tags.begin(), tags.end(), named);
    const std::string kind = tag == tags.end() ? "element" : tag->name;
    return name_ + (line.empty() ? "" : ": line " + line) + ": " + kind +
           (element.empty() ? " #" + between(tail, "', id ", ",") : " '" + element + "'") + ": " +
           one_line(text.substr(0, at));
  }
  // "... Element 'geom', line 7", from the parser
  if (const std::size_t at = text.rfind(" Element '"); at != std::string::npos) {
    const std::string tail = text.substr(at), kind = between(tail, "'", "'"), line = between(tail, ", line ", " ");
    const auto tag = std::find_if(tags.begin(), tags.end(),
                                  [&](const XmlTag& t) { return t.name == kind && t.line == std::atoi(line.c_str()); });
    return name_ + ": line " + line + ": " + (tag == tags.end() ? kind : label(*tag)) + ": " +
           one_line(text.substr(0, at));
  }
  // the file that an error without a place speaks of names the element
  for (const File& file : files_)
    for (const XmlTag& tag : file.tags)
      for (const auto& [key, value] : tag.attributes)
        if (key.starts_with("file") && !value.empty() && text.find(value) != std::string::npos)
          return place(file.name, tag) + ": " + text;
  return name_ + ": " + text;
}

}  // namespace hotloop

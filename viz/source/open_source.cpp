#include <algorithm>
#include <filesystem>
#include <fstream>

#include "data/log/log_format.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "viz/source/open_parts.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

bool is_task(const std::string& name) {
  const std::vector<EnvEntry>& all = environments();
  return std::any_of(all.begin(), all.end(), [&](const EnvEntry& e) { return e.spec.name == name; });
}

// Of what is not there: a path, as far as one can tell?
bool looks_like_path(const std::string& what) {
  const std::string extension = fs::path(what).extension().string();
  for (const char* known : {".xml", ".mjcf", ".urdf", ".h5", ".hdf5", ".safetensors"})
    if (extension == known) return true;
  return what.find('/') != std::string::npos;
}

SourceKind kind_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string head(64, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (!in && !in.eof()) throw Error(shown(path) + ": cannot be read");
  head.resize(static_cast<std::size_t>(in.gcount()));
  const std::string extension = fs::path(path).extension().string();
  const std::size_t text = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (extension == ".safetensors") return SourceKind::policy;
  if (head.rfind("\x89HDF\r\n\x1a\n", 0) == 0 || extension == ".h5" || extension == ".hdf5") return SourceKind::log;
  if ((text != std::string::npos && head[text] == '<') || extension == ".xml" || extension == ".urdf")
    return SourceKind::model;
  throw Error(shown(path) +
              ": is no MJCF or URDF file, no checkpoint (.safetensors) and no trajectory log (.h5): nothing to view");
}

}  // namespace

SourceKind source_kind(const std::string& what) {
  if (what.empty()) throw Error("nothing to view: accepted are a task, a model, a run, a checkpoint or a log");
  if (is_task(what)) return SourceKind::task;
  std::error_code failure;
  const fs::file_status status = fs::status(what, failure);
  if (fs::is_directory(status)) return SourceKind::policy;
  if (fs::is_regular_file(status)) return kind_of_file(what);
  if (fs::exists(status)) throw Error(shown(what) + ": is neither a file nor a folder");
  if (fs::exists(log_part_path(what), failure)) return SourceKind::log;  // its first segment is not finished
  if (looks_like_path(what)) throw Error(shown(what) + ": no such file or folder");
  find_environment(what);  // names the nearest
  return SourceKind::task;
}

EnvOptions parse_env_options(const std::vector<std::string>& texts) {
  EnvOptions options;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(shown(text) + ": accepted are options of the task as NAME=VALUE");
    std::string key = text.substr(0, equals);
    if (key.rfind("env.", 0) == 0) key.erase(0, 4);
    std::replace(key.begin(), key.end(), '-', '_');
    options.push_back({key, text.substr(equals + 1), "--" + option_spelling(key)});
  }
  return options;
}

std::unique_ptr<WorldSource> open_source(const SourceOptions& options) {
  if (!options.beside.empty()) return open_pair_source(options);
  switch (source_kind(options.what)) {
    case SourceKind::task:
      return open_task_source(options);
    case SourceKind::model:
      return open_model_source(options);
    case SourceKind::log:
      return open_log_source(options);
    default:
      return open_policy_source(options);
  }
}

}  // namespace hotloop

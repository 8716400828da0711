#include "data/dataset/target.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "data/memmap_meta.h"
#include "data/staged_path.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

bool is_dataset(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / "data/main_data.hdf5", ignored) || fs::exists(folder / "main_data.hdf5", ignored))
    return true;
  if (!fs::exists(folder / kMemmapMetaFile, ignored)) return false;
  try {
    const MemmapMeta tensordict(folder);
    return true;
  } catch (const Error&) {
    return false;  // a file of that name of another program
  }
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; }

std::string environment_variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

}  // namespace

fs::path minari_datasets_folder() {
  if (const std::string given = environment_variable("MINARI_DATASETS_PATH"); !given.empty()) return given;
  const std::string home = environment_variable("HOME");
  if (home.empty()) throw Error("-o: name a folder; neither MINARI_DATASETS_PATH nor HOME is set");
  return fs::path(home) / ".minari/datasets";
}

std::string default_dataset_id(const std::string& task, const std::string& algorithm) {
  std::string name = task;
  for (char& c : name) c = is_word(c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  return "hotloop/" + name + "/" + algorithm + "-v0";
}

void check_dataset_id(const std::string& id) {
  const auto refuse = [&] {
    throw Error(
        "--dataset-id " + shown(id) +
        ": must be NAME-vN or NAMESPACE/NAME-vN of letters, digits, '-', '_' and '/', NAMESPACE of two or more");
  };
  for (std::size_t i = 0; i < id.size(); ++i) {
    const bool ends_part = i + 1 == id.size() || id[i + 1] == '/';
    if (id[i] == '/' ? i == 0 || ends_part : !is_word(id[i])) refuse();
  }
  const std::size_t slash = id.rfind('/');
  // Minari writes such a dataset and then refuses to list its folder
  if (slash != std::string::npos && slash < 2) refuse();
  const std::string name = id.substr(slash + 1);
  const std::size_t mark = name.rfind("-v");
  if (mark == std::string::npos || mark == 0 || mark + 2 == name.size() ||
      !std::all_of(name.begin() + static_cast<std::ptrdiff_t>(mark) + 2, name.end(),
                   [](unsigned char c) { return std::isdigit(c); }))
    refuse();
}

void check_file_name(DatasetFormat format, const std::string& output) {
  if (output.ends_with('/') && !is_folder_format(format))
    throw Error("-o " + shown(output) + ": names a folder, and " + format_name(format) + " is a file");
}

void check_not_in_dataset(const fs::path& target) {
  for (fs::path folder = target.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (is_dataset(folder)) throw Error("'" + target.string() + "' lies in a dataset, '" + folder.string() + "'");
}

fs::path dataset_target(DatasetFormat format, const std::string& output, const std::string& dataset_id) {
  const bool minari = format == DatasetFormat::minari;
  if (output.empty() && !minari)
    throw Error("-o: name the " + std::string(is_folder_format(format) ? "folder" : "file") + " to write");
  check_file_name(format, output);
  std::error_code ignored;
  // Minari's own folder of datasets is made where it is not there
  fs::path path =
      output.empty() ? fs::weakly_canonical(fs::absolute(minari_datasets_folder()), ignored) : output_path(output);
  if (minari) path /= dataset_id;
  check_not_in_dataset(path);
  if (fs::exists(fs::symlink_status(path, ignored)))
    throw Error("'" + path.string() + "' exists; " + (minari ? "name another --dataset-id or -o" : "name another -o"));
  return path;
}

}  // namespace hotloop

// A model's XML text and the files that it includes, before MuJoCo reads them. Internal to the loader.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "sim/mujoco/xml_scan.h"

namespace hotloop {

class ModelText {
 public:
  // Error for what cannot be read or must not be: a folder, files outside the model's folder, files that include each
  // other, parts replicated without measure, numbers that are none.
  static ModelText from_file(const std::string& path);
  static ModelText from_text(const std::string& xml, const std::string& name);

  const std::string& name() const { return name_; }
  // What MuJoCo says about this model, as one line: file, line, element, what is wrong.
  std::string explain(const std::string& message) const;

 private:
  struct File {
    std::string name;
    std::filesystem::path path;
    std::vector<XmlTag> tags;
  };

  void add(const std::string& name, const std::filesystem::path& path, const std::string& text, int depth);
  void add_included(const File& from, const XmlTag& tag, int depth);
  void check_assets() const;
  void check_counts(const File& file) const;
  void check_numbers() const;
  std::filesystem::path inside(const File& file, const XmlTag& tag, const std::string& value,
                               const std::filesystem::path& folder) const;
  std::string compiler_value(std::string_view key) const;

  std::string name_;
  std::filesystem::path root_;                // the model's folder; empty: text without files
  std::vector<File> files_;                   // the model first
  std::vector<std::filesystem::path> chain_;  // files being read, outermost first
};

bool valid_utf8(std::string_view text);

// Runs of white space become one space, control characters '?'; and so does what lies beyond ASCII in text that is no
// UTF-8.
std::string one_line(const std::string& text);

}  // namespace hotloop

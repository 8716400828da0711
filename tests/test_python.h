// The Python that checks our files with their own readers: HOTLOOP_TEST_PYTHON, else python3.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

#include "data/file.h"

namespace hotloop {

inline std::string test_python() {
  const char* given = std::getenv("HOTLOOP_TEST_PYTHON");
  return given != nullptr && *given != '\0' ? given : "python3";
}

inline bool python_has(const std::string& modules) {
  return std::system((test_python() + " -c 'import " + modules + "' >/dev/null 2>&1").c_str()) == 0;
}

// What a test of a file format does where Python lacks the format's own reader: continuous integration has them all.
inline bool must_have_python() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

// Runs `script` (written into `folder`, with it as the current one); true if it exits with 0. Its output is the test's.
inline bool run_python(const std::filesystem::path& folder, const std::string& script) {
  write_file(folder / "check.py", script);
  return std::system(("cd '" + folder.string() + "' && " + test_python() + " check.py").c_str()) == 0;
}

}  // namespace hotloop

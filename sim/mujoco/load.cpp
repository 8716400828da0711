#include "sim/mujoco/load.h"

#include <mujoco/mujoco.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <mutex>

#include "sim/core/error.h"
#include "sim/mujoco/features.h"
#include "sim/mujoco/model_text.h"
#include "sim/mujoco/read_model.h"

namespace hotloop {
namespace {

constexpr int kMessage = 1024;

// What MuJoCo says while a model is loaded. Its own handler prints, writes a file into the working folder and ends the
// program on an error; ours must leave by longjmp, since an exception may not pass through C.
struct Listener {
  std::jmp_buf fatal;
  char error[kMessage];
  char warnings[16][kMessage];
  int warning_count = 0;
  bool jumped = false;
};
thread_local Listener* listener = nullptr;

void store(char* to, const mjLogMessage* message) { snprintf(to, kMessage, "%s", message->subject); }

void listen(const mjLogMessage* message) {
  if (!listener) return;
  if (message->level == mjLOG_ERROR) {
    store(listener->error, message);
    std::longjmp(listener->fatal, 1);
  }
  if (message->level == mjLOG_WARNING && listener->warning_count < 16)
    store(listener->warnings[listener->warning_count++], message);
}

// Only pointers and plain arrays live here: an error in MuJoCo jumps over this function's frame. What MuJoCo had
// allocated is lost then.
mjModel* compile(const char* file, const char* xml, mjSpec** spec, Listener& heard) {
  if (setjmp(heard.fatal) != 0) {
    heard.jumped = true;
    return nullptr;
  }
  heard.error[0] = 0;
  *spec =
      file ? mj_parseXML(file, nullptr, heard.error, kMessage) : mj_parseXMLString(xml, nullptr, heard.error, kMessage);
  if (!*spec) return nullptr;
  mjModel* model = mj_compile(*spec, nullptr);
  if (!model) snprintf(heard.error, kMessage, "%s", mjs_getError(*spec));
  return model;
}

void require_version() {
  if (mj_version() != mjVERSION_HEADER)
    throw Error("MuJoCo's library has version " + std::to_string(mj_version()) + ", this program was built with " +
                std::to_string(mjVERSION_HEADER) + ": run the program with the libmujoco that it was installed with");
}

std::shared_ptr<const LoadedModel> load(const char* file, const char* xml, const ModelText& source, int max_contacts) {
  static std::mutex mutex;  // the handler is MuJoCo's, one for all threads
  const std::lock_guard lock(mutex);
  Listener heard;
  listener = &heard;
  const mjfLogHandler before = mju_setLogHandler(listen);
  mjSpec* spec = nullptr;
  LoadedModel::Handle model(compile(file, xml, &spec, heard));
  mju_setLogHandler(before);
  listener = nullptr;
  std::vector<std::string> warnings;
  const auto keep = [&](const char* text) {  // some are both logged and kept in the spec
    std::string line = one_line(text);
    if (std::find(warnings.begin(), warnings.end(), line) == warnings.end()) warnings.push_back(std::move(line));
  };
  for (int i = 0; i < heard.warning_count; ++i) keep(heard.warnings[i]);
  if (spec && !heard.jumped) {
    for (int i = 0; i < mjs_numWarnings(spec); ++i) keep(mjs_getWarning(spec, i));
    mj_deleteSpec(spec);
  }
  if (!model) throw Error(source.explain(heard.error));
  return std::make_shared<LoadedModel>(std::move(model), source.name(), std::move(warnings), max_contacts);
}

}  // namespace

void LoadedModel::Deleter::operator()(mjModel* model) const { mj_deleteModel(model); }

LoadedModel::LoadedModel(Handle model, const std::string& name, std::vector<std::string> warnings, int max_contacts)
    : model_(std::move(model)), warnings_(std::move(warnings)) {
  data_.path = name;
  check_features(model_.get(), name);
  read_arrays(model_.get(), data_);
  read_pairs(model_.get(), data_);
  check_values(model_.get(), data_);
  finish_sizes(data_, max_contacts);
}

std::shared_ptr<const LoadedModel> load_model(const std::string& path, int max_contacts) {
  require_version();
  return load(path.c_str(), nullptr, ModelText::from_file(path), max_contacts);
}

std::shared_ptr<const LoadedModel> load_model_string(const std::string& xml, const std::string& name,
                                                     int max_contacts) {
  require_version();
  return load(nullptr, xml.c_str(), ModelText::from_text(xml, name), max_contacts);
}

}  // namespace hotloop

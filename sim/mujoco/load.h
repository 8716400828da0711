// Models from MJCF and URDF files. MuJoCo's C library parses and compiles them; what we step is a copy in our own
// arrays. What a model uses that we do not support is an Error that names the element.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/mujoco/model_data.h"

struct mjModel_;
typedef struct mjModel_ mjModel;

namespace hotloop {

class LoadedModel {
 public:
  struct Deleter {
    void operator()(mjModel* model) const;
  };
  using Handle = std::unique_ptr<mjModel, Deleter>;

  // max_contacts: contacts that a world has room for; 0 chooses from the model.
  LoadedModel(Handle model, const std::string& name, std::vector<std::string> warnings, int max_contacts);

  const ModelData& data() const { return data_; }
  const mjModel* mujoco() const { return model_.get(); }
  // What MuJoCo's compiler had to say about a model that it accepts; one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Handle model_;
  ModelData data_;
  std::vector<std::string> warnings_;
};

// Error, one line, where the file cannot be read, is no valid model, reaches outside its folder, or uses what we do not
// support. Any thread may call it; loads take turns.
std::shared_ptr<const LoadedModel> load_model(const std::string& path, int max_contacts = 0);

// The same from XML text without files; name stands for the file in messages.
std::shared_ptr<const LoadedModel> load_model_string(const std::string& xml, const std::string& name,
                                                     int max_contacts = 0);

}  // namespace hotloop

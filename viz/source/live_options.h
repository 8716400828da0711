// Physics options that may change while worlds run, by MJCF's names.
#pragma once
#include <string>
#include <vector>

#include "sim/mujoco/model_batch.h"
#include "viz/source/world_source.h"

namespace hotloop {

class LiveOptions {
 public:
  // Of a batch whose worlds have gravity for themselves, and whose kernel is not made for the model.
  explicit LiveOptions(ModelBatch& batch);

  // What the model has no use for is left out.
  std::vector<WorldSource::PhysicsOption> list() const;
  // Error for a name that is not listed, and for a value out of range.
  void set(const Exec& exec, const std::string& name, double value);
  // All as in the model.
  void undo(const Exec& exec);

 private:
  struct Entry {
    WorldSource::PhysicsOption shown;  // all but the value
    double (*get)(const LiveOptions&);
    void (*set)(LiveOptions&, const Exec&, double);
  };
  std::vector<Entry> entries() const;
  void write_gravity(const Exec& exec);

  ModelBatch& batch_;
  ModelOptions<float> start_;  // what the model has at all
  std::vector<float> gravity_;
};

}  // namespace hotloop

// Fields of a model that differ from world to world: rows of their own in device memory, and the constants that derive
// from them. Fields that nobody asked for stay shared: they take no memory, and stay constants of specialised kernels.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/mujoco/model_data.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// A field that a world may have for itself, by MuJoCo's name.
struct FieldInfo {
  const char* name;
  int columns;          // of a row's elements; gainprm and biasprm: the first three of MuJoCo's
  bool has_sign;        // may be negative
  bool zeros_stay;      // what is zero in the model the step leaves out: it is zero in every world
  bool decides_consts;  // the derived constants depend on it
  bool adds;            // drawn values are added to the model's instead of scaling them
  int draw;             // fields with the same number take the same draws
  const char* help;
};
const std::vector<FieldInfo>& field_infos();
// Error naming the nearest where there is none.
const FieldInfo& find_field(const std::string& name);
// A field's row in the model, [elements][columns]. geom_friction: the sliding friction of each geom.
const std::vector<double>& field_values(const ModelData& data, const std::string& name);

// Low to high of a uniform draw, and what it is drawn from.
struct FieldDraw {
  double low, high;
  std::uint64_t seed;
  std::uint32_t stream;
};

// Beside the fields, a name that gives every world forces from outside: Model::xfrc_applied.
inline constexpr const char* kExternalForces = "xfrc_applied";

class WorldFields {
 public:
  // names: the fields that differ; every world begins with the model's rows. shared: the model on `device`, whose
  // memory must outlive this.
  WorldFields(const ModelData& data, const Model<float>& shared, std::int64_t num_worlds, Device device,
              const std::vector<std::string>& names);

  // The model with every field's rows, for kernels.
  const Model<float>& view() const { return view_; }
  // Bytes of all rows of a world.
  std::size_t world_bytes() const;

  // Every world's forces from outside, [num_worlds][nbody][6]; null where kExternalForces was not among the names.
  float* xfrc_applied() const { return external_.data(); }
  // Options that kernels made for the model do not take for constants.
  ModelOptions<float>& options() { return view_; }

  // Sets rows of `count` worlds: values is [count][row], worlds [count] (null: worlds 0 to count - 1). Both lie on
  // `where`: this device (ordered on exec, capturable, unchecked), or the host (checked, and waits for exec).
  // geom_friction reaches the contacts as MuJoCo mixes it, but for those of <pair> elements. After a change of
  // masses, inertias or armatures call set_const. Error for a field that was not named, worlds that are not there,
  // numbers that are not finite or have a sign or place that the field refuses.
  void set_rows(const Exec& exec, const std::string& name, const float* values, Device where, std::int64_t count,
                const std::int64_t* worlds = nullptr);

  // Every world's row anew: the model's, each element scaled (FieldInfo::adds: each number moved) by a uniform draw,
  // a function of (seed, stream, world, element). Waits for exec.
  void draw_rows(const Exec& exec, const std::string& name, const FieldDraw& draw);

  // Recomputes the derived constants of every world; nothing where no field decides them.
  void set_const(const Exec& exec);

 private:
  struct Member {
    Field<float>* field;
    std::size_t size;  // elements of a row
  };
  Member member(const std::string& name);
  void add_rows(const std::string& name);
  float* rows(const std::string& name);
  void check_rows(const FieldInfo& info, const float* values, std::int64_t count, const std::int64_t* worlds) const;
  void write(const Exec& exec, const std::string& name, const float* values, std::int64_t count,
             const std::int64_t* worlds);

  const ModelData& data_;
  Model<float> view_;
  std::int64_t num_worlds_;
  Device device_;
  bool derives_ = false;
  Buffer<float> external_;
  std::map<std::string, Buffer<float>> rows_;  // by the step's name: pair_friction for geom_friction
};

}  // namespace hotloop

// The table of features: what we step, what we leave out, and how to find in a model what we refuse.
#include "sim/mujoco/features.h"

#include <mujoco/mujoco.h>

#include <algorithm>
#include <sstream>

#include "sim/mujoco/read_model.h"

namespace hotloop {
namespace {

using Found = std::optional<Finding>;

std::string number(double x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

// The first of `count` elements for which value(i) says something.
template <class Value>
Found first(const mjModel* m, mjtObj type, mjtSize count, Value value) {
  for (int i = 0; i < count; ++i)
    if (const std::string text = value(i); !text.empty()) return Finding{element_name(m, type, i), text};
  return std::nullopt;
}

// The first element with a non-zero number among the `columns` of its row.
Found nonzero(const mjModel* m, mjtObj type, mjtSize count, const mjtNum* values, const char* name, int columns = 1) {
  return first(m, type, count, [&](int i) -> std::string {
    for (int c = 0; c < columns; ++c)
      if (values[i * columns + c] != 0) return std::string(name) + " " + number(values[i * columns + c]);
    return "";
  });
}

Found option(bool used, const char* value) {
  if (!used) return std::nullopt;
  return Finding{"option", value};
}

Found enabled(const mjModel* m, int flag, const char* name) { return option((m->opt.enableflags & flag) != 0, name); }

bool can_touch(const mjModel* m, int geom) { return m->geom_contype[geom] != 0 || m->geom_conaffinity[geom] != 0; }

// Capsule with cylinder is the one collision that MuJoCo leaves to its general convex collider.
Found convex_flag(const mjModel* m, int flag, const char* name) {
  bool capsule = false, cylinder = false;
  for (int g = 0; g < m->ngeom; ++g) {
    capsule = capsule || (can_touch(m, g) && m->geom_type[g] == mjGEOM_CAPSULE);
    cylinder = cylinder || (can_touch(m, g) && m->geom_type[g] == mjGEOM_CYLINDER);
  }
  return option(capsule && cylinder && (m->opt.disableflags & flag) != 0, name);
}

const char* text_if(bool condition, const char* text) { return condition ? text : ""; }

// ---- the finders ---------------------------------------------------------------------------------------------------

Found implicit_integrator(const mjModel* m) {
  const char* names[] = {"Euler", "RK4", "implicit", "implicitfast", "discrete"};
  const int i = m->opt.integrator;
  if (i == mjINT_EULER || i == mjINT_RK4) return std::nullopt;
  return Finding{"option", std::string("integrator '") + (i >= 0 && i < 5 ? names[i] : "?") + "'"};
}

Found disabled_group(const mjModel* m) {
  return first(m, mjOBJ_ACTUATOR, m->nactuator, [&](int i) -> std::string {
    const int group = m->actuator_group[i];
    const bool off = group >= 0 && group <= 30 && (m->opt.disableactuator & (1 << group)) != 0;
    return off ? "group " + std::to_string(group) + " is disabled (actuatorgroupdisable)" : "";
  });
}

Found fluid_shape(const mjModel* m) {
  if (m->opt.density == 0 && m->opt.viscosity == 0) return std::nullopt;
  return first(m, mjOBJ_GEOM, m->ngeom, [&](int i) -> std::string {
    return text_if(m->geom_fluid[mjNFLUID * i] > 0, "fluidshape 'ellipsoid' in a medium");
  });
}

Found transmission(const mjModel* m) {
  return first(m, mjOBJ_ACTUATOR, m->nactuator, [&](int i) -> std::string {
    switch (m->actuator_trntype[i]) {
      case mjTRN_JOINT:
      case mjTRN_TENDON:
        return "";
      case mjTRN_JOINTINPARENT: {
        const int type = m->jnt_type[m->actuator_trnid[2 * i]];
        return text_if(type == mjJNT_FREE || type == mjJNT_BALL,
                       "transmission 'jointinparent' of a ball or free joint");
      }
      case mjTRN_SLIDERCRANK:
        return "transmission 'slidercrank'";
      case mjTRN_SITE:
        return "transmission 'site'";
      case mjTRN_BODY:
        return "transmission 'body' (adhesion)";
      default:
        return "transmission of type " + std::to_string(m->actuator_trntype[i]);
    }
  });
}

Found dynamics(const mjModel* m) {
  const char* names[] = {"none", "integrator", "filter", "filterexact", "muscle", "dcmotor", "pid", "user"};
  return first(m, mjOBJ_ACTUATOR, m->nactuator, [&](int i) -> std::string {
    const int type = m->actuator_dyntype[i];
    if (type == mjDYN_NONE && m->actuator_actnum[i] == 0) return "";
    return std::string("dyntype '") + (type >= 0 && type < 8 ? names[type] : "?") + "'";
  });
}

Found gain(const mjModel* m) {
  const char* names[] = {"fixed", "affine", "muscle", "dcmotor", "so3", "pid", "user"};
  return first(m, mjOBJ_ACTUATOR, m->nactuator, [&](int i) -> std::string {
    const int type = m->actuator_gaintype[i];
    if (type == mjGAIN_FIXED || type == mjGAIN_AFFINE) return "";
    return std::string("gaintype '") + (type >= 0 && type < 7 ? names[type] : "?") + "'";
  });
}

Found bias(const mjModel* m) {
  const char* names[] = {"none", "affine", "muscle", "dcmotor", "so3", "user"};
  return first(m, mjOBJ_ACTUATOR, m->nactuator, [&](int i) -> std::string {
    const int type = m->actuator_biastype[i];
    if (type == mjBIAS_NONE || type == mjBIAS_AFFINE) return "";
    return std::string("biastype '") + (type >= 0 && type < 6 ? names[type] : "?") + "'";
  });
}

Found several_inputs(const mjModel* m) {
  return first(m, mjOBJ_ACTUATOR, m->nactuator, [&](int i) -> std::string {
    if (m->actuator_ctrlnum[i] == 1 && m->actuator_outnum[i] == 1) return "";
    return std::to_string(m->actuator_ctrlnum[i]) + " inputs and " + std::to_string(m->actuator_outnum[i]) + " outputs";
  });
}

Found actuator_delay(const mjModel* m) {
  return first(m, mjOBJ_ACTUATOR, m->nactuator, [&](int i) -> std::string {
    return m->actuator_delay[i] != 0 || m->actuator_history[2 * i] != 0 ? "delay " + number(m->actuator_delay[i]) : "";
  });
}

// Plugin ids of bodies, geoms or actuators.
Found plugin(const mjModel* m) {
  const auto of = [&](mjtObj type, mjtSize count, const int* ids) {
    return first(m, type, count, [&](int i) -> std::string { return text_if(ids[i] >= 0, "plugin"); });
  };
  if (Found found = of(mjOBJ_BODY, m->nbody, m->body_plugin)) return found;
  if (Found found = of(mjOBJ_GEOM, m->ngeom, m->geom_plugin)) return found;
  if (Found found = of(mjOBJ_ACTUATOR, m->nactuator, m->actuator_plugin)) return found;
  return of(mjOBJ_PLUGIN, m->nplugin, m->plugin);
}

Found plastic(const mjModel* m) {
  if (Found found = nonzero(m, mjOBJ_JOINT, m->njnt, m->jnt_springyield, "springyield")) return found;
  if (Found found = nonzero(m, mjOBJ_TENDON, m->ntendon, m->tendon_springyield, "springyield")) return found;
  return m->nplastic > 0 ? Found(Finding{"model", "plastic state"}) : std::nullopt;
}

Found too_large(const mjModel* m) {
  const auto over = [](mjtSize n, mjtSize most, const char* what) -> Found {
    return n > most ? Found(Finding{"model", "a size of " + std::to_string(n) + " " + what}) : std::nullopt;
  };
  if (Found found = over(m->nv, 128, "degrees of freedom")) return found;
  if (Found found = over(m->nbody, 4096, "bodies")) return found;
  return over(m->ngeom, 16384, "geoms");
}

// ---- the table -----------------------------------------------------------------------------------------------------

constexpr Support kYes = Support::yes, kIgnored = Support::ignored, kNo = Support::no;

std::vector<Feature> option_features() {
  const char* g = "options";
  return {
      {g, "integrator `Euler`, `RK4`", kYes},
      {g, "solver `Newton`, `PGS`", kYes},
      {g, "cone `pyramidal`", kYes},
      {g, "`timestep`", kYes},
      {g, "`gravity`", kYes},
      {g, "`wind`", kYes},
      {g, "`density`", kYes},
      {g, "`viscosity`", kYes},
      {g, "`iterations`", kYes},
      {g, "`ls_iterations`", kYes},
      {g, "`tolerance`", kYes},
      {g, "`impratio`", kYes},
      {g, "flags `constraint`, `frictionloss`, `limit`, `contact`, `spring`, `damper`, `gravity`, `clampctrl`", kYes},
      {g, "flags `warmstart`, `filterparent`, `actuation`, `refsafe`, `eulerdamp`, `midphase`", kYes},
      {g, "`jacobian`", kIgnored},
      {g, "`ls_tolerance`, `ccd_tolerance`, `ccd_iterations`", kIgnored},
      {g, "`magnetic`", kIgnored},
      {g, "flags `sensor`, `island`, `autoreset` (worlds that turn non-finite are always reset)", kIgnored},
      {g, "flags `energy`, `fwdinv`, `invdiscrete`", kIgnored},
      {g, "integrators `implicit`, `implicitfast`, `discrete`", kNo, "Euler, RK4", implicit_integrator},
      {g, "solver `CG`", kNo, "Newton, PGS",
       [](const mjModel* m) { return option(m->opt.solver == mjSOL_CG, "solver 'CG'"); }},
      {g, "cone `elliptic`", kNo, "pyramidal",
       [](const mjModel* m) { return option(m->opt.cone == mjCONE_ELLIPTIC, "cone 'elliptic'"); }},
      {g, "`noslip_iterations`", kNo, "0",
       [](const mjModel* m) { return option(m->opt.noslip_iterations > 0, "noslip_iterations above 0"); }},
      {g, "flag `nativeccd` off (capsule with cylinder)", kNo, "nativeccd 'enable'",
       [](const mjModel* m) { return convex_flag(m, mjDSBL_NATIVECCD, "flag nativeccd 'disable'"); }},
      {g, "flag `multiccd` off (capsule with cylinder)", kNo, "multiccd 'enable'",
       [](const mjModel* m) { return convex_flag(m, mjDSBL_MULTICCD, "flag multiccd 'disable'"); }},
      {g, "flag `override`", kNo, "override 'disable'",
       [](const mjModel* m) { return enabled(m, mjENBL_OVERRIDE, "flag override 'enable'"); }},
      {g, "flag `sleep`", kNo, "sleep 'disable'",
       [](const mjModel* m) { return enabled(m, mjENBL_SLEEP, "flag sleep 'enable'"); }},
      {g, "flag `diagexact`", kNo, "diagexact 'disable'",
       [](const mjModel* m) { return enabled(m, mjENBL_DIAGEXACT, "flag diagexact 'enable'"); }},
      {g, "flag `ipc`", kNo, "ipc 'disable'",
       [](const mjModel* m) { return enabled(m, mjENBL_IPC, "flag ipc 'enable'"); }},
      {g, "flag `speculative`", kNo, "speculative 'disable'",
       [](const mjModel* m) { return enabled(m, mjENBL_SPECULATIVE, "flag speculative 'enable'"); }},
      {g, "`actuatorgroupdisable` of a group in use", kNo, "actuators in enabled groups", disabled_group},
  };
}

std::vector<Feature> body_features() {
  const char *b = "bodies", *j = "joints", *e = "geoms", *c = "contacts";
  return {
      {b, "trees of any shape, welded and fixed bodies", kYes},
      {b, "`inertial`, inertia from geoms", kYes},
      {b, "`mocap`", kNo, "bodies without mocap",
       [](const mjModel* m) {
         return first(m, mjOBJ_BODY, m->nbody,
                      [&](int i) -> std::string { return text_if(m->body_mocapid[i] >= 0, "mocap 'true'"); });
       }},
      {b, "`gravcomp`", kNo, "0",
       [](const mjModel* m) { return nonzero(m, mjOBJ_BODY, m->nbody, m->body_gravcomp, "gravcomp"); }},
      {b, "more than 128 degrees of freedom, 4096 bodies or 16384 geoms", kNo,
       "up to 128 degrees of freedom, 4096 bodies, 16384 geoms", too_large},
      {b, "models without joints", kNo, "at least one joint",
       [](const mjModel* m) -> Found {
         return m->nv == 0 ? Found(Finding{"model", "a model without joints"}) : std::nullopt;
       }},
      {j, "`free`, `ball`, `slide`, `hinge`", kYes},
      {j, "`range`, `margin`, `ref`, `springref`, `springdamper`", kYes},
      {j, "`stiffness`, `damping`, `armature`, `frictionloss`", kYes},
      {j, "`actuatorfrcrange`", kYes},
      {j, "solver parameters of limits and friction", kYes},
      {j, "polynomial `stiffness`", kNo, "one number",
       [](const mjModel* m) {
         return nonzero(m, mjOBJ_JOINT, m->njnt, m->jnt_stiffnesspoly, "stiffness with polynomial term", mjNPOLY);
       }},
      {j, "polynomial `damping`", kNo, "one number",
       [](const mjModel* m) -> Found {
         for (int i = 0; i < m->nv; ++i)
           for (int k = 0; k < mjNPOLY; ++k)
             if (m->dof_dampingpoly[mjNPOLY * i + k] != 0)
               return Finding{element_name(m, mjOBJ_JOINT, m->dof_jntid[i]),
                              "damping with polynomial term " + number(m->dof_dampingpoly[mjNPOLY * i + k])};
         return std::nullopt;
       }},
      {j, "`springyield` (plasticity), also of tendons", kNo, "elastic springs", plastic},
      {j, "`actuatorgravcomp`", kNo, "false",
       [](const mjModel* m) {
         return first(m, mjOBJ_JOINT, m->njnt,
                      [&](int i) -> std::string { return text_if(m->jnt_actgravcomp[i], "actuatorgravcomp 'true'"); });
       }},
      {e, "`plane`, `sphere`, `capsule`, `cylinder`, `box`", kYes},
      {e, "`ellipsoid`, `mesh`, `hfield`, `sdf` that can touch nothing", kYes},
      {e, "`surfacevel`", kNo, "0",
       [](const mjModel* m) { return nonzero(m, mjOBJ_GEOM, m->ngeom, m->geom_surfacevel, "surfacevel", 6); }},
      {e, "`adhesion`", kNo, "0",
       [](const mjModel* m) { return nonzero(m, mjOBJ_GEOM, m->ngeom, m->geom_adhesion, "adhesion"); }},
      {e, "`fluidshape` `ellipsoid` in a medium", kNo, "fluidshape 'none': forces on the bodies' inertia boxes",
       fluid_shape},
      {c, "`contype`, `conaffinity`, `pair`, `exclude`", kYes},
      {c, "`condim` 1 and 3", kYes},
      {c, "`priority`, `solmix`, `solref`, `solimp`, `margin`, `gap`, `friction`", kYes},
      {c, "`solreffriction`", kIgnored},
      {c, "`condim` 4 and 6", kNo},
      {c, "other combinations of geoms", kNo},
      {c, "`adhesion` of a `pair`", kNo, "0",
       [](const mjModel* m) { return nonzero(m, mjOBJ_PAIR, m->npair, m->pair_adhesion, "adhesion"); }},
  };
}

std::vector<Feature> other_features() {
  const char *t = "tendons", *a = "actuators", *o = "other";
  return {
      {t, "`fixed`", kYes},
      {t, "`range`, `margin`, `stiffness`, `damping`, `frictionloss`, `springlength`, solver parameters", kYes},
      {t, "`spatial`", kNo, "fixed",
       [](const mjModel* m) {
         return first(m, mjOBJ_TENDON, m->ntendon, [&](int i) -> std::string {
           return text_if(m->tendon_type[i] != mjTENDON_FIXED, "tendon type 'spatial'");
         });
       }},
      {t, "`armature`", kNo, "0",
       [](const mjModel* m) { return nonzero(m, mjOBJ_TENDON, m->ntendon, m->tendon_armature, "armature"); }},
      {t, "`actuatorfrcrange`", kNo, "none",
       [](const mjModel* m) {
         return first(m, mjOBJ_TENDON, m->ntendon,
                      [&](int i) -> std::string { return text_if(m->tendon_actfrclimited[i], "actuatorfrcrange"); });
       }},
      {t, "polynomial `stiffness`", kNo, "one number",
       [](const mjModel* m) {
         return nonzero(m, mjOBJ_TENDON, m->ntendon, m->tendon_stiffnesspoly, "stiffness with polynomial term",
                        mjNPOLY);
       }},
      {t, "polynomial `damping`", kNo, "one number",
       [](const mjModel* m) {
         return nonzero(m, mjOBJ_TENDON, m->ntendon, m->tendon_dampingpoly, "damping with polynomial term", mjNPOLY);
       }},
      {a, "`motor`, `position`, `velocity`, `general` on a joint or fixed tendon", kYes},
      {a, "gain `fixed`, `affine`; bias `none`, `affine`", kYes},
      {a, "`gear`, `ctrlrange`, `forcerange`", kYes},
      {a, "`lengthrange`", kIgnored},
      {a, "other transmissions", kNo, "joint, jointinparent of a hinge or slide joint, fixed tendon", transmission},
      {a, "activation: `intvelocity`, `damper` with filter, `cylinder`, `muscle`, ...", kNo, "dyntype 'none'",
       dynamics},
      {a, "other gain types", kNo, "gaintype 'fixed', 'affine'", gain},
      {a, "other bias types", kNo, "biastype 'none', 'affine'", bias},
      {a, "several inputs or outputs", kNo, "one input and one output", several_inputs},
      {a, "`damping`", kNo, "0",
       [](const mjModel* m) { return nonzero(m, mjOBJ_ACTUATOR, m->nactuator, m->actuator_damping, "damping"); }},
      {a, "polynomial `damping`", kNo, "0",
       [](const mjModel* m) {
         return nonzero(m, mjOBJ_ACTUATOR, m->nactuator, m->actuator_dampingpoly, "damping with polynomial term",
                        mjNPOLY);
       }},
      {a, "`armature`", kNo, "0",
       [](const mjModel* m) { return nonzero(m, mjOBJ_ACTUATOR, m->nactuator, m->actuator_armature, "armature"); }},
      {a, "`delay`", kNo, "0", actuator_delay},
      {o, "`keyframe`: `qpos` and `qvel`", kYes},
      {o, "`statistic` `meaninertia`", kYes},
      {o, "sensors", kIgnored},
      {o, "sites, cameras, lights, materials, textures, skins, `visual`", kIgnored},
      {o, "`custom`, `size`, user data", kIgnored},
      {o, "equality constraints", kNo, "none",
       [](const mjModel* m) {
         return first(m, mjOBJ_EQUALITY, m->neq, [&](int) -> std::string { return "equality constraint"; });
       }},
      {o, "flexes", kNo, "rigid bodies",
       [](const mjModel* m) { return first(m, mjOBJ_FLEX, m->nflex, [&](int) -> std::string { return "flex"; }); }},
      {o, "plugins", kNo, "none", plugin},
  };
}

}  // namespace

const std::vector<Feature>& features() {
  static const std::vector<Feature> all = [] {
    std::vector<Feature> table = option_features();
    for (const auto& part : {body_features(), other_features()}) table.insert(table.end(), part.begin(), part.end());
    return table;
  }();
  return all;
}

}  // namespace hotloop

// Environments as the field's JSON.
#pragma once
#include <optional>
#include <string>

#include "data/dataset/episode.h"

namespace hotloop {

// What a Gymnasium task's constructor is given beside its defaults, as a JSON object.
std::string env_kwargs_json(const DatasetInfo& info);

// Gymnasium's EnvSpec as JSON; "" where Gymnasium has no such environment: tasks of our own, and worlds whose models
// differ.
std::string gymnasium_spec_json(const DatasetInfo& info);

// What a command says where that is "".
inline constexpr const char* kNoEnvSpec =
    "Gymnasium has no such environment: the metadata hold no env_spec, and recover_environment() has none to make";

// What every format carries beside its own metadata, so that a dataset can be traced: one JSON object.
std::string provenance_json(const DatasetInfo& info);

// The way back, of a dataset of a task that this program has. Error starting with `where` where it is not such a text.
DatasetInfo info_from_provenance(const std::string& text, const std::string& where);

// Of that task; nothing where this program has it not. Error as above.
std::optional<ActionSpace> action_space_from_provenance(const std::string& text, const std::string& where);

inline constexpr const char* kProvenanceKey = "hotloop";  // attribute or key that holds it

}  // namespace hotloop

// Runs the environment functions alone, without a batch, in single or double precision on either device.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/device.h"

namespace hotloop {

struct ProbeResult {
  std::vector<double> next_state, observation;  // [rows][state_dim], [rows][obs_dim]
  std::vector<double> reward;                   // [rows]
  std::vector<std::uint8_t> terminated;         // [rows]
};

// One step of `env` from each state [rows][state_dim] with one action number each.
ProbeResult probe_step(const Exec& exec, const std::string& env, bool double_precision,
                       const std::vector<double>& state, const std::vector<float>& action);

}  // namespace hotloop

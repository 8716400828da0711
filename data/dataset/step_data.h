// The steps of a dataset in TensorDict's memmap layout (make_tensordict_writer), as memory: what offline training
// reads.
#pragma once
#include <cstdint>
#include <filesystem>

#include "data/mapped_file.h"
#include "sim/core/env.h"

namespace hotloop {

class StepData {
 public:
  // Error naming the file where the folder is no such dataset, or not one of the task's spaces.
  StepData(const std::filesystem::path& folder, const EnvSpec& env);

  std::int64_t rows() const { return rows_; }  // steps, at least 1
  const float* observation() const { return reinterpret_cast<const float*>(observation_.bytes().data()); }
  // float [rows, dim] for a box, int64 [rows, dim] for choices, each of them legal.
  const std::byte* action() const { return action_.bytes().data(); }

 private:
  MappedFile observation_, action_;
  std::int64_t rows_ = 0;
};

}  // namespace hotloop

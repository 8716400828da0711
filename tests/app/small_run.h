// A training of a second, through the program.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace hotloop {

// `hotloop` arguments that train CartPole on two threads of the CPU into `run`: 60 iterations of 8 x 32 steps, with
// evaluations and checkpoints that do not meet. A key in `more` replaces the same key here.
std::vector<std::string> small_run(const std::filesystem::path& run, const std::vector<std::string>& more = {});

// The tensors of two checkpoints, and the counters beside them, are the same to the last bit.
void expect_same_checkpoint(const std::filesystem::path& a, const std::filesystem::path& b);

// What two runs of one seed must have in common: metric files, latest and best checkpoint.
void expect_same_run(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace hotloop

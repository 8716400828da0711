// The episodes that `hotloop record --random` has to record, played step by step by the simulator alone, in the form
// that tests/python/check_dataset.py compares a dataset with.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset/episode.h"

namespace hotloop {

// The first episode of each of `worlds` worlds, random actions, on the CPU.
std::vector<Episode> random_episodes(const std::string& task, std::int64_t worlds, std::int64_t seed);

// As safetensors: "<i>.observations" and so on; "<i>.terms.<name>" of episodes that hold the terms of their rewards.
void write_expected(const std::filesystem::path& file, const std::string& task, const std::vector<Episode>& episodes);

struct DatasetToCheck {
  std::string format;
  std::filesystem::path dataset, expected;  // expected: of write_expected
  std::string task;
};
// Opens each in its own loader and compares every value: the status of check_dataset.py, 0 if all is as expected, 77
// where Python lacks a loader. Its output goes to `log`.
int check_datasets(const std::vector<DatasetToCheck>& datasets, const std::filesystem::path& log);

}  // namespace hotloop

#include "tests/fuzz/valid_dataset.h"

#include "data/file.h"
#include "sim/core/registry.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

Episode episode(std::int64_t id) {
  Episode e;
  e.id = id;
  e.length = 2 + id;
  const auto steps = static_cast<std::size_t>(e.length);
  e.observations.resize(2 * (steps + 1), 0.5f);
  e.actions.resize(4 * steps);
  e.rewards.resize(steps, 1.0f);
  e.terminated.resize(steps);
  e.truncated.resize(steps);
  e.terminated.back() = 1;
  return e;
}

}  // namespace

void write_valid_dataset(DatasetFormat format, const fs::path& path) {
  DatasetInfo info;
  info.env = find_environment("MountainCarContinuous-v0").spec;
  info.dataset_id = "fuzz-v0";
  const std::unique_ptr<DatasetWriter> writer = make_dataset_writer(format, path, info);
  for (std::int64_t id = 0; id < 2; ++id) writer->append(episode(id));
  writer->finish();
}

std::string valid_hdf5(DatasetFormat format) {
  const TempFolder folder;
  write_valid_dataset(format, folder / "set");
  const bool minari = format == DatasetFormat::minari;
  return read_file(minari ? folder / "set/data/main_data.hdf5" : folder / "set", UINT64_MAX);
}

}  // namespace hotloop

#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/inspect/inspect.h"
#include "tests/fuzz/hdf5_edits.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr DatasetFormat kFormats[] = {DatasetFormat::d4rl, DatasetFormat::minari, DatasetFormat::robomimic};

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

// The HDF5 file of a dataset.
std::string valid_dataset(DatasetFormat format) {
  const TempFolder folder;
  DatasetInfo info;
  info.env = {.name = "Fuzz-v0", .observation = {{0, 0}, {1, 1}}, .action = ActionSpace::box({-1}, {1})};
  info.dataset_id = "fuzz-v0";
  const std::unique_ptr<DatasetWriter> writer = make_dataset_writer(format, folder / "set", info);
  for (std::int64_t id = 0; id < 2; ++id) writer->append(episode(id));
  writer->finish();
  const bool minari = format == DatasetFormat::minari;
  return read_file(minari ? folder / "set/data/main_data.hdf5" : folder / "set", UINT64_MAX);
}

}  // namespace

void fuzz_episodes(std::string_view bytes) {
  const Hdf5Quiet quiet;
  static const TempFolder folder;
  static const std::string valid[] = {valid_dataset(kFormats[0]), valid_dataset(kFormats[1]),
                                      valid_dataset(kFormats[2])};
  FuzzInput input(bytes);
  const fs::path path = folder / "set.hdf5";
  put_file(path, valid[input.number<std::uint8_t>() % std::size(valid)]);
  put_file(folder / "metadata.json", input.text());
  edit_hdf5(path, input);
  expect_calm([&] {
    const Report report = inspect(path);
    report.text();
    report.json();
  });
}

}  // namespace hotloop

// The four dataset formats behind one interface. Each is read unchanged by its field's own loader:
//
//   minari      folder: data/main_data.hdf5 with a group an episode, data/metadata.json    minari.load_dataset
//   d4rl        one HDF5 file, flat over all steps                                         d4rl.qlearning_dataset
//   robomimic   one HDF5 file, a group a demonstration                                     SequenceDataset
//   tensordict  folder of raw memory-mapped files, flat over all steps                     TensorDict.load_memmap
//
// Observations and rewards are the simulator's float32 bits (Minari's rewards are widened to float64, as in its own
// datasets, which keeps the value); box actions are float32, discrete ones int64.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset/episode.h"

namespace hotloop {

enum class DatasetFormat : std::uint8_t { minari, d4rl, robomimic, tensordict };

inline const std::vector<std::string> kDatasetFormats = {"minari", "d4rl", "robomimic", "tensordict"};
DatasetFormat dataset_format(const std::string& name);
const std::string& format_name(DatasetFormat format);
bool is_folder_format(DatasetFormat format);  // else one file

class DatasetWriter {
 public:
  virtual ~DatasetWriter() = default;
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  // Episodes in order of their ids from 0 on. Memory does not grow with their number.
  virtual void append(const Episode& episode) = 0;
  // Totals, metadata and fsync; nothing may follow. Without it what was written is no dataset.
  virtual void finish() = 0;

 protected:
  DatasetWriter() = default;
};

// Writes at `path`, which does not exist yet and in a folder that does; the caller stages and renames.
std::unique_ptr<DatasetWriter> make_dataset_writer(DatasetFormat format, const std::filesystem::path& path,
                                                   const DatasetInfo& info);

std::unique_ptr<DatasetWriter> make_minari_writer(const std::filesystem::path& path, const DatasetInfo& info);
std::unique_ptr<DatasetWriter> make_d4rl_writer(const std::filesystem::path& path, const DatasetInfo& info);
std::unique_ptr<DatasetWriter> make_robomimic_writer(const std::filesystem::path& path, const DatasetInfo& info);
std::unique_ptr<DatasetWriter> make_tensordict_writer(const std::filesystem::path& path, const DatasetInfo& info);

}  // namespace hotloop

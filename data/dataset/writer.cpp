#include "data/dataset/writer.h"

#include <algorithm>

#include "sim/core/error.h"

namespace hotloop {

DatasetFormat dataset_format(const std::string& name) {
  const auto found = std::find(kDatasetFormats.begin(), kDatasetFormats.end(), name);
  if (found == kDatasetFormats.end()) throw Error("no dataset format '" + name + "'");
  return static_cast<DatasetFormat>(found - kDatasetFormats.begin());
}

const std::string& format_name(DatasetFormat format) { return kDatasetFormats[static_cast<std::size_t>(format)]; }

bool is_folder_format(DatasetFormat format) {
  return format == DatasetFormat::minari || format == DatasetFormat::tensordict;
}

std::unique_ptr<DatasetWriter> make_dataset_writer(DatasetFormat format, const std::filesystem::path& path,
                                                   const DatasetInfo& info) {
  switch (format) {
    case DatasetFormat::minari:
      return make_minari_writer(path, info);
    case DatasetFormat::d4rl:
      return make_d4rl_writer(path, info);
    case DatasetFormat::robomimic:
      return make_robomimic_writer(path, info);
    case DatasetFormat::tensordict:
      return make_tensordict_writer(path, info);
  }
  return nullptr;
}

}  // namespace hotloop

#include "data/inspect/dataset_actions.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "data/dataset/action_check.h"
#include "data/dataset/describe.h"
#include "data/hdf5_types.h"

namespace hotloop {
namespace {

// A float as short as it is, not as the double that it was read as.
std::string value_text(DType dtype, double value) {
  return dtype == DType::f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

}  // namespace

DatasetOrigin read_origin(Report& report, const std::function<void(DatasetOrigin&)>& read) {
  DatasetOrigin origin;
  try {
    read(origin);
  } catch (const Error& e) {
    report.problem(e.what());
  }
  return origin;
}

DatasetOrigin hdf5_origin(hid_t file, const char* object, Report& report) {
  return read_origin(report, [&](DatasetOrigin& origin) {
    const Hdf5Handle group(H5Gopen2(file, object, H5P_DEFAULT), object);
    origin.ours = H5Aexists(group.get(), kProvenanceKey) > 0;
    if (origin.ours)
      origin.action_space = action_space_from_provenance(read_text_attribute(group.get(), kProvenanceKey, object),
                                                         fmt::format("attribute '{}'", kProvenanceKey));
  });
}

bool DatasetActions::has_kind(const DataLeaf& leaf, const std::string& where) {
  const ActionSpace& space = *origin_.action_space;
  const bool of_type = origin_.ours ? leaf.dtype == action_dtype(space) : leaf.dtype.has_value();
  const bool of_width = leaf.row_numel() == space.dim();
  if ((!of_type || !of_width) && !std::exchange(kind_told_, true))
    report_.problem(fmt::format("{}{}: {} of {} a step: must be {} of {}", where.empty() ? "" : where + ": ", leaf.name,
                                leaf.row_numel(), leaf.dtype_text(), space.dim(), dtype_name(action_dtype(space))));
  return leaf.dtype && of_width;
}

TakeRows DatasetActions::take(const DataLeaf& leaf, const std::string& where) {
  if (!origin_.action_space || !has_kind(leaf, where)) return {};
  return [this, &leaf, where](std::int64_t row, std::int64_t rows, const std::byte* values) {
    const ActionSpace& space = *origin_.action_space;
    const std::int64_t dim = space.dim();
    const std::size_t size = dtype_size(*leaf.dtype);
    for (std::int64_t i = 0; i < rows * dim; ++i) {
      const double value = leaf_number(*leaf.dtype, values + static_cast<std::size_t>(i) * size);
      if (!std::isfinite(value)) continue;
      const auto accepted = wrong_action_value(space, static_cast<std::size_t>(i % dim), value);
      if (accepted && wrong_++ == 0)
        first_wrong_ = fmt::format("{}: {} in step {}{}: must be {}", leaf.name, value_text(*leaf.dtype, value),
                                   row + i / dim, where.empty() ? "" : " of " + where, *accepted);
    }
  };
}

void DatasetActions::finish() {
  if (wrong_ == 0) return;
  report_.problem(first_wrong_ + (wrong_ == 1 ? "" : fmt::format("; {} values are wrong in all", wrong_)));
}

}  // namespace hotloop

#include "data/inspect/repair.h"

#include "data/dataset/target.h"
#include "data/inspect/damaged_leaf.h"
#include "data/log/log_reader.h"
#include "data/log/log_writer.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProblems = 50;

LogSpec spec_of(const LogReader& log) {
  LogSpec spec = spec_like(log);
  spec.expected_iterations = static_cast<std::int64_t>(log.iterations().size());
  return spec;
}

class Copier {
 public:
  explicit Copier(const LogReader& log) : log_(log), leaves_(log.keys().size()) {}

  // Reads an iteration whole. What it points to is valid until the next.
  LogIteration read(std::int64_t i) {
    const std::int64_t steps = log_.info().num_steps, worlds = log_.num_worlds();
    const LoggedIteration& logged = log_.iterations()[static_cast<std::size_t>(i)];
    LogIteration iteration;
    iteration.index = logged.index;
    iteration.global_step = logged.global_step;
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      const LogKey& key = log_.keys()[k];
      leaves_[k].resize(static_cast<std::size_t>(steps * worlds) * key.bytes());
      log_.read(key.name, i * steps, steps, 0, worlds, leaves_[k].data());
      iteration.leaves.push_back(leaves_[k].data());
    }
    last_observation_.resize(static_cast<std::size_t>(worlds * log_.obs_dim()));
    log_.read_last_observation(i, 0, worlds, last_observation_.data());
    iteration.last_observation = last_observation_.data();
    LogFinals finals = log_.read_finals(i);
    for (std::int64_t& row : finals.row) row -= i * steps;
    iteration.final_row = std::move(finals.row);
    iteration.final_env = std::move(finals.env);
    iteration.final_observation = std::move(finals.observation);
    if (log_.state_bytes() > 0) {
      state_.resize(log_.state_bytes());
      log_.read_state(i, state_.data());
      iteration.state = state_.data();
    }
    return iteration;
  }

 private:
  const LogReader& log_;
  std::vector<std::vector<std::byte>> leaves_;
  std::vector<float> last_observation_;
  std::vector<std::byte> state_;
};

}  // namespace

void Repaired::problem(const std::string& text) {
  if (problems.size() < kMostProblems) problems.push_back(text);
}

Repaired repair(const fs::path& path, const fs::path& target) {
  const fs::path file = file_to_read(path);
  std::error_code ignored;
  check_not_in_dataset(fs::weakly_canonical(fs::absolute(target), ignored));
  if (fs::is_directory(file, ignored)) return repair_dataset(path, target);
  bool log = true;  // what cannot be opened: its reader says why
  if (fs::exists(file, ignored)) {
    const OpenHdf5 opened = open_damaged_hdf5(file);
    log = opened.file.get() < 0 || kind_of(opened, file) == "trajectory log";
  }
  return log ? repair_log(path, target) : repair_dataset(path, target);
}

Repaired repair_log(const std::filesystem::path& path, const std::filesystem::path& target) {
  const LogReader log(path);
  if (log.obs_dim() == 0)
    throw Error(path.string() + ": no observation after the rows can be read: nothing can be recovered");
  Repaired result{"iteration"};
  result.problems = log.problems();
  result.lost_more = log.lost_iterations();
  LogWriterOptions options;
  options.num_threads = 1;  // nothing is compressed
  LogWriter writer(target, spec_of(log), options);
  Copier copier(log);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(log.iterations().size()); ++i) {
    LogIteration iteration;
    try {
      iteration = copier.read(i);
    } catch (const Error& e) {
      result.problem(e.what());
      ++result.left_out;
      continue;
    }
    writer.append(iteration);
    ++result.recovered;
    writer.tick();
  }
  writer.set_dropped(result.left_out);
  writer.close();
  if (result.recovered == 0) throw Error(path.string() + ": nothing can be recovered");
  return result;
}

}  // namespace hotloop

// What `hotloop inspect` finds in a trajectory log or dataset.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/inspect/statistics.h"

namespace hotloop {

struct KeyReport {
  std::string name, dtype;
  std::vector<std::int64_t> row_shape;  // without the first dimension
  std::int64_t rows = 0;                // that were read, of all episodes together
  std::int64_t non_finite = 0;          // values that are NaN or infinite
};

class Report {
 public:
  std::string path, format;
  std::vector<std::pair<std::string, std::string>> about;  // what the files say of themselves
  std::vector<KeyReport> keys;
  std::int64_t episodes = 0, steps = 0;  // episodes that ended
  Statistics returns, lengths;           // of the episodes that are there from their first step to their last

  // The entry of that name, made where there is none. A key whose kind differs between episodes is a problem.
  KeyReport& key(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& row_shape);
  // One line; of very many only the first are kept.
  void problem(const std::string& text);
  void add_episode(double episode_return, std::int64_t length);
  // To be called once, after all else: what the values say.
  void finish();

  const std::vector<std::string>& problems() const { return problems_; }
  std::string text() const;
  std::string json() const;

 private:
  std::vector<std::string> problems_;
  std::int64_t further_problems_ = 0;
};

}  // namespace hotloop

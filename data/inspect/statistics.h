// Mean, spread and histogram of numbers that pass by once. Constant memory.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace hotloop {

class Statistics {
 public:
  struct Bin {
    double low = 0, high = 0;
    std::int64_t count = 0;
  };

  void add(double value);  // finite
  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }
  double std() const;  // of all numbers, not of a sample
  double min() const { return min_; }
  double max() const { return max_; }
  // At most `most` bins of one width that hold all numbers, empty ones between them too.
  std::vector<Bin> histogram(std::size_t most) const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0, min_ = 0, max_ = 0;
  double width_ = 0;                           // of a bin, a power of 2
  std::map<std::int64_t, std::int64_t> bins_;  // by floor(value / width_)
};

}  // namespace hotloop

#include "sim/core/error.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "sim/core/value.h"

namespace hotloop {
namespace {

std::string folded(std::string_view s) {
  std::string out;
  for (const char c : s) out += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string w = folded(word.substr(0, 256));
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, w.size() / 3) + 1;
  for (const std::string& c : candidates) {
    const std::string f = folded(c);
    std::size_t d = edit_distance(w, f);
    // "cartpole" for "CartPole-v1": a missing suffix is the commonest slip of all
    if (w.size() >= 3 && f.rfind(w, 0) == 0) d = std::min<std::size_t>(d, 1);
    if (d < best_distance) best = c, best_distance = d;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string n = nearest(word, candidates);
  return n.empty() ? "" : " (did you mean '" + one_line(n) + "'?)";
}

}  // namespace hotloop

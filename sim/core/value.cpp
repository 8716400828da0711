#include "sim/core/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/core/error.h"

namespace hotloop {
namespace {

constexpr std::size_t kShownLength = 200;  // [bytes]
constexpr std::size_t kMaxListLength = 64;

[[noreturn]] void refuse(const std::string& label, std::string_view text, const std::string& accepts) {
  throw Error(label + " " + shown(text) + ": must be " + accepts);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes underscores that stand between digits; any other underscore stays and fails later.
std::string without_grouping(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool groups =
        text[i] == '_' && i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (!groups) out += text[i];
  }
  return out;
}

std::optional<double> to_double(std::string_view text) {
  std::string plain = without_grouping(text);
  if (plain.size() > 1 && plain[0] == '+' && plain[1] != '-') plain.erase(0, 1);
  double value = 0;
  const char* const end = plain.data() + plain.size();
  const auto [stop, status] = std::from_chars(plain.data(), end, value);
  if (status != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Exact: a decimal number with optional fraction and exponent, if it is an integer of 64 bits.
std::optional<std::int64_t> to_integer(std::string_view text) {
  std::string s = without_grouping(text);
  bool negative = false;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) negative = s[0] == '-', s.erase(0, 1);
  std::int64_t exponent = 0;
  if (const std::size_t e = s.find_first_of("eE"); e != std::string::npos) {
    const std::size_t first = e + 1 < s.size() && s[e + 1] == '+' ? e + 2 : e + 1;
    const char* const end = s.data() + s.size();
    const auto [stop, status] = std::from_chars(s.data() + first, end, exponent);
    const bool two_signs = first == e + 2 && first < s.size() && s[first] == '-';
    if (status != std::errc() || stop != end || two_signs || std::abs(exponent) > 400) return std::nullopt;
    s.resize(e);
  }
  if (const std::size_t dot = s.find('.'); dot != std::string::npos) {
    if (s.size() == 1) return std::nullopt;
    exponent -= static_cast<std::int64_t>(s.size() - dot - 1);
    s.erase(dot, 1);
  }
  if (s.empty() || !std::all_of(s.begin(), s.end(), is_digit)) return std::nullopt;
  while (exponent < 0 && s.size() > 1 && s.back() == '0') s.pop_back(), ++exponent;
  const bool zero = s.find_first_not_of('0') == std::string::npos;
  if (zero) return 0;
  if (exponent < 0 || exponent > 20) return std::nullopt;
  s.append(static_cast<std::size_t>(exponent), '0');
  if (negative) s.insert(0, 1, '-');
  std::int64_t value = 0;
  const char* const end = s.data() + s.size();
  const auto [stop, status] = std::from_chars(s.data(), end, value);
  if (status != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

bool is_bounded(const KeyRule& rule) { return rule.low > -1e300 || rule.high < 1e300; }

std::string bound(double x) {
  return std::abs(x) < 1e15 && x == std::floor(x) ? fmt::format("{:.0f}", x) : fmt::format("{}", x);
}

std::string range(const KeyRule& rule) {
  return is_bounded(rule) ? " in [" + bound(rule.low) + ", " + bound(rule.high) + "]" : "";
}

bool inside(const KeyRule& rule, double x) { return x >= rule.low && x <= rule.high; }

// The same bounds for integers, to the last one: beyond 2^53 two of them can be the same double.
struct IntegerRange {
  std::int64_t low, high;
};

IntegerRange integer_range(const KeyRule& rule) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  const auto bounded = [](double x) {
    return x < -kEnd ? INT64_MIN : x >= kEnd ? INT64_MAX : static_cast<std::int64_t>(x);
  };
  return {bounded(std::ceil(rule.low)), bounded(std::floor(rule.high))};
}

std::string integer_range_text(const KeyRule& rule) {
  const auto [low, high] = integer_range(rule);
  return is_bounded(rule) ? fmt::format(" in [{}, {}]", low, high) : "";
}

bool inside(const KeyRule& rule, std::int64_t x) {
  const auto [low, high] = integer_range(rule);
  return x >= low && x <= high;
}

// Length of the UTF-8 sequence that starts at s[i], 0 where none does.
std::size_t utf8_length(std::string_view s, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const std::size_t length = byte(i) < 0x80       ? 1
                             : byte(i) >> 5 == 6  ? 2
                             : byte(i) >> 4 == 14 ? 3
                             : byte(i) >> 3 == 30 ? 4
                                                  : 0;
  if (length == 0 || i + length > s.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if (byte(i + k) >> 6 != 2) return 0;
  const bool overlong = (length == 2 && byte(i) < 0xc2) || (length == 3 && byte(i) == 0xe0 && byte(i + 1) < 0xa0) ||
                        (length == 4 && byte(i) == 0xf0 && byte(i + 1) < 0x90);
  const bool surrogate = length == 3 && byte(i) == 0xed && byte(i + 1) >= 0xa0;
  const bool beyond = length == 4 && (byte(i) > 0xf4 || (byte(i) == 0xf4 && byte(i + 1) >= 0x90));
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t length = utf8_length(s, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace

std::string one_line(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t length = utf8_length(s, i);
    const unsigned char c = static_cast<unsigned char>(s[i]);
    const bool c1_control = length == 2 && c == 0xc2 && static_cast<unsigned char>(s[i + 1]) < 0xa0;
    const bool separator = length == 3 && (s.substr(i, 3) == "\u2028" || s.substr(i, 3) == "\u2029");
    if (length == 0 || c < 0x20 || c == 0x7f || c1_control || separator) {
      for (std::size_t k = 0; k < std::max<std::size_t>(length, 1); ++k)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(s[i + k]));
    } else {
      out += s.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string shown(std::string_view text) {
  std::string_view head = text;
  if (text.size() > kShownLength) {
    std::size_t cut = kShownLength;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
    head = text.substr(0, cut);
  }
  std::string out = one_line(head);
  if (head.size() < text.size()) out += "...";
  const bool quote = text.empty() || out.find_first_of(" '\"`") != std::string::npos;
  return quote ? "'" + out + "'" : out;
}

bool is_boolean(std::string_view text) {
  for (const char* word : {"true", "false", "yes", "no", "1", "0", "True", "False"})
    if (text == word) return true;
  return false;
}

void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, bool& value) {
  if (!is_boolean(text)) refuse(label, text, accepted(rule, value));
  value = text == "true" || text == "True" || text == "yes" || text == "1";
}

void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, std::int64_t& value) {
  const std::optional<std::int64_t> parsed = to_integer(text);
  if (!parsed || !inside(rule, *parsed)) refuse(label, text, accepted(rule, value));
  value = *parsed;
}

void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, double& value) {
  const std::optional<double> parsed = to_double(text);
  if (!parsed || !inside(rule, *parsed)) refuse(label, text, accepted(rule, value));
  value = *parsed;
}

void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, std::string& value) {
  if (rule.choices.empty()) {
    // the resolved configuration is TOML, which holds nothing else
    if (!is_utf8(text)) refuse(label, text, "text in UTF-8");
    value = text;
    return;
  }
  std::string word(text);
  for (const auto& [elsewhere, choice] : rule.choice_aliases)
    if (word == elsewhere) word = choice;
  if (std::find(rule.choices.begin(), rule.choices.end(), word) == rule.choices.end())
    refuse(label, text, accepted(rule, value) + suggestion(word, rule.choices));
  value = word;
}

void parse_value(const std::string& label, std::string_view text, const KeyRule& rule,
                 std::vector<std::int64_t>& value) {
  std::string_view rest = trimmed(text);
  const bool bracketed = rest.size() >= 2 && rest.front() == '[' && rest.back() == ']';
  if (bracketed) rest = trimmed(rest.substr(1, rest.size() - 2));
  std::vector<std::int64_t> parsed;
  if (!bracketed && rest.empty()) refuse(label, text, accepted(rule, value));
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::optional<std::int64_t> x = to_integer(trimmed(rest.substr(0, comma)));
    const bool dangling = comma != std::string_view::npos && comma + 1 == rest.size();
    if (!x || !inside(rule, *x) || dangling || parsed.size() == kMaxListLength)
      refuse(label, text, accepted(rule, value));
    parsed.push_back(*x);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  value = std::move(parsed);
}

void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, Interval& value) {
  std::string_view rest = trimmed(text);
  if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') rest = rest.substr(1, rest.size() - 2);
  const bool bounded = is_bounded(rule);
  const auto end = [&](std::string_view word) -> std::optional<double> {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!bounded && (word == "inf" || word == "+inf")) return kInfinity;
    if (!bounded && word == "-inf") return -kInfinity;
    const std::optional<double> number = to_double(word);
    return number && bounded && !inside(rule, *number) ? std::nullopt : number;
  };
  const std::size_t comma = rest.find(',');
  const bool two = comma != std::string_view::npos;
  const std::optional<double> low = end(trimmed(rest.substr(0, comma)));
  const std::optional<double> high = two ? end(trimmed(rest.substr(comma + 1))) : std::nullopt;
  if (!low || !high || !(*low <= *high)) refuse(label, text, accepted(rule, value));
  value = {*low, *high};
}

std::string accepted(const KeyRule&, const bool&) { return "true or false"; }
std::string accepted(const KeyRule& rule, const std::int64_t&) { return "an integer" + integer_range_text(rule); }
std::string accepted(const KeyRule& rule, const double&) { return "a number" + range(rule); }
std::string accepted(const KeyRule& rule, const std::string&) {
  if (rule.choices.empty()) return "text";
  return (rule.choices.size() == 1 ? "" : "one of ") + fmt::format("{}", fmt::join(rule.choices, ", "));
}
std::string accepted(const KeyRule& rule, const std::vector<std::int64_t>&) {
  return "a list such as 64,64 or [] of at most " + std::to_string(kMaxListLength) + " integers" +
         integer_range_text(rule);
}
std::string accepted(const KeyRule& rule, const Interval&) {
  const std::string bounds = range(rule);
  return bounds.empty() ? "low,high with low <= high (inf and -inf are allowed)"
                        : "low,high" + bounds + ", low <= high";
}

std::string toml_text(const bool& value) { return value ? "true" : "false"; }
std::string toml_text(const std::int64_t& value) { return std::to_string(value); }
std::string toml_text(const double& value) {
  std::string text = fmt::format("{}", value);
  // an integer in TOML would lose the sign of -0
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string toml_text(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\u{:04X}", byte);
    else
      out += c;
  }
  return out + "\"";
}
std::string toml_text(const std::vector<std::int64_t>& value) { return fmt::format("[{}]", fmt::join(value, ", ")); }
std::string toml_text(const Interval& value) { return "[" + toml_text(value.low) + ", " + toml_text(value.high) + "]"; }

}  // namespace hotloop

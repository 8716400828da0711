// Values of configuration keys as text, both ways. Parsing throws an Error that says what is accepted.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotloop {

// What a key accepts beside its type; shown in messages and in --help.
struct KeyRule {
  double low = -1e300, high = 1e300;                                     // numbers (each element of a list)
  std::vector<std::string> choices = {};                                 // strings
  std::vector<std::pair<std::string, std::string>> choice_aliases = {};  // spelling elsewhere, our choice
  const char* help = "";
  std::vector<std::string> aliases = {};  // SB3's, rl_games' and rsl_rl's spellings
  bool may_change = false;                // a resumed run may override it
  const char* group = "";                 // set by visit_config
};

// Numbers from low to high; an end may be infinite.
struct Interval {
  double low = 0, high = 0;
};

// Control characters and broken UTF-8 as \xNN, so that the text keeps to one line and cannot drive a terminal.
std::string one_line(std::string_view text);

// A value as messages show it: one line, at most about 200 characters, quoted where its ends would not be seen.
std::string shown(std::string_view text);

// Sets `value` from text. `label` starts the message: "--gamma", "file.toml:3: gamma =". Numbers may group digits by
// underscores; integers may be written with an exponent or a fraction where the value is exact (1e6); booleans are
// true, false, yes, no, 1 and 0; lists are 64,64 or [64, 64].
void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, bool& value);
void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, std::int64_t& value);
void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, double& value);
void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, std::string& value);
void parse_value(const std::string& label, std::string_view text, const KeyRule& rule,
                 std::vector<std::int64_t>& value);
// low,high or [low, high], low <= high; inf and -inf are allowed where the rule has no bounds.
void parse_value(const std::string& label, std::string_view text, const KeyRule& rule, Interval& value);

bool is_boolean(std::string_view text);  // one of the spellings of a boolean

// "a number in [0, 1]", "true or false", "one of tanh, relu": what a key takes.
std::string accepted(const KeyRule& rule, const bool&);
std::string accepted(const KeyRule& rule, const std::int64_t&);
std::string accepted(const KeyRule& rule, const double&);
std::string accepted(const KeyRule& rule, const std::string&);
std::string accepted(const KeyRule& rule, const std::vector<std::int64_t>&);
std::string accepted(const KeyRule& rule, const Interval&);

// The value in TOML; doubles in the shortest form that reads back to the same bits.
std::string toml_text(const bool& value);
std::string toml_text(const std::int64_t& value);
std::string toml_text(const double& value);
std::string toml_text(const std::string& value);
std::string toml_text(const std::vector<std::int64_t>& value);
std::string toml_text(const Interval& value);

}  // namespace hotloop

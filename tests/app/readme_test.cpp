// What the README names exists: commands, flags, keys with their defaults, files, metrics; its code is that of the
// files it says it is from.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "tests/app/program.h"
#include "train/config.h"
#include "train/metric_tags.h"

namespace hotloop {
namespace {

struct CodeBlock {
  std::string source;  // what a comment on the line before says: "<!-- source -->"
  std::string text;
};

struct Readme {
  std::vector<std::vector<std::string>> command_lines;  // words after ./hotloop
  std::vector<std::string> flags;                       // backticked in the text
};

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : line.substr(first);
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(std::filesystem::path(HOTLOOP_SOURCE_DIR) / file);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<CodeBlock> sourced_blocks(const std::string& text) {
  std::vector<CodeBlock> blocks;
  std::istringstream in(text);
  std::string source;
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    const bool fence = line.starts_with("```");
    if (in_block && !fence && !source.empty()) blocks.back().text += line + "\n";
    if (!in_block && fence && !source.empty()) blocks.push_back({source, ""});
    if (fence) in_block = !in_block;
    if (in_block) continue;
    const bool comment = line.starts_with("<!-- ") && line.ends_with(" -->");
    source = comment ? line.substr(5, line.size() - 9) : "";
  }
  return blocks;
}

// Backticked words with a slash, and the targets of links, outside code blocks.
std::vector<std::string> named_paths(const std::string& text) {
  static const std::regex name("`([A-Za-z0-9_.-]+/[A-Za-z0-9_./-]*)`|\\]\\(([^)]+)\\)");
  std::vector<std::string> names;
  std::istringstream in(text);
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    if (trimmed(line).starts_with("```")) in_block = !in_block;
    for (std::sregex_iterator it(line.begin(), line.end(), name), end; !in_block && it != end; ++it)
      names.push_back((*it)[1].matched ? (*it)[1] : (*it)[2]);
  }
  return names;
}

// A file of the tree, a metric, or what a build or a run writes.
bool is_there(const std::string& name) {
  static const std::set<std::string> written = {"build/", "checkpoints/"};
  for (const MetricTag& tag : kMetricTags)
    if (name == tag.name() || name == tag.sb3) return true;
  for (const EnvEntry& entry : environments())
    for (const std::string& term : entry.spec.reward_terms)
      if (name == "reward/" + term) return true;
  return written.contains(name) || std::filesystem::exists(std::filesystem::path(HOTLOOP_SOURCE_DIR) / name);
}

// The rows of the table of keys, by key: the cells after it as they must be.
std::map<std::string, std::string> key_rows() {
  std::map<std::string, std::string> rows;
  const TrainConfig defaults;
  visit_config(defaults, [&](const std::string& name, const auto& value, const KeyRule& rule) {
    std::string aliases;
    for (const std::string& alias : rule.aliases) aliases += (aliases.empty() ? "`" : ", `") + alias + "`";
    rows[name] = "| `" + name + "` | `" + toml_text(value) + "` | " + rule.help + " | " + aliases + " |";
  });
  return rows;
}

Readme parse_readme(std::istream& in) {
  static const std::regex flag("`(--[A-Za-z][A-Za-z0-9_-]*)");
  Readme readme;
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    if (trimmed(line).starts_with("```")) {
      in_block = !in_block;
      continue;
    }
    if (!in_block) {
      for (std::sregex_iterator it(line.begin(), line.end(), flag), end; it != end; ++it)
        readme.flags.push_back((*it)[1]);
      continue;
    }
    if (line.starts_with("$ ")) line.erase(0, 2);
    std::istringstream words(line.substr(0, line.find(" #")));
    std::string word;
    if (!(words >> word) || word != "./hotloop") continue;
    std::vector<std::string>& command = readme.command_lines.emplace_back();
    while (words >> word) command.push_back(word);
  }
  return readme;
}

std::string normal(std::string flag) {
  flag = flag.substr(0, flag.find('='));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// Is it an option of some task, "--env.frame_skip"? (NAME and FIELD stand for any.)
bool names_option(const std::string& flag) {
  if (flag == "--env.NAME" || flag == "--randomize.FIELD") return true;
  for (const EnvEntry& entry : environments())
    for (const EnvOptionInfo& option : entry.options)
      if ("--" + option_spelling(option.key) == flag) return true;
  return false;
}

bool names_flag(const std::string& help, const std::string& flag) {
  const std::string wanted = normal(flag);
  static const std::regex word("--[A-Za-z][A-Za-z0-9_-]*");
  for (std::sregex_iterator it(help.begin(), help.end(), word), end; it != end; ++it) {
    if (normal(it->str()) == wanted) return true;
    if (wanted.starts_with("--no-") && normal(it->str()) == "--" + wanted.substr(5)) return true;
  }
  return false;
}

// What is wrong with a command line of the README, "" if nothing.
std::string complaint(const std::vector<std::string>& words, const std::map<std::string, std::string>& helps) {
  if (words.empty()) return "";
  const bool is_flag = words[0].starts_with("--");
  const auto help = helps.find(is_flag ? "" : words[0]);
  if (help == helps.end()) return "there is no command " + words[0];
  for (const std::string& word : words)
    if (word.starts_with("--") && !names_flag(help->second, word) && !names_option(word))
      return words[0] + " has no " + word;
  return "";
}

std::map<std::string, std::string> all_helps() {
  std::map<std::string, std::string> helps;
  helps[""] = run_program({"--help"}).out;
  std::istringstream lines(helps[""].substr(helps[""].find("Subcommands:")));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    helps[name] = run_program({name, "--help"}).out;
  }
  return helps;
}

TEST(Readme, NamesOnlyCommandsAndFlagsThatExist) {
  const std::map<std::string, std::string> helps = all_helps();
  ASSERT_TRUE(helps.contains("train") && helps.contains("play") && helps.contains("test"));
  std::ifstream file(HOTLOOP_SOURCE_DIR "/README.md");
  const Readme readme = parse_readme(file);
  EXPECT_GE(readme.command_lines.size(), 2u);
  for (const auto& words : readme.command_lines) EXPECT_EQ(complaint(words, helps), "");
  for (const std::string& flag : readme.flags) {
    const bool known = names_option(flag) || std::any_of(helps.begin(), helps.end(),
                                                         [&](const auto& h) { return names_flag(h.second, flag); });
    EXPECT_TRUE(known) << flag << " is in no command's help";
  }
}

TEST(Readme, TableOfKeysIsTheProgramsOwn) {
  const std::map<std::string, std::string> rows = key_rows();
  std::istringstream readme(text_of("README.md"));
  std::string line;
  while (std::getline(readme, line) && !line.starts_with("| key |")) {
  }
  std::getline(readme, line);
  int checked = 0;
  for (; std::getline(readme, line) && line.starts_with("| `"); ++checked) {
    const std::string key = line.substr(3, line.find('`', 3) - 3);
    ASSERT_TRUE(rows.contains(key)) << line;
    EXPECT_EQ(line, rows.at(key));
  }
  EXPECT_GE(checked, 15);
}

TEST(Readme, CodeIsThatOfTheFiles) {
  const std::vector<CodeBlock> blocks = sourced_blocks(text_of("README.md"));
  std::set<std::string> sources;
  for (const CodeBlock& block : blocks) {
    sources.insert(block.source);
    if (!block.source.starts_with("lines of ")) {
      EXPECT_EQ(block.text, text_of(block.source)) << block.source;
      continue;
    }
    const std::string file = text_of(block.source.substr(9));
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(line.empty() || file.find("//   " + line + "\n") != std::string::npos) << line;
  }
  for (const auto& entry : std::filesystem::directory_iterator(HOTLOOP_SOURCE_DIR "/tests/install/example"))
    EXPECT_TRUE(sources.contains("tests/install/example/" + entry.path().filename().string())) << entry.path();
  EXPECT_TRUE(sources.contains("lines of data/tensordict/tensordict.h"));
}

TEST(Readme, PathsAndMetricsExist) {
  const std::vector<std::string> names = named_paths(text_of("README.md"));
  EXPECT_GE(names.size(), 15u);
  for (const std::string& name : names) EXPECT_TRUE(is_there(name)) << name;
}

TEST(Readme, CheckNoticesWhatDoesNotExist) {
  const std::map<std::string, std::string> helps = all_helps();
  std::istringstream text(
      "Text `--gone` and `--json`.\n```\n$ ./hotloop train CartPole-v1 --no-norm-adv --num_envs=8 # --comment\n"
      "./hotloop fly\n./hotloop play RUN --gone\nother --flag\n```\n");
  const Readme readme = parse_readme(text);
  ASSERT_EQ(readme.command_lines.size(), 3u);
  EXPECT_EQ(readme.flags, (std::vector<std::string>{"--gone", "--json"}));
  EXPECT_EQ(complaint(readme.command_lines[0], helps), "");
  EXPECT_EQ(complaint(readme.command_lines[1], helps), "there is no command fly");
  EXPECT_EQ(complaint(readme.command_lines[2], helps), "play has no --gone");
  EXPECT_EQ(named_paths("`sim/gone.h` [a](docs/gone.png)\n```\n`x/y`\n```\n"),
            (std::vector<std::string>{"sim/gone.h", "docs/gone.png"}));
  EXPECT_FALSE(is_there("sim/gone.h"));
  EXPECT_FALSE(is_there("losses/gone"));
}

}  // namespace
}  // namespace hotloop

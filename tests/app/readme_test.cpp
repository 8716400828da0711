// Every command and flag that the README names exists.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "tests/app/program.h"

namespace hotloop {
namespace {

struct Readme {
  std::vector<std::vector<std::string>> command_lines;  // words after ./hotloop
  std::vector<std::string> flags;                       // backticked in the text
};

Readme parse_readme(std::istream& in) {
  static const std::regex flag("`(--[A-Za-z][A-Za-z0-9_-]*)");
  Readme readme;
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
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
    if (word.starts_with("--") && !names_flag(help->second, word)) return words[0] + " has no " + word;
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
    const bool known =
        std::any_of(helps.begin(), helps.end(), [&](const auto& h) { return names_flag(h.second, flag); });
    EXPECT_TRUE(known) << flag << " is in no command's help";
  }
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
}

}  // namespace
}  // namespace hotloop

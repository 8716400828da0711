#include <memory>

#include "app/cli.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/commands.h"

namespace hotloop {
namespace {

struct CompareArguments {
  CompareOptions options;
  std::string until, resamples, seed, x = "steps";
};

int compare(CompareArguments& arguments) {
  CompareOptions& options = arguments.options;
  if (options.targets.empty()) throw Error("compare: name runs, RUN or NAME=RUN,RUN,...");
  parse_value("--score", options.score, {.choices = {"last", "best", "mean"}}, options.score);
  options.rule.kind = options.score == "last"   ? ScoreKind::last
                      : options.score == "best" ? ScoreKind::best
                                                : ScoreKind::mean;
  if (!arguments.until.empty())
    parse_value("--until", arguments.until, {.low = 1, .high = 1e15}, options.rule.until.emplace());
  if (!arguments.resamples.empty())
    parse_value("--resamples", arguments.resamples, {.low = 100, .high = 1e6}, options.resamples);
  if (!arguments.seed.empty()) parse_value("--seed", arguments.seed, {.low = 0, .high = 9e18}, options.seed);
  parse_value("--x", arguments.x, {.choices = {"steps", "time"}}, arguments.x);
  options.rule.seconds = arguments.x == "time";
  if (options.rule.seconds && options.plot.empty()) throw Error("--x time: is of --plot");
  return compare_command(options);
}

constexpr const char* kFooter =
    "RUN is a run folder or a pattern ('runs/CartPole*'). Runs without a NAME are grouped by exp_name and by the\n"
    "settings in which runs of one task differ, apart from the seed. Scores are compared over all tasks: of several\n"
    "tasks, or with --reference, a task's scores are scaled so that LOW becomes 0 and HIGH 1; without a reference LOW\n"
    "and HIGH are the lowest and the highest score of the runs compared.\n"
    "Statistics are those of rliable: interquartile mean over all runs (iqm), mean and median over tasks, probability\n"
    "of improvement, performance profiles, stratified bootstrap intervals; a group with a single run of a task has "
    "none.";

}  // namespace

void add_compare(Cli& cli) {
  CLI::App* command = add_command(cli, "compare", "Compare groups of runs: statistics over seeds and tasks, curves");
  auto arguments = std::make_shared<CompareArguments>();
  CompareOptions& options = arguments->options;
  command->add_option("RUN|GROUP", options.targets, "run folders, and groups of them as NAME=RUN,RUN,...");
  command->add_option("--metric", options.rule.metric, "column of metrics.csv (default eval/episodic_return)")
      ->type_name("NAME");
  command
      ->add_option("--score", options.score,
                   "a run's score: its last value of the metric, the best, or the mean of all (default last)")
      ->type_name("S");
  command->add_option("--until", arguments->until, "leave out what came after this step")->type_name("STEP");
  command
      ->add_option("--reference", options.references, "scores that count as 0 and 1; give the flag again for each task")
      ->type_name("TASK=LOW,HIGH")
      ->allow_extra_args(false);
  command->add_option("--resamples", arguments->resamples, "of the bootstrap (default 10000)")->type_name("N");
  command->add_option("--seed", arguments->seed, "of the bootstrap (default 1)")->type_name("S");
  command->add_option("--plot", options.plot, "draw learning curves, with intervals over the runs")
      ->type_name("FILE.svg");
  command->add_option("--x", arguments->x, "what the curves run along: steps or time (default steps)")->type_name("X");
  command->add_flag("--json", options.json, "print one JSON object");
  command->footer(kFooter);
  command->callback([&cli, arguments] { cli.action = [arguments] { return compare(*arguments); }; });
}

}  // namespace hotloop

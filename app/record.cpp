#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "app/cli.h"
#include "app/policy_flags.h"
#include "data/dataset/writer.h"
#include "sim/core/error.h"
#include "sim/core/shell.h"
#include "sim/core/value.h"
#include "train/commands.h"

namespace hotloop {
namespace {

struct RecordArguments {
  RecordOptions options;
  std::string episodes, steps, num_envs = "1024", seed = "1", ref_min_score, ref_max_score;
  PolicyFlags policy;
};

int record(RecordArguments& arguments) {
  RecordOptions& options = arguments.options;
  const PolicyFlags& policy = arguments.policy;
  if (policy.target.empty()) throw Error("record: name a run folder or a checkpoint file, or a task with --random");
  if (options.format.empty())
    throw Error(fmt::format("record: --format is missing: one of {}", fmt::join(kDatasetFormats, ", ")));
  parse_value("--format", options.format, {.choices = kDatasetFormats}, options.format);
  if (arguments.episodes.empty() == arguments.steps.empty())
    throw Error("record: give --episodes N or --steps N, one of the two");
  if (!arguments.episodes.empty())
    parse_value("--episodes", arguments.episodes, {.low = 1, .high = 1e9}, options.episodes);
  if (!arguments.steps.empty()) parse_value("--steps", arguments.steps, {.low = 1, .high = 1e12}, options.steps);
  parse_value("--num-envs", arguments.num_envs, {.low = 1, .high = 1e6}, options.num_envs);
  parse_value("--seed", arguments.seed, {.low = 0, .high = 9e18}, options.seed);
  options.policy = parse_policy_flags("record", policy);
  parse_value("--description", options.description, {}, options.description);
  for (std::string& author : options.authors) parse_value("--author", author, {}, author);
  for (std::string& email : options.author_emails) parse_value("--author-email", email, {}, email);
  if (!arguments.ref_min_score.empty())
    parse_value("--ref-min-score", arguments.ref_min_score, {}, options.ref_min_score.emplace());
  if (!arguments.ref_max_score.empty())
    parse_value("--ref-max-score", arguments.ref_max_score, {}, options.ref_max_score.emplace());
  if (options.ref_min_score && options.ref_max_score && *options.ref_min_score >= *options.ref_max_score)
    throw Error("--ref-max-score " + shown(arguments.ref_max_score) + ": must be above --ref-min-score " +
                shown(arguments.ref_min_score));
  if (options.random && options.stochastic) throw Error("record: --random and --stochastic exclude each other");
  for (const auto& [flag, text] : {std::pair("--checkpoint", policy.checkpoint), std::pair("--task", policy.task),
                                   std::pair("--activation", policy.activation)})
    if (options.random && !text.empty()) throw Error(fmt::format("record: --random and {} exclude each other", flag));
  return record_command(options);
}

void add_metadata_options(CLI::App* command, RecordArguments& arguments) {
  RecordOptions& options = arguments.options;
  command
      ->add_option("--dataset-id", options.dataset_id,
                   "Minari's id, NAMESPACE/NAME-vN (default from task and algorithm)")
      ->type_name("ID");
  command->add_option("--description", options.description, "what the dataset says of itself")->type_name("TEXT");
  command->add_option("--author", options.authors, "an author; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);  // what follows the name is the run
  command->add_option("--author-email", options.author_emails, "an author's address; may be repeated")
      ->type_name("MAIL")
      ->allow_extra_args(false);
  command->add_option("--ref-min-score", arguments.ref_min_score, "return of a random policy, for normalised scores")
      ->type_name("X");
  command->add_option("--ref-max-score", arguments.ref_max_score, "return of an expert, for normalised scores")
      ->type_name("X");
}

}  // namespace

void add_record(Cli& cli) {
  CLI::App* command = add_command(cli, "record", "Record a dataset of whole episodes");
  auto arguments = std::make_shared<RecordArguments>();
  RecordOptions& options = arguments->options;
  add_policy_flags(*command, arguments->policy, "; a task with --random");
  command
      ->add_option("-o,--output", options.output,
                   "what to write: a file for d4rl and robomimic, a folder for tensordict; for minari a folder of "
                   "datasets (default MINARI_DATASETS_PATH, else ~/.minari/datasets)")
      ->type_name("PATH");
  command->add_option("--format", options.format, fmt::format("one of {}", fmt::join(kDatasetFormats, ", ")))
      ->type_name("F");
  command->add_flag("--random", options.random, "uniformly random actions in the task that is named");
  command->add_option("--episodes", arguments->episodes, "episodes to record, exactly")->type_name("N");
  command->add_option("--steps", arguments->steps, "steps to record, at least: whole episodes")->type_name("N");
  command
      ->add_option("--num-envs", arguments->num_envs,
                   "worlds at most, fewer where a round would be large (default 1024); reaches the bits")
      ->type_name("N");
  command->add_option("--seed", arguments->seed, "seed of the episodes (default 1)")->type_name("S");
  command->add_option("--device", options.device, "auto, cpu, cuda or cuda:N (default auto)")->type_name("D");
  command->add_flag("--stochastic", options.stochastic, "sample actions instead of taking the likeliest");
  command->add_flag("--resume", options.resume, "go on with an interrupted recording of the same command");
  command->add_flag("--quiet", options.quiet, "no progress line");
  add_metadata_options(command, *arguments);
  command->callback([&cli, arguments] { cli.action = [arguments] { return record(*arguments); }; });
}

}  // namespace hotloop

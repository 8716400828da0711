#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "app/cli.h"
#include "app/log_check.h"
#include "data/dataset/writer.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/commands.h"
#include "train/stop_signal.h"

namespace hotloop {
namespace {

int convert(ConvertOptions& options) {
  if (options.log.empty()) throw Error("convert: name a trajectory log");
  if (options.format.empty())
    throw Error(fmt::format("convert: --to is missing: one of {}", fmt::join(kDatasetFormats, ", ")));
  parse_value("--to", options.format, {.choices = kDatasetFormats}, options.format);
  static const std::string stopped = std::string(kConvertStopped) + "\n";
  end_at_stop(stopped.c_str());
  if (!log_is_readable(options.log)) return 2;
  return convert_command(options);
}

}  // namespace

void add_convert(Cli& cli) {
  CLI::App* command = add_command(cli, "convert", "Turn a trajectory log into a dataset of its whole episodes");
  auto options = std::make_shared<ConvertOptions>();
  command->add_option("LOG.h5", options->log, "trajectory log");
  command->add_option("--to", options->format, fmt::format("one of {}", fmt::join(kDatasetFormats, ", ")))
      ->type_name("F");
  command->add_option("-o,--output", options->output, "what to write, as of record")->type_name("PATH");
  command
      ->add_option("--dataset-id", options->dataset_id,
                   "Minari's id, NAMESPACE/NAME-vN (default from task and algorithm)")
      ->type_name("ID");
  command->add_flag("--quiet", options->quiet, "no progress line");
  command->callback([&cli, options] { cli.action = [options] { return convert(*options); }; });
}

}  // namespace hotloop

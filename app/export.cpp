#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>

#include "app/cli.h"
#include "app/policy_flags.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/commands.h"

namespace hotloop {
namespace {

struct ExportArguments {
  ExportOptions options;
  PolicyFlags policy;
};

// Keywords of C23 and C++20, and functions that compilers know without a header.
constexpr const char* kTaken[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "main", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator",
    "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    // functions
    "abort", "abs", "acos", "acosf", "acosh", "acoshf", "alloca", "asin", "asinf", "asinh", "asinhf", "atan", "atan2",
    "atan2f", "atanf", "atanh", "atanhf", "bcmp", "bcopy", "bzero", "calloc", "cbrt", "cbrtf", "ceil", "ceilf", "cos",
    "cosf", "cosh", "coshf", "erf", "erfc", "erfcf", "erff", "exit", "exp", "exp2", "exp2f", "expf", "expm1", "expm1f",
    "fabs", "fabsf", "fdim", "fdimf", "ffs", "floor", "floorf", "fma", "fmaf", "fmax", "fmaxf", "fmin", "fminf", "fmod",
    "fmodf", "fprintf", "fputc", "fputs", "free", "frexp", "frexpf", "fscanf", "fwrite", "gamma", "hypot", "hypotf",
    "index", "isalnum", "isalpha", "isdigit", "isspace", "j0", "j1", "jn", "labs", "ldexp", "ldexpf", "lgamma",
    "lgammaf", "llabs", "log", "log10", "log10f", "log1p", "log1pf", "log2", "log2f", "logb", "logbf", "logf", "lrint",
    "lround", "malloc", "memchr", "memcmp", "memcpy", "memmove", "mempcpy", "memset", "modf", "modff", "nan", "nanf",
    "nearbyint", "nextafter", "pow", "powf", "printf", "putchar", "puts", "realloc", "remainder", "remquo", "rindex",
    "rint", "rintf", "round", "roundf", "scalbn", "scanf", "signbit", "significand", "sin", "sincos", "sinf", "sinh",
    "sinhf", "snprintf", "sprintf", "sqrt", "sqrtf", "sscanf", "strcat", "strchr", "strcmp", "strcpy", "strdup",
    "strlen", "strncat", "strncmp", "strncpy", "strrchr", "strstr", "tan", "tanf", "tanh", "tanhf", "tgamma", "tgammaf",
    "tolower", "toupper", "trunc", "truncf", "vprintf", "y0", "y1", "yn"};

// A name that C and C++ take, and that does not begin one of the compiler's own.
void check_name(const std::string& name) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (name.empty() || name.size() > 60 || !is_letter(name[0]) || !std::all_of(name.begin(), name.end(), is_word))
    throw Error("--name " + shown(name) + ": must be a letter, then letters, digits and '_', 60 at most");
  if (std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken))
    throw Error("--name " + shown(name) + ": is a word of C or C++, or of their library");
}

int export_policy(ExportArguments& arguments) {
  ExportOptions& options = arguments.options;
  options.policy = parse_policy_flags("export", arguments.policy);
  if (options.format.empty())
    throw Error(fmt::format("export: --to is missing: one of {}", fmt::join(kExportFormats, ", ")));
  parse_value("--to", options.format, {.choices = kExportFormats}, options.format);
  if (!options.name.empty()) {
    if (options.format != "c") throw Error("--name " + shown(options.name) + ": is of --to c");
    check_name(options.name);
  }
  return export_command(options);
}

}  // namespace

void add_export(Cli& cli) {
  CLI::App* command = add_command(cli, "export", "Write a trained policy as a file that runs without hotloop");
  auto arguments = std::make_shared<ExportArguments>();
  ExportOptions& options = arguments->options;
  add_policy_flags(*command, arguments->policy);
  command->add_option("--to", options.format, fmt::format("one of {}", fmt::join(kExportFormats, ", ")))
      ->type_name("F");
  command
      ->add_option("-o,--output", options.output,
                   "file to write, beside it OUTPUT.json with the facts (default policy.onnx, policy.pt, "
                   "policy.safetensors, policy.c)")
      ->type_name("PATH");
  command->add_flag("--value", options.value, "also the critic's value of the observation");
  command->add_option("--name", options.name, "name of the C function (default policy)")->type_name("NAME");
  command->callback([&cli, arguments] { cli.action = [arguments] { return export_policy(*arguments); }; });
}

}  // namespace hotloop

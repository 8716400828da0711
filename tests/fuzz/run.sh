#!/usr/bin/env bash
# Runs the fuzzers of a build of the preset `fuzz`, each for SECONDS:
#   tests/fuzz/run.sh SECONDS [TARGET...]
# New inputs gather in build/fuzz/corpus/TARGET; what crashed, hung or took too much memory in build/fuzz/findings.
# tests/fuzz/run.sh --keep puts the smallest set of inputs that covers as much into tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/fuzz
targets=(safetensors checkpoint settings tensordict spool log episodes repair policy metrics)
# files of the targets that read files: in memory
[[ -w /dev/shm ]] && export TMPDIR=/dev/shm
# HDF5 keeps what it has taken until the process ends, and loses some where it fails
limits=(-timeout="${HOTLOOP_FUZZ_TIMEOUT:-5}" -rss_limit_mb=2048 -malloc_limit_mb=1024 -detect_leaks=0 -max_len=4096)

usage() {
  sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \?//p' >&2
  exit 2
}

keep() {
  for target in "${targets[@]}"; do
    merged=$(mktemp -d)
    "$build/tests/fuzz_$target" -merge=1 "${limits[@]}" "$merged" "tests/fuzz/corpus/$target" "$build/corpus/$target" 2>&1 |
      grep 'new files'
    # a name of a person's stays, as it says what the input is about
    for file in "$merged"/*; do
      grep -qxF "$(sha1sum <"$file")" <(for old in "tests/fuzz/corpus/$target"/*; do sha1sum <"$old"; done) ||
        cp "$file" "tests/fuzz/corpus/$target/"
    done
    rm -r "$merged"
  done
}

(($# > 0)) || usage
if [[ $1 == --keep ]]; then
  keep
  exit
fi
[[ $1 =~ ^[0-9]+$ ]] || usage
seconds=$1
(($# == 1)) || targets=("${@:2}")
mkdir -p "$build/findings"
status=0
for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target"
  log=$build/corpus/$target.log
  nice "$build/tests/fuzz_$target" -max_total_time="$seconds" "${limits[@]}" -print_final_stats=1 \
    -artifact_prefix="$build/findings/$target-" "$build/corpus/$target" "tests/fuzz/corpus/$target" &>"$log" || status=1
  echo "$target: $(sed -n 's/stat::number_of_executed_units: *//p' "$log") executions; $(grep -m1 -E 'ERROR|SUMMARY' "$log" || echo 'nothing found')"
done
exit $status

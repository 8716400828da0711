#!/usr/bin/env bash
# What the default configurations learn: every task of assets/configs, seeds 1 to 5, each judged by 100 deterministic
# episodes from other start states than those that chose the checkpoint. Appends to bench/results/learning.csv.
#   bench/learning.sh [DEVICE] [PARALLEL]      DEVICE: auto, cpu, cuda; PARALLEL: trainings at a time
# HOTLOOP names the program (default ./hotloop), RESULTS the folder of the CSV file. RUNS keeps the run folders there, for
# bench/plot_runs.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
device=${1:-auto} parallel=${2:-1}
program=${HOTLOOP:-./hotloop} results=${RESULTS:-bench/results}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folder=${RUNS:-$scratch/runs}
mkdir -p "$folder"

one() { # TASK SEED
  local run="$folder/$1.$2" start end
  start=$(date +%s.%N)
  "$program" train "$1" --seed "$2" --device "$device" --run-dir "$run" --quiet || return
  end=$(date +%s.%N)
  "$program" play "$run" --episodes 100 --json --device "$device" |
    python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["task"], sys.argv[1], "%.2f" % r["return_mean"], "%.2f" % r["return_std"], "%.1f" % float(sys.argv[2]), sep=",")' \
      "$2" "$(python3 -c "print($end - $start)")"
}
export -f one
export program folder device

tasks=$(basename -s .toml assets/configs/*.toml)
# shellcheck disable=SC2016 # the inner shell expands its arguments
for task in $tasks; do for seed in 1 2 3 4 5; do echo "$task $seed"; done; done |
  xargs -P "$parallel" -L 1 bash -c 'one "$0" "$1"' | sort | tee "$scratch/rows"

mkdir -p "$results"
csv="$results/learning.csv"
[ -s "$csv" ] || echo "date,commit,device,task,seed,return_mean,return_std,seconds" >"$csv"
commit=${HOTLOOP_COMMIT:-$(git rev-parse --short HEAD)}
sed "s/^/$(date -u +%F),$commit,$device,/" "$scratch/rows" >>"$csv"

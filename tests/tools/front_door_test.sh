#!/usr/bin/env bash
# The front door on a copy of the tree, with a package index in a folder: what goes wrong in a set-up is one line and exit
# status 2, what was interrupted is taken up again, and an up-to-date start costs little (the figure is printed).
# shellcheck disable=SC2030,SC2031 # each case runs in a subshell of its own, on purpose
set -euo pipefail
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
git -C "$source_root" rev-parse 2>/dev/null || { echo "not a git checkout: skipped"; exit 77; }
trap 'rm -rf "$work"' EXIT
tree=$work/tree index=$work/index
failures=0

problem() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

mkdir -p "$tree" "$index"
(cd "$source_root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tree" 2>/dev/null) || true
export PIP_INDEX_URL=file:///nonexistent PIP_FIND_LINKS=$index PIP_CONFIG_FILE=/dev/null
unset PIP_NO_INDEX PIP_EXTRA_INDEX_URL HOTLOOP_PRESET HOTLOOP_DEPS HOTLOOP_CUDA HOTLOOP_CUDA_ARCHITECTURES

# A wheel of $1 random kilobytes under the name of a real dependency; prints its SHA-256.
make_wheel() {
  local name=mujoco_core-4.0.0
  (
    cd "$work" && rm -rf wheel && mkdir -p "wheel/mujoco" "wheel/$name.dist-info" && cd wheel
    head -c "${1}k" /dev/urandom >mujoco/libmujoco.so.4.0.0
    printf 'Metadata-Version: 2.1\nName: mujoco-core\nVersion: 4.0.0\n' >"$name.dist-info/METADATA"
    printf 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n' >"$name.dist-info/WHEEL"
    printf 'mujoco/libmujoco.so.4.0.0,,\n%s.dist-info/METADATA,,\n%s.dist-info/WHEEL,,\n%s.dist-info/RECORD,,\n' \
      $name $name $name >"$name.dist-info/RECORD"
    rm -f "$index/$name"*
    python3 -m zipfile -c "$index/$name-cp311-cp311-manylinux_2_28_x86_64.whl" mujoco "$name.dist-info"
    sha256sum "$index/$name"* | cut -d ' ' -f 1
  )
}

pin() { printf 'mujoco-core==4.0.0 --hash=sha256:%s\n' "$1" >"$tree/cmake/deps/mujoco.txt"; }

# Fetches MuJoCo into the cache $1, as the front door does.
fetch_mujoco() {
  (
    # shellcheck disable=SC2034 # read by setup.sh
    root=$tree deps=$1 build=$tree/build/release preset=release with_tests=0
    # shellcheck source=cmake/setup.sh
    source "$tree/cmake/setup.sh"
    find_python || exit 77
    lock_cache
    fetch "$deps/mujoco-4.0.0" mujoco.txt cp311 mujoco-core
  )
}

# expect_line NAME PATTERN COMMAND...: exit status 2 and one line, of the given kind.
expect_line() {
  local name=$1 pattern=$2 output status=0
  output=$("${@:3}" 2>&1 </dev/null) || status=$?
  output=$(grep -v '^hotloop: fetching ' <<<"$output" || true)
  if [[ $status != 2 || $(wc -l <<<"$output") != 1 || ! $output =~ $pattern ]]; then
    problem "$name: exit status $status, output: $output"
  else
    echo "ok: $name: $output"
  fi
}

sum=$(make_wheel 100)
pin "${sum//[0-9]/0}"
expect_line "wrong hash" "hotloop: .*SHA-256 pinned in cmake/deps/mujoco.txt" fetch_mujoco "$work/cache"
[[ -z $(ls "$work/cache") ]] || problem "wrong hash: left $(ls "$work/cache")"

pin "$sum"
mv "$index" "$index.away"
expect_line "no network" "hotloop: .*cannot be fetched" fetch_mujoco "$work/cache"
mv "$index.away" "$index"

touch "$work/file"
expect_line "unwritable cache, at the front door" "hotloop: cannot write the dependency cache" \
  env HOTLOOP_DEPS="$work/file/cache" "$tree/hotloop" list
HOTLOOP_PRESET=../../file/x expect_line "unwritable build folder" "hotloop: cannot write" "$tree/hotloop" list

# a process killed while it unpacks leaves its part folder; the next set-up takes no notice
mkdir -p "$work/cache/.part/new/mujoco" "$work/cache/mujoco-4.0.0"
echo half >"$work/cache/.part/new/mujoco/libmujoco.so.4.0.0"
fetch_mujoco "$work/cache" 2>/dev/null &
fetch_mujoco "$work/cache" 2>/dev/null || problem "two set-ups at once: the second failed"
wait $! || problem "two set-ups at once: the first failed"
size=$(stat -c %s "$work/cache/mujoco-4.0.0/mujoco/libmujoco.so.4.0.0" || echo none)
[[ $size == 102400 ]] || problem "after an interrupted set-up the library has size $size"
[[ ! -e $work/cache/.part ]] || problem "the part folder is left"
echo "ok: interrupted set-up, two at once"

mkdir "$work/small"
pin "$(make_wheel 3000)"
full_disk() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare -rm bash -c 'mount -t tmpfs -o size=2m none "$1" && shift && "$@"' - "$work/small" "${@}"
}
export -f fetch_mujoco
export tree
if full_disk true 2>/dev/null; then
  # shellcheck disable=SC2016 # expanded by the inner shell
  expect_line "full disk" "hotloop: .*(no space left|disk may be full)" full_disk bash -c 'fetch_mujoco "$1"' - "$work/small"
else
  echo "skipped: full disk (no user namespaces here)"
fi

# an up-to-date tree: a program that does nothing, built now
program=$tree/build/release/app/hotloop
mkdir -p "${program%/*}" "$work/torch/lib"
printf '#!/bin/sh\necho "ran $*"\n' >"$program"
chmod +x "$program"
settings=$(eval "$(sed -n '/^find_nvcc()/,/^}/p; /^settings()/,/^}/p' "$tree/hotloop")" && deps=$work/file/cache && settings)
export HOTLOOP_DEPS=$work/file/cache # no set-up could succeed
mark_built() {
  sleep 0.05
  printf '%s\n%s\n' "$settings" "$work/torch" >"$tree/build/release/.built"
  sleep 0.05
}
mark_built
[[ $("$tree/hotloop" a 'b c') == "ran a b c" ]] || problem "an up-to-date tree does not just run the program"
mv "$program" "$work/program"
cp "$BASH" "$program"
# shellcheck disable=SC2016 # expanded by the program
called=$(cd "$tree" && ./hotloop -c 'echo "$0"')
[[ $called == ./hotloop ]] || problem "the program was called by the name '$called'"
mv "$work/program" "$program"
start=$(date +%s%N)
for _ in 1 2 3 4 5 6 7 8 9 10; do "$tree/hotloop" >/dev/null; done
echo "up-to-date overhead: $((($(date +%s%N) - start) / 10000000)) ms"

touch "$tree/sim/core/error.cpp"
expect_line "a source is newer" "cannot write the dependency cache" "$tree/hotloop"
mark_built
rm "$tree/data/arena.h"
expect_line "a source was deleted" "cannot write the dependency cache" "$tree/hotloop"
mark_built
mkdir -p "$tree/bench/results"
touch "$tree/bench/results/new.csv"
mark_built
touch "$tree/bench/results/new.csv"
"$tree/hotloop" >/dev/null || problem "results of a benchmark make the build stale"
HOTLOOP_CUDA=OFF expect_line "other settings" "cannot write the dependency cache" "$tree/hotloop"

((failures == 0)) || exit 1

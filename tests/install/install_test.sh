#!/usr/bin/env bash
# cmake --install gives a tree that runs from anywhere, and find_package(hotloop) a program with an environment of its own.
# Arguments: cmake, build folder, source folder.
set -euo pipefail
cmake=$1 build=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
for path in lib/cmake/hotloop/hotloopConfig.cmake include/hotloop/sim/core/env.h share/hotloop/assets; do
  [[ -e $work/moved/$path ]] || { echo "not installed: $path"; exit 1; }
done
if grep -rl "$source" "$work/moved/lib/cmake" "$work/moved/include"; then
  echo "installed files name the source folder"
  exit 1
fi

list=$(cd / && env -u LD_LIBRARY_PATH "$work/moved/bin/hotloop" list)
grep -q CartPole-v1 <<<"$list" || { echo "the installed program does not list CartPole-v1: $list"; exit 1; }

build_example() {
  "$cmake" -G Ninja -S "$source/tests/install/example" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$work/moved"
  "$cmake" --build "$work/build"
}
(build_example) >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
list=$(cd / && env -u LD_LIBRARY_PATH "$work/build/corridor" list)
for task in CartPole-v1 Corridor-v0; do
  grep -q "$task" <<<"$list" || { echo "the example does not list $task: $list"; exit 1; }
done
echo "$list"

# its policies leave as those of our own tasks do
corridor=(env -u LD_LIBRARY_PATH "$work/build/corridor")
cd "$work"
"${corridor[@]}" train Corridor-v0 --device cpu --num-envs 4 --num-steps 16 --num-minibatches 1 --total-timesteps 64 \
  --eval-episodes 2 --quiet --run-dir run
for format in onnx c torchscript safetensors; do "${corridor[@]}" export run --to "$format"; done
for file in policy.{onnx,c,pt,safetensors}; do
  if [[ ! -s $file ]] || ! grep -q '"task": "Corridor-v0"' "$file.json"; then
    echo "$file is no policy of Corridor-v0"
    exit 1
  fi
done
cc -std=c99 -Wall -Wextra -pedantic -Werror -c policy.c -o policy.o

#!/usr/bin/env bash
# All C++ and CUDA sources are as clang-format 14 writes them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
git rev-parse 2>/dev/null || { echo "not a git checkout: skipped"; exit 77; }
formatter=$(type -P clang-format-14 || type -P clang-format || true)
if [[ -z $formatter ]] || ! "$formatter" --version | grep -q 'version 14\.'; then
  echo "clang-format 14 is not here: skipped"
  exit 77
fi
mapfile -d '' -t files < <(git ls-files -z --cached --others --exclude-standard '*.h' '*.cpp' '*.cu')
existing=()
for file in "${files[@]}"; do if [[ -e $file ]]; then existing+=("$file"); fi; done # deleted, not yet committed
((${#existing[@]})) || { echo "no sources found"; exit 1; }
wrong=$("$formatter" --dry-run "${existing[@]}" 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning: .*/\1/p' | sort -u)
if [[ -n $wrong ]]; then
  echo "not as clang-format writes them; run: $formatter -i ${wrong//$'\n'/ }"
  exit 1
fi
echo "${#existing[@]} files"

#!/usr/bin/env bash
# Shell scripts have no finding of shellcheck.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
git rev-parse 2>/dev/null || { echo "not a git checkout: skipped"; exit 77; }
if ! type -P shellcheck >/dev/null; then
  echo "shellcheck is not here: skipped"
  exit 77
fi
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' hotloop .ci/run)
shellcheck --external-sources "${scripts[@]}"
echo "${#scripts[@]} scripts"

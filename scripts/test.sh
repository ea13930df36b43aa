#!/usr/bin/env bash
# Sets up, then checks style and types and runs all tests. Arguments go to pytest: scripts/test.sh test/cache
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
run() { printf '\033[1m[test]\033[0m %s\n' "$*" >&2; scripts/run "$@"; }
run ruff check .
run mypy
if command -v shellcheck >/dev/null; then
  run shellcheck -x scripts/*.sh scripts/run .ci/run
fi
stand_ins=$(scripts/test_interfaces.sh)
if [ -n "$stand_ins" ]; then
  set +u
  # shellcheck disable=SC1090
  source "$stand_ins"
  set -u
fi
run python3 -m pytest "$@"

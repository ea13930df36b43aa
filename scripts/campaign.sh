#!/usr/bin/env bash
# campaign.sh NAME [ARG ...]: a long measurement, benchmarks/NAME.py; what it prints is also kept, dated, under docs/results/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=${1:-}
if [ -z "$name" ] || [ ! -f "benchmarks/$name.py" ]; then
  echo "usage: scripts/campaign.sh NAME [ARG ...]; campaigns: $(basename -s .py -a benchmarks/*.py | tr '\n' ' ')" >&2
  exit 2
fi
shift
scripts/setup.sh
result=docs/results/$(date +%Y-%m-%d)-$name.txt
mkdir -p docs/results
{
  echo "# $name $*"
  echo "# $(date -u +%Y-%m-%dT%H:%MZ), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) cores, $(uname -sm)"
  scripts/run python3 "benchmarks/$name.py" "$@"
} | tee "$result"
echo "kept in $result" >&2

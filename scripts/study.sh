#!/usr/bin/env bash
# Sets up, runs the whole evaluation in virtual time, and makes the report. Arguments go to `study run`, in place of "all":
# scripts/study.sh campaign --seeds 1 --out first
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/setup.sh"
out=study
words=("$@")
for index in "${!words[@]}"; do
  if [ "${words[index]}" = --out ]; then
    out=${words[index + 1]:?--out needs a folder}
  fi
done
if [ "$#" -eq 0 ]; then
  words=(all)
  if [ -z "${PACE_STUDY_DATA:-}" ]; then  # the part transfer needs public data sets
    words=(campaign cold steady ramp volatility)
  fi
fi
"$here/run" study run "${words[@]}"
exec "$here/run" study report "$out"

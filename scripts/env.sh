# shellcheck shell=bash
# Sourced: the environment in which the package's executables run. Needs scripts/setup.sh to have run.
pace_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ ! -f "$pace_root/install/setup.bash" ]; then
  echo "This checkout is not set up: run scripts/setup.sh first." >&2
  exit 1
fi
set +u
# shellcheck disable=SC1091
source "$pace_root/install/setup.bash"
set -u
export PATH="$pace_root/.venv/bin:$PATH"
case ":${AMENT_PREFIX_PATH:-}:" in
  *":$pace_root/.venv:"*) ;;
  *) [ -n "${ROS_DISTRO:-}" ] || export AMENT_PREFIX_PATH="${AMENT_PREFIX_PATH:+$AMENT_PREFIX_PATH:}$pace_root/.venv" ;;
esac

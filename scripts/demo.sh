#!/usr/bin/env bash
# Sets up and runs the robot on this machine: with a terminal you talk to it, without one it is asked a scripted set.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/setup.sh"
exec "$here/run" demo "$@"

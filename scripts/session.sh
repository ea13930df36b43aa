#!/usr/bin/env bash
# Sets up, lets scripted visitors talk to the simulated robot, records a bag and makes the report.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/setup.sh"
exec "$here/run" session "$@"

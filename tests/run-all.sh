#!/usr/bin/env bash
# Every test. Those on Docker mostly wait for containers: they run beside all others, which give way to them.
# Usage: tests/run-all.sh PYTHON
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
"$python" -m tests.compiling || exit

live=$(mktemp)
trap 'trap - TERM; kill 0' INT TERM
"$python" -m pytest -m live tests/live tests/browser >"$live" 2>&1 &
failed=0
nice "$python" -m slipcover --json --out .coverage.json \
    -m pytest -n 2 --dist worksteal --ignore=tests/browser --ignore=tests/live || failed=$?
nice "$python" -m pytest -n 2 --dist loadfile tests/browser -m "not live" || failed=$?
wait $! || failed=$?
cat "$live"
rm "$live"
"$python" -m tests.covered .coverage.json || failed=$?
exit $failed

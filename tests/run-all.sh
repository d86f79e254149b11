#!/usr/bin/env bash
# Every test. Those on Docker mostly wait for containers: they run beside all others, which give way to them.
# Coverage is that of the tests of one process: on Docker, measuring costs five minutes.
# Usage: tests/run-all.sh PYTHON
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
"$python" -m tests.compiling || exit

said=$(mktemp)
trap 'trap - TERM; kill 0' INT TERM
"$python" -m pytest -m live tests/live tests/browser >"$said" 2>&1 &
live=$! failed=0
renice --priority 10 $BASHPID >/dev/null
"$python" -W ignore::RuntimeWarning:slipcover.importer -m slipcover --json --out .coverage.json \
    -m pytest -n 2 --dist worksteal --ignore=tests/browser --ignore=tests/live || failed=$?
"$python" -m pytest -n 2 --dist loadfile tests/browser -m "not live" || failed=$?
wait $live || failed=$?
cat "$said"
rm "$said"
"$python" -m tests.covered .coverage.json || failed=$?
exit $failed

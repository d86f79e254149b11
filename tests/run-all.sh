#!/usr/bin/env bash
# Every test. Those on Docker mostly wait for containers: they run beside all others, which give way to them.
# Usage: tests/run-all.sh PYTHON
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
"$python" -m tests.compiling || exit

measured() { # FILE ARGUMENT…: pytest, with its coverage in FILE
    "$python" -W ignore::RuntimeWarning:slipcover.importer -m slipcover --json --out "$1" -m pytest "${@:2}"
}

said=$(mktemp)
trap 'trap - TERM; kill 0' INT TERM
measured .coverage.live.json -m live tests/live tests/browser >"$said" 2>&1 &
live=$! failed=0
renice --priority 10 $BASHPID >/dev/null
measured .coverage.json -n 2 --dist worksteal --ignore=tests/browser --ignore=tests/live || failed=$?
"$python" -m pytest -n 2 --dist loadfile tests/browser -m "not live" || failed=$?
wait $live || failed=$?
cat "$said"
rm "$said"
"$python" -m tests.covered .coverage.json .coverage.live.json || failed=$?
exit $failed

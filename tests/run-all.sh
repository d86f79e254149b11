#!/usr/bin/env bash
# Every test but the long ones; with --long every test, and how much of the code they cover. Those on Docker
# mostly wait for containers: they run beside all others, which give way to them.
# Coverage is that of the tests of one process: on Docker, measuring costs five minutes.
# Usage: tests/run-all.sh PYTHON [--long]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1 not_long=" and not long" measure=()
if [ "${2:-}" = --long ]; then
    export PHASEDOCK_TESTS_LONG=1
    not_long=""
    measure=(-W ignore::RuntimeWarning:slipcover.importer -m slipcover --json --out .coverage.json)
fi
"$python" -m tests.compiling || exit

said=$(mktemp)
trap 'trap - TERM; kill 0' INT TERM
"$python" -m pytest -m "live$not_long" tests/live tests/browser >"$said" 2>&1 &
live=$! failed=0
renice --priority 10 $BASHPID >/dev/null
"$python" "${measure[@]}" -m pytest -n 2 --dist worksteal --ignore=tests/browser --ignore=tests/live \
    -m "not live$not_long" || failed=$?
"$python" -m pytest -n 2 --dist loadfile tests/browser -m "not live$not_long" || failed=$?
wait $live || failed=$?
cat "$said"
rm "$said"
[ ${#measure[@]} -eq 0 ] || "$python" -m tests.covered .coverage.json || failed=$?
exit $failed

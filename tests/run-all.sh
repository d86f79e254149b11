#!/usr/bin/env bash
# Every test. Those on Docker mostly wait for containers: they run beside those of one process, which give way to
# them. Those in browsers come last, alone: a page that takes seconds to load wants both cores.
# Usage: tests/run-all.sh PYTHON
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
rm -f .coverage .coverage.*
"$python" -m tests.compiling || exit

measured() { # FILE COMMAND…: with the coverage of it in FILE
    COVERAGE_FILE=$1 "${@:2}" --cov --cov-report= --cov-fail-under=0
}

live=$(mktemp)
trap 'trap - TERM; kill 0' INT TERM
measured .coverage.live "$python" -m pytest -m live tests/live tests/browser >"$live" 2>&1 &
others=0
measured .coverage.unit nice "$python" -m pytest -n 2 --dist worksteal --ignore=tests/browser --ignore=tests/live || others=$?
wait $! || others=$?
cat "$live"
rm "$live"
measured .coverage.browser "$python" -m pytest -n 2 --dist loadfile tests/browser -m "not live" || others=$?
((others == 0)) || exit 1
"$python" -m coverage combine --quiet
"$python" -m coverage report --include='core/*' --fail-under=92 || others=$?
"$python" -m coverage report --include='app/*' --fail-under=85 || others=$?
exit $others

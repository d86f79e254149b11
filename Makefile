# The commands of PhaseDock: `make run` to use it, `make test` to prove it. `make help` lists them all.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup run check test test-long tools test-fast bench jobs-image lock format clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: .venv/.runtime ## make the environment (.venv)

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps

# The lists are complete, so pip need not ask what else is needed. It would compile every file of every package; the
# import compiles those that are used, in a fourth of the time.
.venv/.runtime: export PYTHONDONTWRITEBYTECODE :=
.venv/.runtime: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes -r requirements.txt
	$(INSTALL) --no-build-isolation --editable .
	$(BIN)/python -c "import app.main, core.tasks.worker, sklearn.cluster, sklearn.ensemble, sklearn.metrics"
	@touch $@

.venv/.dev: .venv/.runtime requirements-dev.txt
	$(INSTALL) --require-hashes -r requirements-dev.txt
	@touch $@

run: .venv/.runtime ## start PhaseDock (web and worker) and print its address
	@$(BIN)/phasedock serve

check: export DENO_DIR := .deno_cache
check: export DENO_NO_UPDATE_CHECK := 1
check: .venv/.dev ## format, lint, types, architecture; of Python and of the scripts of the page
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deno check --quiet assets/js
	$(BIN)/deno lint --quiet

test: export PYTHONDONTWRITEBYTECODE :=
test: .venv/.dev tools ## every test but the long ones, in nine minutes
	@tests/run-all.sh $(BIN)/python

test-long: export PYTHONDONTWRITEBYTECODE :=
test-long: .venv/.dev tools ## every test, more examples of each, and how much of the code they cover
	@tests/run-all.sh $(BIN)/python --long

tools:
	@tests/install-what-tests-need.sh

test-fast: export PYTHONDONTWRITEBYTECODE :=
test-fast: .venv/.dev ## the tests that need no browser, no Docker and no process of their own, in three minutes
	@$(BIN)/python -m tests.compiling
	$(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/browser --ignore=tests/live -m "not slow and not long"

bench: .venv/.dev ## measure speed against the slow twins and pyarrow; writes benchmarks/results.json
	$(BIN)/python -m benchmarks

format: .venv/.dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

jobs-image: .venv/.runtime ## build the images that training programs run in (needs Docker)
	@PYTHON=$(BIN)/python core/jobs/build-image.sh

lock: ## renew both lock files (needs uv)
	uv pip compile pyproject.toml --group build --universal --generate-hashes --python-version 3.11 --no-annotate --custom-compile-command "make lock" -o requirements.txt
	uv pip compile pyproject.toml --group dev --universal --generate-hashes --python-version 3.11 --no-annotate --custom-compile-command "make lock" -c requirements.txt -o requirements-dev.txt

clean: ## remove the environment and caches
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .deno_cache .coverage.json

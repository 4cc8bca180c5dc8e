# Every target does its own set-up: a virtual environment, the packages, the jars.
# Nothing but Python 3.10+, make and Java 17+ is expected on the machine.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO   ?= demo
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test test-fast torture check lint types layers format bench docs serve java clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

demo: java $(VENV)/run.done ## make the orders lakehouse, run it and show it
	@$(BIN)/lakepact demo $(DEMO)

test: java $(VENV)/dev.done ## run all tests
	@$(BIN)/python -m pytest

test-fast: $(VENV)/dev.done ## run the tests that need no JVM
	@$(BIN)/python -m pytest -m "not spark"

torture: java $(VENV)/dev.done ## the write modes against their models in 20,000 worlds each
	@$(BIN)/python -m pytest -m torture

check: lint types layers test ## everything that must hold

lint: $(VENV)/dev.done ## style
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/dev.done ## mypy, strict
	@$(BIN)/mypy

layers: $(VENV)/dev.done ## which room may import which
	@$(BIN)/lint-imports --no-cache

format: $(VENV)/dev.done ## mend what lint can mend
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: java $(VENV)/dev.done ## compare with hand-written Spark; writes bench/results.json
	@$(BIN)/python -m bench

docs: $(VENV)/dev.done ## write docs/reference from the code
	@$(BIN)/python docs/reference.py

serve: ## the service and dashboard
	@echo "this version has no service yet; look at a lakehouse with: $(BIN)/lakepact show TABLE, $(BIN)/lakepact runs" && exit 2

clean: ## remove the environment and what the demo made
	@rm -rf $(VENV) $(DEMO) build dist .pytest_cache .mypy_cache .ruff_cache

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	found=$$("$$java" -version 2>&1 | sed -nE 's/.*version "(1\.)?([0-9]+).*/\2/p' | head -n 1); \
	[ "$${found:-0}" -ge 17 ] || { echo "Java 17 or newer is needed, found $${found:-none}: install one (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME"; exit 1; }

$(VENV)/pip.done: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed: set PYTHON=/path/to/python3"; exit 1; }
	@echo "making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/run.done: $(VENV)/pip.done pyproject.toml
	@echo "installing lakepact with Spark (pyspark is large: a few minutes the first time)"
	@$(PIP) --editable '.[spark]'
	@touch $@

$(VENV)/dev.done: $(VENV)/pip.done pyproject.toml
	@echo "installing lakepact with Spark and the test tools (a few minutes the first time)"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/run.done

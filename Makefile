# Two commands for a fresh machine: `make demo` and `make test`. Both set up .venv on first use.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
DOCS_INSTALLED := .venv/.installed-docs

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser hostile lint platforms agreement bench docs clean

help:
	@echo "make demo       theory against simulation: prints a table, draws demo/learning_curves.png"
	@echo "make test       linters, type check and tests"
	@echo "make test-browser  the explorer in chromium; screenshots go to screenshots/"
	@echo "make hostile    20,000 random expressions, a thousand damaged files and stores (minutes)"
	@echo "make lint       linters and type check alone"
	@echo "make platforms  the type check as macOS and as Windows would see the package"
	@echo "make agreement  theory against simulation at length, and forty settings per loss (half an hour)"
	@echo "make bench      speed of theory and simulation on this machine"
	@echo "make docs       this software's documentation, into docs/_build/html"
	@echo "make clean      remove .venv, caches and the demo's output"

demo: $(INSTALLED)
	@$(BIN)/giantstep demo

# Bytecode is kept, whatever the environment says: the suite starts hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

# One thread for each of the two processes: with more they only wait for each other. Each begins with its own half, so
# that what the tests of a file share is computed once.
TWICE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

test: lint
	$(TWICE)

test-browser: $(INSTALLED)
	@command -v chromium > /dev/null || { \
	  echo "chromium is absent; install it with: apt-get update && apt-get install -y chromium" >&2; exit 1; }
	@$(BIN)/python -c 'import axe_playwright_python' 2> /dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	$(BIN)/pytest -m browser tests/browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target build/plotly 'plotly==6.0.0'
	PYTHONPATH=build/plotly $(BIN)/pytest -m browser tests/browser/test_pictures.py  # the oldest that is allowed

hostile: $(INSTALLED)
	$(TWICE) -m "hostile or not hostile" tests/hostile

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright

platforms: $(INSTALLED)
	$(BIN)/basedpyright --pythonplatform Windows
	$(BIN)/basedpyright --pythonplatform Darwin

agreement: $(INSTALLED)
	$(TWICE) -m "slow or not slow" tests/agreement tests/losses

bench: $(INSTALLED)
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script; done

docs: $(DOCS_INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf docs/_build docs/api .venv .pytest_cache .ruff_cache .hypothesis demo

# The stamp is newer than pyproject.toml once everything it names is installed.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "giantstep needs Python 3.11 or later, and $(PYTHON) is $$($(PYTHON) --version 2>&1 || true);" \
	       "name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing giantstep and its tools into .venv (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(DOCS_INSTALLED): $(INSTALLED)
	@echo "installing Sphinx and its extensions into .venv (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

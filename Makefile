# make prove: set up what is missing, and prove everything with both solvers.
# make test:  set up what is missing, and run all tests, on all cores.
# make quick: the tests that take no seconds each: the loop while you edit.
# make lint:  style, as CI checks it.
VENV ?= .venv
PYTHON ?= python3
INSTALLED := $(VENV)/.installed

.PHONY: prove test quick lint

prove: $(INSTALLED)
	$(VENV)/bin/ptxmma prove

test: $(INSTALLED)
	$(VENV)/bin/pytest -n auto --dist worksteal

quick: $(INSTALLED)
	$(VENV)/bin/pytest -n auto --dist worksteal -m 'not slow'

lint: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q -e '.[dev]'
	touch $@

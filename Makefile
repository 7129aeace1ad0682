# make prove: set up what is missing, and prove everything with both solvers.
# make test:  set up what is missing, and run all tests, on all cores.
# make quick: the tests that take no seconds each: the loop while you edit.
# make lint:  style, as CI checks it.
# make atlas: the specification as a static site, in site/.
# make mutants: change one thing in the YAML at a time, and ask who notices: the files that changed since that was last
#               recorded, then the table of all (ALL=1: every file again, hours; SAMPLE=200 takes a minute).
#
# Another interpreter than python3: make prove PYTHON=python3.13
VENV ?= .venv
PYTHON ?= python3
INSTALLED := $(VENV)/.installed

.PHONY: prove test quick lint mutants atlas

prove: $(INSTALLED)
	$(VENV)/bin/ptxmma prove

test: $(INSTALLED)
	$(VENV)/bin/pytest -n auto --dist worksteal

quick: $(INSTALLED)
	$(VENV)/bin/pytest -n auto --dist worksteal -m 'not slow'

atlas: $(INSTALLED)
	$(VENV)/bin/ptxmma atlas --out site

mutants: $(INSTALLED)
	$(VENV)/bin/python bench/watched.py $(if $(SAMPLE),--sample $(SAMPLE),--record $(if $(ALL),,--stale)) $(if $(SEED),--seed $(SEED))

lint: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

$(INSTALLED): pyproject.toml constraints/newest.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ptxmma needs Python 3.11 or\
	 later, and $(PYTHON) is not; name another: make PYTHON=python3.13 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { echo "$(PYTHON) has no venv module; Debian and\
	 Ubuntu have it in the package python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --no-compile -c constraints/newest.txt -e '.[dev]'
	touch $@

# Each target installs what it needs into $(VENV) and can be the first command after a clone.
#   make demo ARGS="..."            arguments of the demonstration
#   make test PYTEST_ARGS="-k ..."  arguments of pytest
#   make test PYTHON=python3.13     another interpreter, for a new $(VENV)
#   make test PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
#                                   PyTorch without CUDA, where PyPI has the large build only

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
PYTEST_ARGS ?=

RUN := $(VENV)/bin/python -m

# A stamp stands for one installed set of dependencies. Its name changes with the files that
# describe them, so that pip runs again exactly when they do.
DEPS := $(shell cat pyproject.toml constraints.txt | cksum | cut -d ' ' -f 1)
STAMP := $(VENV)/.installed-$(DEPS)

# Goals share $(VENV): under "make -j" they would install into it at the same time.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test audit lint docs clean

help:
	@echo 'make demo   run the demonstration'
	@echo 'make test   run the tests'
	@echo 'make audit  check certificates against exact risks over 400 refits each'
	@echo 'make lint   check style and types'
	@echo 'make docs   build the documentation into docs/_build/html'
	@echo 'make clean  remove what these wrote, except $(VENV)'

# Threads cost more than they give at the sizes used here.
demo test audit: export OMP_NUM_THREADS ?= 1
test: export SCIPY_ARRAY_API := 1

demo: $(STAMP)-test
	$(RUN) skbound $(ARGS)

test: $(STAMP)-test
	$(RUN) pytest -q $(PYTEST_ARGS)

audit: $(STAMP)-test
	SKBOUND_REFITS=400 $(RUN) pytest -q tests/test_refits.py $(PYTEST_ARGS)

lint: $(STAMP)-lint
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy skbound

docs: $(STAMP)-docs
	@# From nothing: Sphinx repeats no warning about a page that it does not read again.
	rm -rf docs/api docs/_build
	$(RUN) sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf build dist *.egg-info docs/_build docs/api
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache skbound_demo.png
	find skbound tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP)-%: | $(VENV)/bin/python
	rm -f $(VENV)/.installed-*-$*
	$(RUN) pip install -q -c constraints.txt -e '.[$*]'
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo 'Needs Python 3.11 or newer: make PYTHON=python3.x'; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	    { echo 'Needs the venv module: on Debian and Ubuntu, apt install python3-venv'; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Two commands do all the set-up on a fresh machine with Python 3.11+, git and make:  make demo   and   make test
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
export OMP_NUM_THREADS ?= 1
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: demo test test-tier2 test-slow check docs clean
.DEFAULT_GOAL := demo

demo: $(VENV)/demo.done  ## the main job, offline: ends by naming the report it wrote
	$(BIN)/snellen demo --out demo-report

test: $(VENV)/test.done  ## the default tests: no network, GPU or weights
	$(BIN)/python -m pytest

test-tier2: $(VENV)/tier2.done  ## torch, servers, a browser (Debian's chromium, where there is one)
	$(BIN)/python -m pytest -m "(tier2 or real) and not slow" --timeout 600

test-slow: $(VENV)/test.done  ## simulations and kills that take minutes
	$(BIN)/python -m pytest -m slow --timeout 1800

check: $(VENV)/check.done  ## linters, types, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/docs.done  ## the manual, strict
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) demo-report site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.done: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/demo.done: $(VENV)/core.done
	$(PIP) -e '.[llamacpp]'
	@touch $@

$(VENV)/test.done: $(VENV)/core.done
	$(PIP) -e '.[test]'
	@touch $@

$(VENV)/check.done: $(VENV)/core.done
	$(PIP) -e '.[check]'
	@touch $@

$(VENV)/docs.done: $(VENV)/core.done
	$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/tier2.done: $(VENV)/test.done
	$(PIP) -e '.[test,tier2,hf,onnx,llamacpp]'
	@touch $@

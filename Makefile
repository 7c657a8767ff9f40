# Each target works alone on a fresh clone: what it needs is set up first, once.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

CASES ?= ../shared/conformance/cases.jsonl
LIMIT ?=
ONLY ?=
POLICY ?=
NAME ?= store
TESTS ?= tests
MINUTES ?= 10
SEED ?=
ONE ?=
AVOID ?=
JOBS ?= 2
ON ?= interop
INTEROP := interop/.venv/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo ui check test test-all docs bench conformance fuzz matrix interop java browser

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) java ## Make .venv/ with everything pinned in requirements.lock, and find or install Java

demo: setup ## Build a retail warehouse, apply a day of changes, refresh, verify
	$(BIN)/viewkeeper demo

ui: setup ## Open the page on the demo's warehouse, which is made first where there is none
	@[ -e demo-warehouse/.viewkeeper-demo ] || $(BIN)/viewkeeper demo
	$(BIN)/viewkeeper serve -w demo-warehouse --open

check: $(INSTALLED) ## Lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: setup browser check ## Lint, formatting and types, then the tests (TESTS=tests/sql for a part)
	scripts/test $(TESTS)

test-all: setup browser check ## The same with the long form of the tests: more random cases, longer streams, every value
	VIEWKEEPER_TESTS=all scripts/test $(TESTS)

docs: $(INSTALLED) ## Write docs/support.md from the strategies' own answers
	$(BIN)/python -m tools.support.page > docs/support.md

bench: setup ## Run a benchmark against recomputation (NAME=store)
	$(BIN)/viewkeeper bench $(NAME)

conformance: setup ## Run conformance cases (CASES=file, LIMIT=n, ONLY=tag, POLICY=full)
	$(BIN)/python -m tools.conformance $(CASES) \
		$(if $(LIMIT),--limit $(LIMIT)) $(if $(ONLY),--only $(ONLY)) $(if $(POLICY),--policy $(POLICY))

fuzz: setup ## Look for wrong answers (MINUTES=10, SEED=n, ONE=1 for that scenario alone, JOBS=2, AVOID=pattern)
	$(BIN)/python -m fuzz --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(ONE),--one) \
		$(if $(AVOID),"--avoid=$(AVOID)")

matrix: setup ## Every type of Spark in every place: write docs/types.md
	$(BIN)/python -m fuzz.matrix > docs/types.md

interop: setup $(INTEROP) ## Beside engines of others: their artefacts are fetched from Maven Central (ON=interop/test_x.py)
	$(BIN)/pytest --durations 10 $(ON)

java:
	@scripts/ensure-java

browser:
	@scripts/ensure-chromium

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Viewkeeper needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(INTEROP): interop/requirements.txt
	$(PYTHON) -m venv interop/.venv
	interop/.venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

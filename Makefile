# Everything a newcomer runs. Needs Python >= 3.11 and make; the rest is fetched into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PRODUCT := $(VENV)/product.stamp
DEVELOPMENT := $(VENV)/development.stamp
PYTEST := $(BIN)/python -m pytest
# One process more than there are cores: a test waits for its server, or its server for the test.
PROCESSES = $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 8 ? cores + 1 : 8)))
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
# The demo and the tests start hundreds of short processes: each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo observe test proof quick lint types style words pages generate format bench chaos soak dashboards docs site dist check clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

demo: $(PRODUCT) ## Start everything on this machine, with traffic to look at; CELLS=3 starts a fleet
	$(BIN)/python manage.py demo $(if $(CELLS),--cells $(CELLS))

observe: $(PRODUCT) ## The demo with Prometheus and Alertmanager, where these are installed
	$(BIN)/python manage.py demo --observe $(if $(CELLS),--cells $(CELLS))

test: lint ## Lint, then run the fast tests: what a change needs
	tests/system_packages.sh
	$(PYTEST) --numprocesses $(PROCESSES) -m "not proof" --ignore=tests/proof

proof: $(DEVELOPMENT) ## Run the long tests: mutants, kill matrices, outages, upgrades, wide properties
	tests/system_packages.sh
	$(PYTEST) --numprocesses $(PROCESSES) -m "proof or property" --hypothesis-profile=wide

quick: $(DEVELOPMENT) ## Run the fast tests of what has changed since main
	$(BIN)/python -m tests.quick

lint: $(DEVELOPMENT) ## Style, types, import directions, templates, English, documents and their links
	$(MAKE) --no-print-directory --jobs 2 --output-sync types style words pages

# The parts of lint, the longest first: two run beside each other.
types:
	$(BIN)/mypy

style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	git ls-files -z 'templates/*.html' | xargs -0 -r $(BIN)/djade --target-version 5.2 --check

words:
	$(BIN)/python -m tests.house.english
	$(BIN)/python -m tests.house.unused

pages:
	$(BIN)/python -m docs.build --check
	git ls-files -z '*.md' | xargs -0 $(BIN)/python -m docs.build.wrap --check
	$(SITE) --quiet

generate: $(DEVELOPMENT) ## Rewrite the asyncio twins of the client's modules
	$(BIN)/python tools/generate_async.py

format: $(DEVELOPMENT) ## Rewrite Python and templates in the house style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	git ls-files -z 'templates/*.html' | xargs -0 -r $(BIN)/djade --target-version 5.2 || true
	git ls-files -z '*.md' | xargs -0 $(BIN)/python -m docs.build.wrap

bench: $(PRODUCT) ## Measure the engine beside a textbook queue and write the report
	$(BIN)/python -m bench

chaos: $(PRODUCT) ## Break everything for an hour or more, by CHAOS_SEED, and judge what came of it
	$(BIN)/python -m tests.chaos --phases

soak: $(DEVELOPMENT) ## Run the demo for an hour with faults, and see whether anything keeps growing
	$(BIN)/python -m tests.proof.soak

dashboards: $(PRODUCT) ## Rebuild the Grafana dashboards from their sources
	$(BIN)/python manage.py dashboards

docs: $(DEVELOPMENT) ## Write the pages that follow from the code: the reference, lists, the picture of the rooms
	$(BIN)/python -m docs.build

site: $(DEVELOPMENT) ## Build the documentation as a site in build/site, strictly
	$(SITE)

dist: $(DEVELOPMENT) ## Build the wheel into dist/, with its checksum and its bill of materials
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/python -m tools.bill_of_materials dist/signalbox-queue.cdx.json
	cd dist && sha256sum signalbox_queue-*.whl signalbox-queue.cdx.json > SHA256SUMS

check: ## Run both tiers as continuous integration does: a missing tool is a failure
	.ci/run

clean: ## Remove the virtual environment and caches; data in .signalbox stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Signalbox needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(PRODUCT): requirements.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	touch $@

$(DEVELOPMENT): requirements-dev.lock $(PRODUCT)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-dev.lock
	touch $@

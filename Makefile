# Two commands: `make up` runs North, `make test` proves it. Both do all of their own set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help up install test lint format bench bench-recall bench-latency bench-mcp bench-mining bench-offline bench-pages \
        bench-sweep bench-peers bench-footprint bench-imports bench-throughput conformance prove-faults prove-hostile \
        prove-isolation prove-mutants prove-pooler prove-standby prove-restore screenshots browser clean

help: ## List the targets.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

up: $(INSTALLED) ## Set everything up and run North on this machine.
	@exec $(BIN)/north up $(ARGS)

install: $(INSTALLED) ## Make .venv with everything that `make up` and `make test` need.

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("North needs Python 3.11 or newer; set PYTHON=/path/to/python3" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing North into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@

browser: $(INSTALLED)
	@$(BIN)/python scripts/install_chromium.py

lint: $(INSTALLED) ## Check style, types and the direction of imports.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: $(INSTALLED) ## Put the code into its usual form.
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

test: lint browser ## Set everything up and run every test.
	@$(BIN)/pytest -n 2 --dist loadfile $(ARGS)

conformance: $(INSTALLED) ## The official MCP conformance suite and the MCP Inspector, both fetched by npm.
	@$(BIN)/python -m tests.conformance.run

prove-hostile: browser ## Hostile text, bytes and credentials on every surface, forty times what the suite tries; half an hour.
	@HOSTILE_TIMES=$${HOSTILE_TIMES:-40} $(BIN)/pytest -n 2 --dist loadfile tests/hostile tests/browser/test_hostile.py \
	    tests/browser/test_hostile_pages.py tests/memory/test_fence.py tests/memory/test_document_fence.py $(ARGS)

prove-isolation: $(INSTALLED) ## Random firms on every route and tool, until a million replies were looked at; an hour.
	@$(BIN)/python -m tests.isolation.machine.run $(ARGS)

prove-mutants: $(INSTALLED) ## Break each wall in turn, and print which test sees it; half an hour.
	@$(BIN)/python -m tests.isolation.prove_mutants $(ARGS)

prove-pooler: $(INSTALLED) ## Ten thousand transactions of two firms behind PgBouncer, on one server connection.
	@$(BIN)/python scripts/system_programs.py pgbouncer
	@NORTH_POOLER_TRANSACTIONS=10000 $(BIN)/pytest -s tests/isolation/test_pooler.py $(ARGS)

prove-standby: $(INSTALLED) ## Recall from a hot standby, under the same roles.
	@$(BIN)/pytest tests/isolation/test_standby.py $(ARGS)

prove-restore: $(INSTALLED) ## Dump, restore on a server that never saw North, and run the isolation suite on what was restored.
	@$(BIN)/python -m tests.isolation.prove_restore

prove-faults: $(INSTALLED) ## Kill, cut, fill and restart everything a hundred times under load; half an hour.
	@$(BIN)/python scripts/system_programs.py faketime || echo "Clocks an hour apart are left out."
	@$(BIN)/python -m tests.faults.prove $(ARGS)

BENCHMARKS := recall latency throughput peers footprint mcp offline mining pages sweep imports
bench: $(BENCHMARKS:%=bench-%) ## Run every benchmark.

bench-recall: $(INSTALLED) ## How much of the evidence recall finds, on public conversations.
	@$(BIN)/python -m benchmarks.recall.run $(ARGS)

bench-latency: $(INSTALLED) ## How long each call takes over REST and MCP, as ratios to a floor.
	@$(BIN)/python -m benchmarks.latency.run $(ARGS)

bench-throughput: $(INSTALLED) ## Calls a second at saturation, and what one firm's flood costs its neighbour.
	@$(BIN)/python -m benchmarks.throughput.run $(ARGS)

bench-mcp: $(INSTALLED) ## What MCP costs over REST, as ratios within one run.
	@$(BIN)/python -m benchmarks.mcp.run $(ARGS)

bench-mining: $(INSTALLED) ## What the miner finds in labelled conversations.
	@$(BIN)/python -m benchmarks.mining.run $(ARGS)

bench-offline: $(INSTALLED) ## What the offline assistant saves, and what it should not.
	@$(BIN)/python -m benchmarks.offline.run $(ARGS)

bench-pages: browser ## How quickly the pages stand there, with 10,000 memories and in a long conversation.
	@$(BIN)/python -m benchmarks.pages.run $(ARGS)

screenshots: browser ## Pictures of every page in light, dark and phone width, in build/screenshots.
	@$(BIN)/python -m benchmarks.pages.screenshots $(ARGS)

bench-sweep: $(INSTALLED) ## How long the sweep takes over 1,000 firms, and whether a save waits for it.
	@$(BIN)/python -m benchmarks.sweep.run $(ARGS)

bench-peers: $(INSTALLED) ## North beside mem0, LangGraph and chroma, each in an environment of its own that this makes.
	@$(BIN)/python -m benchmarks.peers.run $(ARGS)

bench-footprint: $(INSTALLED) ## Start-up time, resident memory, and what a memory takes on disk.
	@$(BIN)/python -m benchmarks.footprint.run $(ARGS)

bench-imports: $(INSTALLED) ## How fast exports of other assistants are read, beside json.load, and in how much memory.
	@$(BIN)/python -m benchmarks.imports.run $(ARGS)

clean: ## Remove .venv and caches; no data folder is touched.
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .conformance

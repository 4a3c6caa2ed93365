# The front door. `make help` lists what is here; `make serve` and `make test` do their own set-up.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Downloads and build results live outside the checkout, so that a second clone is fast.
export HIPWARD_CACHE ?= $(HOME)/.cache/hipward
export CARGO_TARGET_DIR ?= $(HIPWARD_CACHE)/target
export HIPWARD_ASSETS ?= $(CURDIR)/target/assets

# The host's own PyTorch if HIPWARD_PYTHON names one, else the locked one.
export HIPWARD_PYTHON ?= $(HIPWARD_CACHE)/python-current/bin/python

# The same selection everywhere, so that cargo compiles each crate with one set of features, once.
ALL := --locked --workspace --features hipward-site/ssr

HIPWARD := $(CARGO_TARGET_DIR)/debug/hipward
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo nextest run --no-fail-fast || echo test --no-fail-fast)

help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | column -t -s'|'

setup: ## Install what is missing, to run Hipward
	@tools/setup serve

setup-test: ## Install what is missing, to test and check it
	@tools/setup test

assets: setup ## Build what the browser loads
	@cargo build $(ALL) --bin hipward-bundle
	@$(CARGO_TARGET_DIR)/debug/hipward-bundle $(HIPWARD_ASSETS)

build: assets ## Build the binary
	@cargo build $(ALL) --bin hipward

serve: build ## Run the site, the analyzer and a local runner on one URL
	@$(HIPWARD) serve $(SERVE_FLAGS)

test: setup-test build ## Run every test: Rust, Python, wasm in Node, and a real browser
	cargo $(NEXTEST) $(ALL)
	cd kernels && $(HIPWARD_PYTHON) -m pytest -q
	$(HIPWARD_PYTHON) content/check.py
	cd site && HIPWARD=$(HIPWARD) node --test --test-concurrency=1 ../tests/parity ../tests/browser ../tests/cli

check: setup-test build ## Formatting, lints, types and links
	cargo fmt --all --check
	cargo clippy $(ALL) --all-targets -- --deny warnings
	cargo clippy --locked --package hipward-site --lib --features hydrate --target wasm32-unknown-unknown -- --deny warnings
	cd kernels && $(HIPWARD_PYTHON) -m ruff check . && $(HIPWARD_PYTHON) -m ruff format --check . && $(HIPWARD_PYTHON) -m mypy
	cd content && $(HIPWARD_PYTHON) -m ruff check . && $(HIPWARD_PYTHON) -m mypy --strict check.py
	cargo $(NEXTEST) $(ALL) --test static_site

bench: setup-test build ## Measure speed and size on this machine as one table
	@tools/bench $(PARTS)

fuzz: ## Fuzz the analyzer: make fuzz SECONDS=60 (for each target)
	@tools/fuzz $(SECONDS)

bench-gpu: setup ## Measure the ops on this machine's GPU and append rows to kernels/results/
	cd kernels && $(HIPWARD_PYTHON) -m hipward_kernels.bench --device cuda
	cd kernels && $(HIPWARD_PYTHON) -m hipward_kernels.bench_routed --device cuda

new-rule: ## Start a rule: make new-rule NAME=my-rule FAMILY=vendor
	@analyzer/new-rule "$(NAME)" "$(FAMILY)"

lock: ## Renew the Python lockfile from kernels/requirements.in
	@tools/lock-python

npm: assets ## Put the npm package together: dist/npm
	node analyzer/npm/build.mjs dist/npm

dist: assets ## Build the one binary, optimised: dist/hipward
	cargo build --locked --release --package hipward
	@install -D $(CARGO_TARGET_DIR)/release/hipward dist/hipward

.PHONY: help setup setup-test assets build serve test check bench bench-gpu fuzz new-rule lock npm dist

# Entry point of the repository. `make help` lists the targets; `make serve` and `make test` run the set-up themselves.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Downloads and build results are cached outside the checkout, so that a second clone is fast.
export HIPWARD_CACHE ?= $(HOME)/.cache/hipward
export CARGO_TARGET_DIR ?= $(HIPWARD_CACHE)/target
export HIPWARD_ASSETS ?= $(CURDIR)/target/assets

# The host's PyTorch if HIPWARD_PYTHON is set, otherwise the locked version.
export HIPWARD_PYTHON ?= $(HIPWARD_CACHE)/python-current/bin/python

# The crates that can be published, and what they depend on.
PUBLISHED := $(addprefix --package hipward-,gpu-facts analyzer-core analyzer-python analyzer-cuda analyzer-files analyzer-team analyzer)

# The same selection everywhere, so that cargo compiles each crate once, with one set of features.
ALL := --locked --workspace --features hipward-site/ssr

SAY := printf '\033[2mbuild:\033[0m %s\n'
HIPWARD := $(CARGO_TARGET_DIR)/debug/hipward
# Many tests wait for time limits, so two run on each core.
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && \
  echo nextest run --no-fail-fast --test-threads $$((2 * $$(nproc))) || echo test --no-fail-fast)

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | column -t -s'|'

setup: ## Install missing dependencies for running Hipward
	@tools/setup serve

python:
	@tools/setup-python wait

setup-test: ## Install missing dependencies for tests and checks
	@tools/setup test

bundler: setup
	@$(SAY) "1 of 3: the program that bundles what the browser loads (first time: 1 to 2 minutes)"
	@cargo build $(ALL) --bin hipward-bundle

assets: bundler ## Build the browser assets
	@$(CARGO_TARGET_DIR)/debug/hipward-bundle $(HIPWARD_ASSETS)

build: setup ## Build the binary
	@tools/is-built || $(MAKE) --no-print-directory compile

# The browser's modules have a build folder of their own, so they are compiled beside the server's libraries. The binary
# comes last: it contains the modules.
compile:
	@tools/is-built start
	@$(MAKE) --no-print-directory bundler
	@$(SAY) "2 of 3: browser modules and libraries, side by side (first time: 2 to 4 minutes)"
	@$(CARGO_TARGET_DIR)/debug/hipward-bundle $(HIPWARD_ASSETS) & bundle=$$!; cargo build $(ALL) --lib; wait $$bundle
	@$(SAY) "3 of 3: the binary (first time: 1 to 2 minutes)"
	@cargo build $(ALL) --bin hipward --bin hipward-emulate
	@tools/is-built end

serve: build ## Run the site, the analyzer and a local runner on one URL
	@$(HIPWARD) serve $(SERVE_FLAGS)

test: setup-test build python ## Run every test: Rust, Python, wasm in Node, and a real browser
	cargo $(NEXTEST) $(ALL)
	@HIPWARD=$(HIPWARD) tools/test-python-and-node

check: setup-test build python ## Check formatting, lints, types and links
	cargo fmt --all --check
	cargo clippy $(ALL) --all-targets -- --deny warnings
	cargo clippy --locked --package hipward-site --lib --features hydrate --target wasm32-unknown-unknown -- --deny warnings
	cd kernels && $(HIPWARD_PYTHON) -m ruff check . && $(HIPWARD_PYTHON) -m ruff format --check . && $(HIPWARD_PYTHON) -m mypy
	cd content && $(HIPWARD_PYTHON) -m ruff check . && $(HIPWARD_PYTHON) -m mypy --strict check.py checks
	cargo $(NEXTEST) $(ALL) --test static_site
	cargo test $(ALL) --doc --quiet
	# Without verification, which would compile every dependency again. The steps above compile the same files.
	cargo publish --dry-run --quiet --no-verify --allow-dirty $(PUBLISHED)

screenshots: setup-test build ## Take screenshots of every page type: target/screenshots
	cd site && HIPWARD=$(HIPWARD) node ../tests/screenshots.mjs ../target/screenshots

bench: setup-test build python ## Measure speed and size on this machine as one table
	@tools/bench $(PARTS)

chaos: ## Kill server, supervisors and workers at random moments: make chaos N=1000
	HIPWARD_CHAOS=$(or $(N),200) cargo $(NEXTEST) $(ALL) --no-capture --test chaos

cgroups: ## Test the isolation with cgroup v2 on a kernel that runs as a program (needs root and user-mode-linux)
	tools/test-cgroups

schemathesis: build ## Test the API with requests that are generated from its OpenAPI document
	@HIPWARD=$(HIPWARD) tools/schemathesis $(SCHEMATHESIS_FLAGS)

fuzz: ## Fuzz the analyzer and the emulator: make fuzz SECONDS=60 (for each target)
	@tools/fuzz $(SECONDS)

bench-gpu: setup python ## Measure the ops on this machine's GPU and append rows to kernels/results/
	cd kernels && $(HIPWARD_PYTHON) -m hipward_kernels.bench --device cuda
	cd kernels && $(HIPWARD_PYTHON) -m hipward_kernels.bench.routed --device cuda

new-rule: ## Create a rule: make new-rule NAME=my-rule FAMILY=vendor
	@analyzer/new-rule "$(NAME)" "$(FAMILY)"

lock: ## Update the Python lockfile from kernels/requirements.in
	@tools/lock-python

npm: assets ## Build the npm package: dist/npm
	node analyzer/npm/build.mjs dist/npm

dist: assets ## Build the optimised binary: dist/hipward
	cargo build --locked --release --package hipward
	@install -D $(CARGO_TARGET_DIR)/release/hipward dist/hipward

wheel: assets ## Build the wheel of the binary: dist/wheel
	@tools/build-wheel --release --out dist/wheel

vscode: ## Build the Visual Studio Code extension: dist/hipward.vsix
	cd analyzer/editors/vscode && npm ci --ignore-scripts --no-audit --no-fund
	@mkdir -p dist
	cd analyzer/editors/vscode && npx vsce package --no-dependencies --allow-missing-repository --skip-license -o ../../../dist/hipward.vsix

.PHONY: help setup setup-test python bundler assets build compile serve test check screenshots bench bench-gpu chaos cgroups schemathesis fuzz new-rule lock npm dist wheel vscode

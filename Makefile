# The commands of this project. Start with `make demo` or `make collect`; `make test` runs all checks.
CARGO ?= cargo
ARGS ?=
# The command, built as the interop tests use it.
RUTTER_BIN ?= $(abspath $(or $(CARGO_TARGET_DIR),target)/debug/rutter)

.PHONY: advisories demo bench bench-databases collect packages test test-deps format lint unit interop docs ratchet micro

# A route server with built-in speakers and a full table; ARGS go to `rutter demo` (see README.md).
demo:
	$(CARGO) build --release --locked --package rutter --bin rutter
	$(or $(CARGO_TARGET_DIR),target)/release/rutter demo $(ARGS)

# A collector with built-in speakers; ARGS go to `rutter collect --demo` (see docs/collector.md). The profile optimises the
# code that reads rows, and optimises query planning little, so that it builds faster.
collect:
	$(CARGO) build --profile collect --locked --package rutter --bin rutter --package rutter-collector --bin rutter-collect
	$(or $(CARGO_TARGET_DIR),target)/collect/rutter collect --demo $(ARGS)

# The table and the chart of the README's performance section, beside BIRD; ARGS go to `rutter bench readme`.
bench:
	$(CARGO) build --release --locked --package rutter --bin rutter
	$(or $(CARGO_TARGET_DIR),target)/release/rutter bench readme --json bench.json --svg bench.svg $(ARGS)

# Loads full feeds of the prefixes in PREFIXES into a PostgreSQL and a MariaDB of its own, and compares every row with the
# table. Also measures their own bulk commands and single rows. ARGS go to `rutter-collect bench-sinks`
# (see docs/benchmarks.md).
bench-databases:
	$(CARGO) build --profile collect --locked --package rutter-collector --bin rutter-collect
	$(or $(CARGO_TARGET_DIR),target)/collect/rutter-collect bench-sinks $(PREFIXES) $(ARGS)

# A release in target/packages: Debian packages, a static binary, a list of dependencies, checksums; ARGS go to
# tools/packages (`ARGS=server` makes one package).
packages:
	tools/packages $(ARGS)

# All checks that a change must pass; .ci/run calls this.
test: test-deps format lint unit interop docs ratchet

# Installs the real daemons that the interop tests run, and keeps their services from starting.
test-deps:
	tools/install-test-deps

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Unit, property and simulation tests, and the rules of the tree.
unit:
	$(CARGO) test --workspace --locked --no-fail-fast

# Runs Rutter with BIRD, FRR, GoBGP, OpenBGPD and ExaBGP on loopback, and compares every route. ARGS go to tools/interop
# (`ARGS="--jobs 2"` starts fewer test programs at a time).
interop:
	$(CARGO) test --workspace --locked --no-run
	CARGO=$(CARGO) RUTTER_BIN=$(RUTTER_BIN) tools/interop $(ARGS)

# Builds the examples too: without them some dependencies get other features and are built again.
docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --lib --bins --examples

# Compares the instruction counts of the hot functions with tools/ratchet.txt: they may only fall.
ratchet:
	tools/ratchet

# Known vulnerabilities of dependencies. Needs cargo-deny and its database, so it is not part of the tests.
advisories:
	$(CARGO) deny check advisories

# Measures rutter-wire and rutter-rib beside other implementations (docs/benchmarks.md); not part of the tests.
micro:
	cd bench/codec && CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target))/bench $(CARGO) run --release --locked -- $(ARGS)
	cd bench/table && CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target))/bench $(CARGO) run --release --locked -- $(ARGS)

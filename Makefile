# The commands of this project. `make demo` and `make collect` show it, `make test` proves it.
CARGO ?= cargo
ARGS ?=
# The command, built as the interop tests use it.
RUTTER_BIN ?= $(abspath $(or $(CARGO_TARGET_DIR),target)/debug/rutter)

.PHONY: demo bench bench-databases collect test test-deps format lint unit interop docs ratchet micro

# A route server with built-in speakers and a full table; ARGS go to `rutter demo` (see README.md).
demo:
	$(CARGO) build --release --locked --package rutter --bin rutter
	$(or $(CARGO_TARGET_DIR),target)/release/rutter demo $(ARGS)

# A collector with built-in speakers; ARGS go to `rutter collect --demo` (see docs/collector.md). The profile spends its time
# on what reads rows: the parts of the SQL engine that only plan are optimised little.
collect:
	$(CARGO) build --profile collect --locked --package rutter --bin rutter --package rutter-collect --bin rutter-collect
	$(or $(CARGO_TARGET_DIR),target)/collect/rutter collect --demo $(ARGS)

# The table and the chart of the README's performance section, beside BIRD; ARGS go to `rutter bench readme`.
bench:
	$(CARGO) build --release --locked --package rutter --bin rutter
	$(or $(CARGO_TARGET_DIR),target)/release/rutter bench readme --json bench.json --svg bench.svg $(ARGS)

# Full feeds of the prefixes in PREFIXES into a PostgreSQL and a MariaDB of its own, every row compared with the table, beside
# their own bulk commands and a row at a time; ARGS go to `rutter-collect bench-sinks` (see docs/sinks.md).
bench-databases:
	$(CARGO) build --profile collect --locked --package rutter-collect --bin rutter-collect
	$(or $(CARGO_TARGET_DIR),target)/collect/rutter-collect bench-sinks $(PREFIXES) $(ARGS)

# Everything that must hold before a change lands; .ci/run calls this.
test: test-deps format lint unit interop docs ratchet

# The real daemons the interop tests run, installed with their services kept from starting.
test-deps:
	tools/install-test-deps

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Unit, property and simulation tests, and the rules of the tree.
unit:
	$(CARGO) test --workspace --locked

# Rutter among BIRD, FRR, GoBGP, OpenBGPD and ExaBGP on loopback, route by route.
interop:
	$(CARGO) test --workspace --locked --no-run
	RUTTER_BIN=$(RUTTER_BIN) $(CARGO) test --workspace --locked --test 'interop-*'

# With the examples, so that dependencies are taken as `lint` and `unit` built them; without, some have other features.
docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --lib --bins --examples

# Instructions of the hot functions against tools/ratchet.txt: they may only go down.
ratchet:
	tools/ratchet

# rutter-wire and rutter-rib beside other implementations on the same inputs (docs/benchmarks.md); not part of the tests.
micro:
	cd bench/codec && CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target))/bench $(CARGO) run --release --locked -- $(ARGS)
	cd bench/table && CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target))/bench $(CARGO) run --release --locked -- $(ARGS)

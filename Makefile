# make build | man | router | packages | demo | test | archive-test | soak | check | docs | fuzz | bench | archive-bench | gallery | accuracy; `make` alone says what each does.

SHELL := /bin/bash
CARGO ?= cargo
NPM ?= npm
BUNDLES := web/dist/chart-library.js web/dist/report.js web/dist/report.css
MODULES := web/node_modules/.package-lock.json

.PHONY: help build man router packages demo test archive-test soak check docs fuzz bench archive-bench gallery accuracy web tools
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' Makefile

tools:
	@scripts/tools build

# The installed modules are older than the lock file after every change of it: the packages are then installed anew.
$(MODULES): web/package-lock.json web/package.json | tools
	$(NPM) ci --prefix web
	@touch $@

$(BUNDLES) &: $(MODULES) $(wildcard web/src/* web/src/*/*)
	$(NPM) run --silent bundle --prefix web
	@touch $(BUNDLES)

web: $(BUNDLES)

build: tools web ## the program, optimized: target/release/rrul
	$(CARGO) build --release --target-dir target -p rrul
	@scripts/strip target/release/rrul 25
	@echo "target/release/rrul is ready; try: make demo"

man: build ## the manual pages: target/man, to be read with man -l target/man/rrul-run.1
	target/release/rrul man target/man

# Folds identical functions, merges ends of strings, and packs relocations, as lld can, with which Rust links on x86-64.
# With another linker: ROUTER_LINK=
ROUTER_LINK ?= -C link-arg=-Wl,--icf=all,-O2,-z,pack-relative-relocs
# Of zstd only its quickest compression; smaller and slower decompression, in one form for all processors; no unwinding through C.
# Not every compiler has -Oz; it is asked when the program for routers is built.
ROUTER_CFLAGS = -DDYNAMIC_BMI2=0 -DHUF_FORCE_DECOMPRESS_X1 -DZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT -DZSTD_NO_INLINE -DZSTD_STRIP_ERROR_STRINGS \
    $(patsubst %,-DZSTD_EXCLUDE_%_BLOCK_COMPRESSOR,DFAST GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA) -fno-asynchronous-unwind-tables \
    $(shell $(CC) -Oz -E -x c /dev/null >/dev/null 2>&1 && echo -Oz)

router: ## the program for routers, without charts, comparison, exports, lab, browser and screen: target/router/rrul; needs no Node.js
	@scripts/tools router
	CFLAGS="$(CFLAGS) $(ROUTER_CFLAGS)" $(CARGO) rustc --profile router --target-dir target --no-default-features --features silent -p rrul --bin rrul -- $(ROUTER_LINK)
	@scripts/strip target/router/rrul 7
	RRUL_PROGRAM=$(CURDIR)/target/router/rrul $(CARGO) test --no-default-features --features silent -p rrul --test either_build

packages: man ## what can be installed, and what this machine cannot build: target/packages; a package for Debian, static programs
	@scripts/tools packages
	scripts/packages

demo: build ## a bloated link and a managed one, measured, compared, drawn and reported, without a server
	@# 1 says that a result is doubtful, with the reason above: the demo has been seen all the same.
	target/release/rrul demo || [ $$? -eq 1 ]

test: tools web ## every test, with the count of what ran and of what was skipped and why
	@scripts/tools test
	scripts/test

archive-test: tools web ## the tests of rrul archive and its engines, which the default program does not have
	@scripts/tools archive
	scripts/archive-test

# Seconds of the attacks.
DURATION ?= 3600

soak: tools web ## a server under every attack at once for an hour, or DURATION=86400 seconds, beside five clients; prints what it took
	@scripts/tools test
	RRUL_SOAK_SECONDS=$(DURATION) $(CARGO) test --release -p rrul --test faults soak:: -- --nocapture --test-threads=1

check: tools web ## format, lints, words, spelling and links, licenses and advisories of dependencies
	@scripts/tools check
	scripts/words
	scripts/links
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	@# In the environment of clippy, cargo takes the crates that clippy has just checked, and need not check them once more.
	RUSTC_WORKSPACE_WRAPPER="$$(rustc --print sysroot)/bin/clippy-driver" CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__" \
	    RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps
	$(CARGO) clippy -p rrul --no-default-features -- -D warnings
	@scripts/deny

docs: ## the documentation as a site, target/docs/index.html, with its links checked; builds mdBook once, two minutes
	@scripts/tools docs
	scripts/docs

# Cases of each target; RRUL_FUZZ_SEED repeats a run.
CASES ?= 200000

fuzz: ## every decoder of foreign bytes with 200,000 cases, or CASES=1000000
	PROPTEST_CASES=$(CASES) $(CARGO) test -p rrul-model -p rrul-lab --test fuzz
	PROPTEST_CASES=$(CASES) $(CARGO) test -p rrul-proto --test suite fuzz
	PROPTEST_CASES=$(CASES) $(CARGO) test -p rrul --bin rrul fuzz

bench: tools web ## processor time and punctuality beside iperf3 and ping, how long it takes to look at recordings, what traces and a crowd of clients cost
	@scripts/tools bench
	$(CARGO) bench -p rrul --bench peers --bench looking --bench screen --bench tracing
	$(CARGO) bench -p rrul-engine --bench crowd

archive-bench: tools ## a question to a million synthetic runs, beside pandas over a file of JSON for each run; needs 2 GB of disk
	@scripts/tools archive
	scripts/archive-bench

gallery: build ## every chart, from experiments over virtual links: docs/gallery, 23 minutes
	scripts/gallery

accuracy: tools web ## every figure against the truth of many links (or BEDS="some of them"), metrics broken on purpose; writes docs/accuracy.md
	@scripts/tools test
	@mkdir -p target
ifdef BEDS
	$(CARGO) test --release -p rrul --test beds -- $(addprefix --bed ,$(BEDS)) --write $(CURDIR)/docs/accuracy.md
else
	RRUL_PATH_SEEDS=4 $(CARGO) test --release -p rrul --test path_location
	scripts/mutations target/mutations.md
	$(CARGO) test --release -p rrul --test beds -- --full --mutations $(CURDIR)/target/mutations.md --write $(CURDIR)/docs/accuracy.md
endif

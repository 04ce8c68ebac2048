# SPDX-License-Identifier: MIT
# The short names for what people do here; Meson and Ninja do the work.
#
#   make            same as make build
#   make deps       install what is missing from Debian's packages; says so and does nothing else
#   make build      build/seep and build/libseep.so, usable from there
#   make product    seep and libseep.so alone, without tests, fuzzers and benchmarks
#   make demo       record a program that leaks and show the report
#   make test       every test; last line `N passed, N failed`
#   make soak       the same tests with long iteration counts, and every reader fuzzed for ten minutes
#   make lint       formatter, warnings as errors with gcc and clang, static analysis, aarch64
#   make sanitize   unit tests under ASan + UBSan, and under TSan where they ask for it
#   make bench      overhead and speed figures
#   make install    into PREFIX (default /usr/local), below DESTDIR if given
#   make uninstall  remove what was installed
#   make dist       a tarball for every x86-64 Linux with glibc 2.31 or newer, in build/dist
#   make deb        a package for Debian 11, Ubuntu 20.04 and newer, in build/dist
#
# DEPS=no leaves the installed packages alone. The last two build in a Debian 11, which they keep
# in SEEP_CHROOTS (default build/chroots); that needs root.

BUILD ?= build
PREFIX ?= /usr/local
DEPS ?= yes
JOBS ?= 2

need = @if [ "$(DEPS)" = yes ]; then tools/deps.sh $(1); fi

all: build

deps:
	@tools/deps.sh build test lint bench

# Before the build, which leaves out what it has no library for.
deps-test deps-bench:
	$(call need,build $(@:deps-%=%))

# Meson does not notice files that come and go, so the list it was set up with is kept.
setup:
	$(call need,build)
	@mkdir -p $(BUILD)
	@{ echo "prefix $(abspath $(PREFIX))"; tools/list-inputs.sh all; } >$(BUILD)/inputs.now
	@if [ ! -e $(BUILD)/build.ninja ]; then \
		meson setup $(BUILD) --prefix=$(abspath $(PREFIX)) $(SETUP) >$(BUILD)/setup.log || \
			{ cat $(BUILD)/setup.log; exit 1; }; \
	elif ! cmp -s $(BUILD)/inputs.now $(BUILD)/inputs; then \
		meson setup --reconfigure $(BUILD) --prefix=$(abspath $(PREFIX)) \
			>$(BUILD)/setup.log || { cat $(BUILD)/setup.log; exit 1; }; \
	fi
	@mv $(BUILD)/inputs.now $(BUILD)/inputs

build: setup
	@ninja -j $(JOBS) -C $(BUILD)

# What people use, without tests, fuzzers and benchmarks.
product: setup
	@ninja -j $(JOBS) -C $(BUILD) seep libseep.so libseep_copy.so

# The recording is left in build/demo for further questions.
demo: product
	@mkdir -p $(BUILD)/demo
	$(CC) -g -o $(BUILD)/demo/leaky examples/leaky.c
	cd $(BUILD)/demo && $(abspath $(BUILD))/seep run -o leaky.rec -- ./leaky
	$(BUILD)/seep report $(BUILD)/demo/leaky.rec

test: deps-test build
	@tools/run-tests --build $(BUILD) --jobs $(JOBS)

soak: deps-test build
	@SEEP_SOAK=1 tools/run-tests --build $(BUILD) --jobs $(JOBS) --timeout 1800
	@JOBS=$(JOBS) tools/fuzz.sh 600

lint:
	$(call need,build lint)
	@tools/lint.sh

sanitize:
	$(call need,build test)
	@tools/sanitize.sh

bench: deps-bench build
	@bench/run

install: build
	@meson install -C $(BUILD) --no-rebuild

uninstall:
	@ninja -C $(BUILD) uninstall

dist:
	$(call need,dist)
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/dist.sh tarball

deb:
	$(call need,dist)
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/dist.sh deb

clean:
	@[ -O $(BUILD)/chroots ] || [ ! -e $(BUILD)/chroots ] || sudo rm -rf --one-file-system $(BUILD)/chroots
	@rm -rf $(BUILD) build-lint-* build-asan build-tsan build-aarch64 build-fuzz

.PHONY: all deps deps-test deps-bench setup build product demo test soak lint sanitize bench install uninstall dist deb clean

# make            says what there is
# make demo       records five seconds of white noise
# make test       everything that CI runs

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

STEP := scripts/step
# Where `scripts/tool` builds it.
TOOL := $(CURDIR)/.build-release/release/capturer-demo
# Swift Testing only: XCTest's own leaks would fail the address sanitizer.
# One test at a time: many block a thread while they wait, and there are no more of these than cores.
SWIFT_TEST := swift test --disable-xctest --no-parallel
# Without HTTPS under ThreadSanitizer: BoringSSL takes minutes to build, and a connection lives on one thread.
WITH_TSAN := --sanitize=thread --scratch-path .build-tsan --disable-default-traits
WITH_ASAN := --sanitize=address --scratch-path .build-asan
# How long each fuzz target runs.
FUZZ_SECONDS ?= 15
# Which unit tests a sanitizer run takes; a regular expression of `swift test --filter`.
FILTER ?= .
TSAN := TSAN_OPTIONS="halt_on_error=1"
ASAN := ASAN_OPTIONS="detect_leaks=1:quarantine_size_mb=16" \
	LSAN_OPTIONS="suppressions=$(CURDIR)/scripts/leak-suppressions.txt:print_suppressions=0"

.PHONY: help
help: ## say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what building and running needs (Debian 12)
	@scripts/setup

.PHONY: setup-tests
setup-tests: ## install what the tests need besides
	@scripts/setup --tests

.PHONY: build
build: setup ## build everything for debugging
	@$(STEP) "build (debug)" swift build --build-tests

.PHONY: release
release: setup ## build the tool with optimization
	@$(STEP) "build (release)" scripts/tool

.PHONY: demo
demo: release ## record white noise to capture.webm and say how to play it
	@scripts/demo

# What is cheapest to find out comes first. A check that fails does not keep the others from running; the
# summary fails when any did.
CHECKS := check-format check-structure unit docs end-to-end camera sanitizers fuzz examples

# What the later checks need is built while the earlier ones wait for something else than a processor.
BUILDS_AHEAD := build-release kernel build-thread-sanitizer build-address-sanitizer build-examples build-fuzz

.PHONY: test
test: setup-tests ## check everything, as CI does
	@$(STEP) --begin
	@scripts/build-ahead $(BUILDS_AHEAD) & ahead=$$!; trap 'kill $$ahead 2>/dev/null || true' EXIT; \
		$(MAKE) --no-print-directory --keep-going $(CHECKS) || true
	@$(STEP) --summary

.PHONY: kernel $(filter build-%,$(BUILDS_AHEAD))
kernel:
	@Tests/CameraGuest/kernel/build
build-release:
	@scripts/tool
build-thread-sanitizer:
	@swift build --build-tests $(WITH_TSAN)
build-address-sanitizer:
	@swift build --build-tests $(WITH_ASAN)
build-examples:
	@scripts/run-examples --build-only
build-fuzz:
	@Fuzz/run 0

.PHONY: check-format
check-format: ## check that the Swift files are formatted
	@$(STEP) "format" scripts/check-format

.PHONY: check-structure
check-structure: ## check the direction of imports and the size of files
	@$(STEP) "structure" scripts/check-structure

.PHONY: unit
unit: build ## run the unit tests
	@$(STEP) "unit tests" $(SWIFT_TEST) --skip-build

# Four minutes: each flaw through every rule. The unit tests put each through its own rule only.
.PHONY: matrix
matrix: build ## check that each broken capture fails at its own sentence of the contract and at no other
	@CONFORMANCE_MATRIX=1 $(STEP) "conformance matrix" $(SWIFT_TEST) --skip-build --filter breaksNothingElse

.PHONY: end-to-end
end-to-end: setup-tests release ## run the tool against ffmpeg, vpxdec and Chromium
	@CAPTURER_DEMO="$(TOOL)" \
		$(STEP) "end-to-end tests" Tests/EndToEnd/run

.PHONY: camera
camera: setup-tests build release ## run the tests that need camera drivers, in a guest with a kernel of its own
	@CAPTURER_DEMO="$(TOOL)" \
		$(STEP) "camera tests, guest kernel" Tests/CameraGuest/run

.PHONY: camera-faults
camera-faults: setup-tests release ## write docs/camera-faults.md: what clients do when a camera fails
	@CAPTURER_DEMO="$(TOOL)" \
		$(STEP) "camera faults" Tests/CameraGuest/table

# Side by side they take little longer than one: most tests wait, for frames or for time to pass.
.PHONY: sanitizers
sanitizers: setup ## run the unit tests under ThreadSanitizer and under AddressSanitizer
	@scripts/side-by-side thread-sanitizer address-sanitizer

.PHONY: thread-sanitizer
thread-sanitizer: setup ## run the unit tests under ThreadSanitizer
	@$(TSAN) $(STEP) "unit tests, thread sanitizer" \
		$(SWIFT_TEST) $(WITH_TSAN) --filter '$(FILTER)'
	@$(TSAN) $(STEP) "the tool, thread sanitizer" scripts/sanitized-run .build-tsan

.PHONY: address-sanitizer
address-sanitizer: setup ## run the unit tests under AddressSanitizer
	@$(ASAN) $(STEP) "unit tests, address sanitizer" \
		scripts/leak-checked $(SWIFT_TEST) $(WITH_ASAN) --filter '$(FILTER)'
	@$(ASAN) $(STEP) "the tool, address sanitizer" scripts/sanitized-run .build-asan

.PHONY: fuzz
fuzz: setup ## feed the parsers with broken input, FUZZ_SECONDS for each
	@$(STEP) "fuzz" Fuzz/run $(FUZZ_SECONDS)

.PHONY: examples
examples: setup ## build and run each example
	@$(STEP) "examples" scripts/run-examples

.PHONY: docs
docs: setup ## build the documentation into .build/docs
	@$(STEP) "documentation" scripts/docs

.PHONY: bench
bench: setup-tests ## measure, and compare with other tools; writes docs/benchmarks.md
	@$(STEP) "benchmarks" Benchmarks/run

.PHONY: clean
clean: ## remove all that was built
	rm -rf .build .build-* */.build

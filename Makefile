# make            says what there is
# make demo       records five seconds of white noise
# make check      what to run after each edit
# make test       what to run on a new machine
# make test-all   everything that CI runs

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

STEP := scripts/step
# Where `scripts/tool` builds it.
TOOL := $(CURDIR)/.build-release/release/capturer-demo
# Which unit tests to run: a regular expression for names like `Module.Suite/test()`. By default all but `LATER`.
FILTER ?= .
UNIT_TESTS := scripts/unit-tests --filter '$(FILTER)'
# Tests that simulate hours and many links, for a minute of a processor: `make test-all` alone runs them.
HOURS := EnduranceTests/`(After|The level)
# Two minutes of sound and pictures in `make test`, and a quarter of an hour in `make test-all`.
SYNC := [.]LongSyncTests/
LATER := $(HOURS)|CongestionTests/aDownload|AudioSynchronizerTests/theClockOfTheCard|FFmpegVideoEncoderTests/bitrate
# The sanitizers' tests run three at a time: they need the processors more than others do, and wait as often.
# Building tests takes more than building all that they test, so each sanitizer has the modules in which it can find
# something: ThreadSanitizer those with threads, but for PipeWire's, which it cannot see.
# Reports name functions; their lines too with `make thread-sanitizer SANITIZED_LINES=dwarf`, which builds for longer.
SANITIZED_LINES := none
BUILD_TSAN := env CAPTURER_TESTS="$(addsuffix Tests,VideoCapturing AudioCapturing PacketCapturing MediaPublishing AudioRendering \
	CameraCapturer FileCapturer MicrophoneCapturer MJPEGCapturer RadioCapturer RadioPlayer ScreenCapturer StreamCapturer \
	FFmpegContainers FFmpegMuxing VP8Codec IcecastOutput MJPEGServer RTPOutput RTSPServer StillCapture StreamOutput \
	WebRTCPublisher WebRTCTransport WebRTCViewing WindowPreview)" \
	swift build --build-tests --sanitize=thread --scratch-path .build-tsan -debug-info-format $(SANITIZED_LINES)
TSAN_TESTS := TEST_JOBS=3 $(UNIT_TESTS) --scratch-path .build-tsan --skip '[.](AudioSynchronizer|MultipartParser)Tests/|/soundAndPictureStayTogether|$(HOURS)|$(SYNC)'
TSAN := TSAN_OPTIONS="halt_on_error=1"
# AddressSanitizer those that share memory with a library in C, or keep their own. Its build is the only one with HTTPS.
# libavformat 5.1 keeps the buffer of a segment of HLS whose file it may not open.
BUILD_ASAN := env CAPTURER_TESTS="$(addsuffix Tests,VideoCapturing FrameProcessing MediaContainers FFmpegContainers FFmpegMuxing \
	FFmpegCodec H264Bitstream H264Codec JPEGCodec MP3Codec OpusCodec V4L2Codec VP8Codec AudioResampling MotionDetection \
	CompositorCapturer FileCapturer MicrophoneCapturer PipeWireCapturer RadioPlayer ScreenCapturer StreamCapturer StillCapture \
	MJPEGServer WebRTCTransport)" \
	swift build --build-tests --sanitize=address --scratch-path .build-asan -debug-info-format $(SANITIZED_LINES) --traits TLS
ASAN_TESTS := TEST_JOBS=3 $(UNIT_TESTS) --scratch-path .build-asan --skip '[.]FalseAlarmTests/|/hlsReplacesNoFile|$(HOURS)' -- $(CURDIR)/scripts/leak-checked
ASAN := ASAN_OPTIONS="detect_leaks=1:quarantine_size_mb=16" \
	LSAN_OPTIONS="suppressions=$(CURDIR)/scripts/leak-suppressions.txt:print_suppressions=0"
# How long each fuzz target runs.
FUZZ_SECONDS ?= 10

.PHONY: help
help: ## say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what building and running needs (Debian 12)
	@scripts/setup

.PHONY: setup-tests
setup-tests: ## install what the tests need in addition
	@scripts/setup --tests

.PHONY: build
build: setup ## build everything for debugging
	@$(STEP) "build (debug)" swift build --build-tests

.PHONY: release
release: setup ## build the tool with optimization; with HTTPS: make release TLS=1
	@$(STEP) "build (release)" scripts/tool

.PHONY: demo
demo: ## record white noise to capture.webm and say how to play it
	@scripts/setup --small
	@scripts/demo

# Where `make install` puts the tool; DESTDIR is for packages.
PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: install
install: ## install the tool, its manual and completions to PREFIX; after make release
	@[[ -x $(TOOL) ]] || { echo "make install: run make release first, as the user who builds" >&2; exit 1; }
	install -D $(TOOL) $(DESTDIR)$(PREFIX)/bin/capturer-demo
	install -d $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
		$(SHARE)/fish/vendor_completions.d
	$(TOOL) manual >$(SHARE)/man/man1/capturer-demo.1
	$(TOOL) completion bash >$(SHARE)/bash-completion/completions/capturer-demo
	$(TOOL) completion zsh >$(SHARE)/zsh/site-functions/_capturer-demo
	$(TOOL) completion fish >$(SHARE)/fish/vendor_completions.d/capturer-demo.fish

.PHONY: deb
deb: release ## make a Debian package of the tool, for the release of Debian that runs here
	@scripts/setup --packaging
	@Packaging/deb $(TOOL)

# The cheapest checks come first. A check that fails does not keep the others from running; the summary fails when
# any did.
QUICK_CHECKS := check-format check-structure unit
USER_CHECKS := $(QUICK_CHECKS) end-to-end-first camera-first
MORE_CHECKS := unit-later end-to-end-later camera-later packaging docs examples matrix thread-sanitizer fuzz address-sanitizer https

# What the later checks need is built while the earlier ones wait for something other than a processor.
USER_BUILDS := build-release kernel
MORE_BUILDS := build-small build-thread-sanitizer build-fuzz build-address-sanitizer

# $(call run-checks,BUILDS,CHECKS)
define run-checks
	@$(STEP) --begin
	@scripts/build-ahead $(1) & ahead=$$!; trap 'kill $$ahead 2>/dev/null || true' EXIT; \
		$(MAKE) --no-print-directory --keep-going $(2) || true
	@$(STEP) --summary
endef

# With a filter only the build and these tests.
.PHONY: check
check: setup-tests ## check format and structure, and run the unit tests, or some: make check FILTER=FrameQueue
	$(call run-checks,,$(if $(filter-out .,$(FILTER)),unit,$(QUICK_CHECKS)))

.PHONY: test
test: setup-tests ## check that all works on this machine, with real programs and camera drivers too
	$(call run-checks,$(USER_BUILDS),$(USER_CHECKS))

.PHONY: test-all
test-all: setup-tests ## the same, then sanitizers, fuzzers, examples and documentation, as CI does
	$(call run-checks,$(USER_BUILDS) $(MORE_BUILDS),$(USER_CHECKS) $(MORE_CHECKS))

.PHONY: kernel build-release $(MORE_BUILDS)
kernel:
	@Tests/CameraGuest/kernel/build
build-release:
	@scripts/tool
build-small:
	@SMALL=1 scripts/tool
build-thread-sanitizer:
	@$(BUILD_TSAN)
build-address-sanitizer:
	@$(BUILD_ASAN)
build-fuzz:
	@Fuzz/run 0

.PHONY: check-format
check-format: ## check that the Swift files are formatted
	@$(STEP) "format" scripts/check-format

.PHONY: check-structure
check-structure: ## check the direction of imports, the size of files, the version, and the words
	@$(STEP) "structure" scripts/check-structure
	@$(STEP) "words" scripts/check-words

.PHONY: check-api
check-api: build ## compare the public API with that in docs/api
	@scripts/symbols && $(STEP) "public API" scripts/check-api

.PHONY: unit
unit: build ## run the unit tests
	@$(STEP) "unit tests" $(UNIT_TESTS) $(if $(filter .,$(FILTER)),--skip '$(LATER)')

.PHONY: unit-later
unit-later: build ## run the unit tests that simulate hours
	@CAPTURER_SYNC_MINUTES=15 $(STEP) "unit tests, later" scripts/unit-tests --filter '$(LATER)|$(SYNC)'

# Minutes of waiting: each flaw through every rule, in four shares. The unit tests put each through its own rule only.
.PHONY: matrix
matrix: build ## check that each broken capture fails at its own sentence of the contract and at no other
	@$(STEP) "conformance matrix" scripts/unit-tests --filter breaksNothingElse --shares CONFORMANCE_MATRIX=4

# `make test` runs those that show most in least time, `make test-all` then the others.
.PHONY: end-to-end end-to-end-first end-to-end-later
end-to-end: ## run the tool against ffmpeg, vpxdec and Chromium
end-to-end-later: PART := later
end-to-end-first: PART := first
end-to-end end-to-end-first end-to-end-later: setup-tests release
	@CAPTURER_DEMO="$(TOOL)" \
		$(STEP) "end-to-end tests$(PART:%=, %)" Tests/EndToEnd/run $(PART:%=--%)

.PHONY: camera camera-first camera-later
camera: ## run the tests that need camera drivers, in a guest with a kernel of its own
camera-later: PART := later
camera-first: PART := first
camera camera-first camera-later: setup-tests build release
	@CAPTURER_DEMO="$(TOOL)" \
		$(STEP) "camera tests, guest$(PART:%=, %)" Tests/CameraGuest/run $(PART:%=--%)

.PHONY: camera-faults
camera-faults: setup-tests release ## write docs/camera-faults.md: what clients do when a camera fails
	@CAPTURER_DEMO="$(TOOL)" \
		$(STEP) "camera faults" Tests/CameraGuest/table

.PHONY: packaging
packaging: setup-tests release ## use the small tool, and the Debian package in a bare system without Swift
	@CAPTURER_DEMO="$(TOOL)" $(STEP) "packaging" Tests/Packaging/run

.PHONY: thread-sanitizer
thread-sanitizer: setup-tests ## run the unit tests under ThreadSanitizer
	@$(STEP) "build (thread sanitizer)" $(BUILD_TSAN)
	@$(TSAN) $(STEP) "unit tests, thread sanitizer" env $(TSAN_TESTS)
	@$(TSAN) $(STEP) "the tool, thread sanitizer" scripts/sanitized-run .build-tsan

.PHONY: address-sanitizer
address-sanitizer: setup-tests ## run the unit tests, HTTPS too, under AddressSanitizer
	@$(STEP) "build (address sanitizer)" $(BUILD_ASAN)
	@$(ASAN) $(STEP) "unit tests, address sanitizer" env $(ASAN_TESTS)
	@$(ASAN) $(STEP) "the tool, address sanitizer" scripts/sanitized-run .build-asan

.PHONY: https
https: setup-tests ## run the end-to-end tests of serving HTTPS and RTSP over TLS
	@$(STEP) "build (HTTPS)" $(BUILD_ASAN)
	@$(ASAN) CAPTURER_DEMO="$(CURDIR)/.build-asan/debug/capturer-demo" \
		$(STEP) "end-to-end tests, HTTPS" Tests/EndToEnd/run test_mjpeg_server.HTTPSTests.test_https \
		test_rtsp.SecureTests

.PHONY: fuzz
fuzz: setup ## feed the parsers with broken input, FUZZ_SECONDS for each
	@$(STEP) "fuzz" Fuzz/run $(FUZZ_SECONDS)

.PHONY: examples
examples: build ## compile and run each example
	@$(STEP) "examples" scripts/run-examples

.PHONY: docs
docs: setup ## build the site of documentation, .build/docs/site, compile the code in documents, compare the API with docs/api
	@$(STEP) "documentation" scripts/docs
	@$(STEP) "code in documents" scripts/check-readmes
	@$(STEP) "public API" scripts/check-api

.PHONY: bench
bench: setup-tests ## measure, and compare with other tools; writes docs/benchmarks.md
	@$(STEP) "benchmarks" Benchmarks/run

.PHONY: clean
clean: ## remove all that was built
	rm -rf .build .build-* */.build

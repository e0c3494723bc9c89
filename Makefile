# SPDX-License-Identifier: Apache-2.0
# The commands of the README. Each installs what it needs (packages.txt) and can be repeated.
JOBS ?= $(shell nproc)
# A third of the tests' time is waiting, for a timeout or for the other end.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)

.PHONY: help build firmware demo test windows test-windows arm asan tsan fuzz bench format check clean fuzz-link fuzz-cpu mutants

help:
	@sed -n 's/^## //p' Makefile

## make build         the program, at build/release/millrace
build: build/release/build.ninja
	@cmake --build build/release -j $(JOBS) --target millrace millrace_c

build/release/build.ninja: packages.txt CMakePresets.json
	@scripts/packages.sh base
	@cmake --preset release >/dev/null

## make demo          the main job with no hardware: a verified sweep; writes out/demo.json
demo: build firmware
	@mkdir -p out
	@scripts/demo.sh build/release/millrace

## make test          every test
test: build/release/build.ninja
	@scripts/packages.sh test
	@cmake --build build/release -j $(JOBS)
	@ctest --test-dir build/release --output-on-failure -j $(TEST_JOBS)

## make bench         the figures of docs/benchmarking.md
bench: build/release/build.ninja firmware
	@cmake --build build/release -j $(JOBS) --target millrace benches
	@scripts/packages.sh bench
	@scripts/bench.sh build/release

## make asan, tsan    every test under AddressSanitizer + UBSan, ThreadSanitizer
asan tsan:
	@scripts/packages.sh base test
	@cmake --preset $@ >/dev/null
	@cmake --build build/$@ -j $(JOBS)
	@ctest --test-dir build/$@ --output-on-failure -j $(JOBS)

## make fuzz          the fuzz targets, FUZZ_SECONDS each (60)
FUZZ_SECONDS ?= 60
fuzz:
	@scripts/packages.sh base check
	@scripts/fuzz.sh $(FUZZ_SECONDS)

## make fuzz-link     random histories of the link protocol, FUZZ_SECONDS long (60; 1T: so many bytes); FIRST=N repeats
fuzz-link: build/release/build.ninja
	@cmake --build build/release -j $(JOBS) --target link_soak
	@build/release/test/link_soak $(FUZZ_SECONDS) $${FIRST:-$$(date +%s)000}

## make fuzz-cpu      10 million random instructions, 150,000 exceptions on the core and on qemu-system-arm
fuzz-cpu: build/release/build.ninja
	@scripts/packages.sh test
	@cmake --build build/release -j $(JOBS) --target diff_cpu diff_exceptions
	@build/release/test/board/diff_cpu --seed 1000 --images 22 --packets 12000 --folder out/diff_cpu
	@build/release/test/board/diff_cpu --seed 2000 --images 11 --packets 12000 --fp --folder out/diff_cpu
	@build/release/test/board/diff_exceptions --seed 1000 --images 400 --actions 300 --folder out/diff_exceptions

## make mutants       deliberate faults in a copy of the board, one by one: its tests must find each (about 15 min)
mutants:
	@scripts/packages.sh test
	@nice -n 15 scripts/mutants.py

## make firmware      the programs for the board, at build/arm/firmware/ports/rt1062 (docs/firmware.md)
firmware:
	@scripts/packages.sh base
	@cmake --preset arm >/dev/null
	@cmake --build build/arm -j $(JOBS) --target rt1062_images

## make arm           link/ and the device code for the Cortex-M7
arm:
	@scripts/packages.sh base
	@cmake --preset arm >/dev/null
	@cmake --build build/arm -j $(JOBS)
	@scripts/check_freestanding.sh build/arm

## make windows       build/mingw/millrace.exe, static
windows:
	@scripts/packages.sh base windows
	@cmake --preset mingw >/dev/null
	@cmake --build build/mingw -j $(JOBS)

## make test-windows  millrace.exe under Wine against a PTY (not part of make test)
test-windows: windows build
	@scripts/packages.sh wine
	@test/windows/run.sh build/mingw/millrace.exe build/release/millrace

## make format        clang-format everything;  make check: what CI checks besides tests
format:
	@scripts/packages.sh check
	@git ls-files '*.cc' '*.h' | xargs clang-format-14 -i
check:
	@scripts/packages.sh check
	@scripts/check.sh

clean:
	rm -rf build out

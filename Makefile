# The front door: `make demo` shows what Onward does, `make test` runs every test. Each target does
# its own set-up (tools/setup.py), so that a fresh Debian 12 with make, g++, git and python3 will do.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
TARGET ?= all
FUZZ_SECONDS ?= 30
FUZZ_MINUTES ?= 10
FUZZ_FIRST ?= 0

BUILD := tools/setup.py build
# Of all compilers the one that `make program` takes, where Python would name its own: the compiler's cache tells them apart.
PACKAGE := tools/setup.py python env CXX="$${CXX:-c++}" CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS)
TESTS := tools/setup.py tests
# Tests run side by side: threads that wait for work must not spin on a core that another test needs.
CTEST := env OMP_WAIT_POLICY=passive ctest --output-on-failure --no-tests=error --parallel $(JOBS)
PRESETS := release dev ci asan
CPP_FILES = git ls-files --cached --others --exclude-standard '*.h' '*.cpp'

.PHONY: help demo bench bench-inference test test-fast test-release test-frameworks test-cases test-repository test-asan test-fuzz \
        test-differential fuzz-differential mutants coverage program python wheel dist $(PRESETS) format format-check tidy clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 16
	@echo "$(PRESETS)" | sed 's/$$/: build that preset into build\/NAME/'

demo: ## make an inference model trainable, and train it on digits
	@$(MAKE) program > /dev/null
	@PATH="$(CURDIR)/build/release:$$PATH" tools/demo.sh build/demo

# One after the other, the quick ones first: the first that fails ends it. Gigabytes of frameworks are
# fetched while the compiler works; where that fails, test-frameworks tries again and says why.
test: ## everything
	$(MAKE) format-check
	$(MAKE) tidy
	tools/setup.py frameworks & $(MAKE) test-release; wait
	$(MAKE) test-differential
	$(MAKE) test-frameworks
	$(MAKE) test-asan
	$(MAKE) test-fuzz
	@echo "ONNX's backend suite:" && cat build/ci/tests/backend-counts.txt
	@echo "make test: all passed"

test-fast: ci ## all but what is slow, on the optimized build
	$(TESTS) $(CTEST) --test-dir build/ci --label-exclude 'slow|frameworks'

test-release: ci ## all tests on the optimized build that need no other framework
	$(TESTS) $(CTEST) --test-dir build/ci --label-exclude frameworks

test-frameworks: ci ## the tests against PyTorch, Keras, JAX and scikit-learn, which are installed in the cache (8 GB)
	$(TESTS) $(CTEST) --test-dir build/ci --label-regex frameworks

test-cases: ci ## all operator cases to PyTorch and Keras and back; `make test` takes back one for each function that they call
	$(TESTS) env ONWARD_ALL_CASES=1 $(CTEST) --test-dir build/ci --tests-regex '^emit_(torch|tensorflow)_test$$'

test-repository: ## the tests on the files themselves, which need no build
	$(TESTS) sh -c 'exec "$$ONWARD_TEST_PYTHON" -B -m pytest -q tests/repository \
	  --ignore tests/repository/readme_test.py'

# Not those of the repository, nor those that measure memory, which the sanitizers need themselves; nor what runs the
# same code over and over and takes minutes there: second gradients, all cases for all targets, nodes in any order,
# expansions of no elements and their gradients, gradients by every float input, lowered cases in other
# runtimes, ONNX's tests with open shapes.
test-asan: asan ## the tests under AddressSanitizer and UBSan
	$(TESTS) env GTEST_FILTER='-*SecondGradient*:*LegalizeTargets.*:*InAnyOrder:ExpansionValues.HaveThe*:ExpansionValues.OfNo*:FloatInputs.Have*' $(CTEST) \
	  --test-dir build/asan --label-exclude 'repository|resources|frameworks|install' --exclude-regex '^lower_python_test$$|testset'

test-fuzz: asan ## each fuzz target for FUZZ_SECONDS, from the seeds in the repository
	$(TESTS) tools/fuzz.sh build/asan $(FUZZ_SECONDS)

# A number of graphs, not of seconds: what a test says must not depend on how fast the machine is.
test-differential: ## fuzz-differential with 2,000 graphs, always the same
	$(MAKE) fuzz-differential FUZZ_GRAPHS=2000 FUZZ_FIRST=0

# FUZZ_MINUTES is how long (or FUZZ_GRAPHS how many), FUZZ_FIRST the first seed, FUZZ_SEED=N shows what seed N gives and nothing else.
fuzz-differential: ci ## random graphs: Onward against ONNX Runtime, differences and itself, for FUZZ_MINUTES
	$(TESTS) env ONWARD=build/ci/onward ONWARD_TOOLS=build/ci/tests sh -c 'exec "$$ONWARD_TEST_PYTHON" -B \
	  tests/differential/fuzz.py $(if $(FUZZ_SEED),--seed $(FUZZ_SEED),\
	  $(if $(FUZZ_GRAPHS),--graphs $(FUZZ_GRAPHS),--minutes $(FUZZ_MINUTES)) --first $(FUZZ_FIRST))'

# Tests of the tests: a build of its own, and hours for all. MUTANTS="--folder ops" takes some, --help says more.
mutants: ## plant mistakes in a copy, one at a time, and list those that no test finds
	$(TESTS) tools/mutants.py --jobs $(JOBS) $(MUTANTS)

# A build of its own, which counts; not a part of `make test`.
coverage: ## run the C++ tests, and list how many lines of each folder of src/ they execute
	$(TESTS) $(SHELL) -ec 'cmake --preset coverage && cmake --build --preset coverage -j $(JOBS)'
	find build/coverage -name '*.gcda' -delete
	$(TESTS) $(CTEST) --test-dir build/coverage --label-exclude 'slow|frameworks|repository|install' --exclude-regex '_python_'
	tools/coverage.py build/coverage

# Timing decides no test; it is measured here, on a machine that should have nothing else to do.
bench: release ## training steps of Onward, PyTorch, Keras and ONNX Runtime side by side (a table, build/bench.json and .svg); WORK=cnn for one
	$(BUILD) cmake --build --preset release --target step_bench peak_bench
	bench/run.py --release build/release --torch "$$(tools/setup.py torch)" --keras "$$(tools/setup.py tensorflow)" \
	  --jax "$$(tools/setup.py keras-jax)" --ort "$$(tools/setup.py ort-training)" $(if $(WORK),--work $(WORK)) $(BENCH) \
	  --json build/bench.json --plot build/bench.svg

# The package of the release build in a folder of its own; the models, 250 MB, stay in the cache.
bench-inference: ## Onward and ONNX Runtime side by side on real files (a table, and build/bench-inference.json)
	$(TESTS) $(SHELL) -ec 'cmake --preset release -B build/release-python -DONWARD_PYTHON=ON && \
	  cmake --build build/release-python -j $(JOBS) --target _core'
	$(TESTS) sh -c 'exec "$$ONWARD_TEST_PYTHON" -B bench/inference.py --package build/release-python/python \
	  --cache "$$(dirname "$$ONWARD_TOOLS")/inference-models" --json build/bench-inference.json'

program: ## build the program, and print its path (and nothing else) on stdout
	@$(MAKE) release TARGET=onward >&2
	@echo $(CURDIR)/build/release/onward

# A build folder of its own keeps what is compiled, so that a second time only changes are. What `make program` has
# compiled comes from the compiler's cache.
python: ## build the Python package, and print the path of a Python that imports it (and nothing else)
	@$(PACKAGE) python3 -m venv build/python >&2
	@$(PACKAGE) build/python/bin/pip install --verbose . >&2
	@echo $(CURDIR)/build/python/bin/python

wheel: ## build a wheel with program and package for any Python from 3.10 on, and print its path
	@$(PACKAGE) tools/wheel.sh build/dist

dist: ## build a tarball of program, library and headers, and print its path
	@$(MAKE) release >&2
	@$(BUILD) tools/dist.sh build/release build/dist

release: ; $(BUILD) $(SHELL) -ec 'cmake --preset $@ && cmake --build --preset $@ -j $(JOBS) --target $(TARGET) && \
	  echo "building Onward: $$SECONDS s"'
dev ci asan: ; $(TESTS) $(SHELL) -ec 'cmake --preset $@ && cmake --build --preset $@ -j $(JOBS)'

format: ## lay the C++ files out
	$(CPP_FILES) | $(TESTS) xargs -r clang-format-19 -i

format-check: ## fails where `make format` would change a file
	$(CPP_FILES) | $(TESTS) xargs -r clang-format-19 --dry-run --Werror

tidy: ## clang-tidy, on the files that changed since it last passed
	$(TESTS) cmake --preset asan
	$(TESTS) tools/tidy.py build/asan $(JOBS)

clean: ## remove all builds of this clone; the cache in the home folder stays
	rm -rf build

# Whinchat: what people do with this checkout. `make` alone prints this list.
#   make run      install what running needs, build, get a model, chat (PROMPT="..." for one answer)
#   make serve    the same, then the OpenAI-compatible server on port 8000
#   make build    build/release/whinchat
#   make test     build and pass every test (what continuous integration runs; 25 minutes at most)
#   make test-full   the long tests: SLICES="tsan aarch64 fuzz faults", all of them by default
#   make bench    measure against llama.cpp on this machine
#   make format   format all sources        make lint   check format, sizes, layering, docs, clang-tidy
# MODEL= names the model: a path, or a name. Default: a local Qwen3-0.6B, else SmolLM2-135M-Instruct.
.PHONY: all help deps-run deps-test deps-full deps-bench build model run serve test test-full bench format lint

PROGRAM := build/release/whinchat
MODEL ?=
HOST ?= 127.0.0.1
PORT ?= 8000
JOBS ?= $(shell nproc)
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

all help:
	@sed -n 's/^#   //p;s/^# MODEL/MODEL/p' Makefile

deps-run deps-test deps-full deps-bench:
	@tools/deps.sh $(@:deps-%=%)

build: deps-run
	@cmake --preset release -DWHINCHAT_BUILD_TESTS=OFF $(LAUNCHER) >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target whinchat

# A model for MODEL=, or the default one if none is on this machine.
model: build
	@$(PROGRAM) which $(if $(MODEL),"$(MODEL)") >/dev/null 2>&1 || \
	  if [ -n "$(MODEL)" ]; then $(PROGRAM) which "$(MODEL)"; else tools/get_default_model.py >/dev/null; fi

# With neither a prompt nor a terminal there is still something to see.
run: model
	@if [ -z "$$PROMPT" ] && ! [ -t 0 ]; then PROMPT="What is the capital of France?"; fi; \
	  $(PROGRAM) run $(if $(MODEL),--model "$(MODEL)") $${PROMPT:+"$$PROMPT"}

serve: model
	@$(PROGRAM) serve $(if $(MODEL),--model "$(MODEL)") --host $(HOST) --port $(PORT)

test: deps-run deps-test
	@tools/test.sh

test-full: deps-run deps-test deps-full
	@tools/test_full.sh $(SLICES)

bench: deps-run deps-bench build
	@bench/compare

format lint: deps-run deps-test
	@tools/$@.sh

export PROMPT

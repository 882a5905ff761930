# make, or make help, says what there is.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TOOL     := go tool -modfile=tools/go.mod
FUZZTIME ?= 5s
BENCH    ?= .
COUNT    ?= 1
BENCHTIME ?= 1s
SEEDS    ?= 1000

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | while IFS=: read -r name rest; do printf '  %-14s%s\n' "$$name" "$${rest##*## }"; done

.PHONY: fmt
fmt: ## format all Go code
	$(TOOL) golangci-lint fmt

.PHONY: lint
lint: ## vet, style, and who may import whom
	$(TOOL) golangci-lint run

.PHONY: test
test: ## the tests
	go test ./...

.PHONY: race
race: ## the tests under the race detector
	go test -race ./...

.PHONY: fuzz-short
fuzz-short: ## every fuzz target for FUZZTIME (5s)
	FUZZTIME=$(FUZZTIME) .ci/fuzz

.PHONY: bench
bench: ## every benchmark; BENCH=regexp COUNT=1 BENCHTIME=1s
	@packages=$$(.ci/targets '^Benchmark' | cut -d' ' -f1 | sort -u); \
	if [[ -z $$packages ]]; then echo "there are no benchmarks"; exit; fi; \
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) $$packages

.PHONY: bench-compare
bench-compare: ## two outputs of make bench side by side: OLD=bench-a.txt NEW=bench-b.txt
	$(TOOL) benchstat $(OLD) $(NEW)

.PHONY: explore
explore: ## the exhaustive explorer (tests named TestExplore…), with what it visited
	@targets=$$(.ci/targets '^TestExplore'); \
	if [[ -z $$targets ]]; then echo "there are no explorations"; exit; fi; \
	go test -count=1 -v -run '^TestExplore' $$(cut -d' ' -f1 <<<"$$targets" | sort -u)

.PHONY: sim
sim: ## 1,000 seeds of the simulated swarm; SEEDS=n
	go test ./runtime -count=1 -timeout 15m -run '^TestSim$$' -seeds $(SEEDS)

.PHONY: generate
generate: ## everything that is written by a program, the README's code among it
	go generate ./...

.PHONY: readme
readme: ## copy the examples' code into README.md
	go generate ./internal/readme

.PHONY: check
check: ## all that CI runs
	.ci/run

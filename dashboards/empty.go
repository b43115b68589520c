package dashboards

import (
	"regexp"
	"strings"
)

// noDataTexts holds the texts that panels show in place of "No data": the first whose pattern
// matches a query applies. Panels with a single number have room only for its beginning.
//
//nolint:gochecknoglobals // constant data.
var noDataTexts = []struct{ pattern, text string }{
	{`^count\(ALERTS`, "Rules not loaded: Prometheus has not loaded the rules."},
	{`ALERTS`, "No alert fires. If Alerts firing above has no value, Prometheus has not loaded the rules."},
	{
		`slo:llm_server_`,
		"No objective: set slo of a pool in the exporter's configuration. If it is set, LLMSLOBlind and /targets " +
			"show why it is not measured.",
	},
	{
		`llm_server_(pool_)?canary_`,
		"No canary: set canary.enabled of a pool in the exporter's configuration. If it is set, the reason is " +
			"on /targets.",
	},
	{
		`llm_server_version_|pool_version:`,
		"No Triton serves two versions of a model, or none counts tokens by version.",
	},
	{`expectation_mismatch`, "No expectations: no selected pool has expect in the exporter's configuration."},
	{
		`requests_routing`,
		"No routers: only Dynamo's frontend with its KV router shows a queue. For others see Waiting by tier.",
	},
	{`_stage_`, "No stages: only trtllm-serve's disaggregated orchestrator counts what it sends to prefill and decode."},
	{`requests_migrated`, "No migrations: only Dynamo's frontend counts them, and none happened."},
	{
		`cached_by_tier`,
		"No hits by tier: vLLM, SGLang and trtllm-serve count them in newer releases; docs/servers.md lists which. " +
			"Or Prometheus has not loaded the rules.",
	},
	{
		`kv_cache_(onboard|offload)`,
		"Not exposed: trtllm-serve with iteration statistics has it. Or Prometheus has not loaded the rules.",
	},
	{`disaggregated`, "No disaggregated requests: prefill and decode run in the same server."},
	{
		`transfer_failures`,
		"Not counted: SGLang counts failed transfers, and vLLM with NIXL or Mooncake. For Dynamo and trtllm-serve " +
			"see the errors of their frontends. Or Prometheus has not loaded the rules.",
	},
	{
		`kv_cache_transfer`,
		"No transfers: prefill and decode run in the same server, or it shows none. SGLang, vLLM with NIXL or " +
			"Mooncake, Triton, and Dynamo's workers of TensorRT-LLM do; trtllm-serve does not. Or Prometheus has " +
			"not loaded the rules.",
	},
	{
		`pool_tier:llm_server_replicas_serving`,
		"No replicas: Prometheus does not scrape the exporter, or has not loaded the rules.",
	},
	{
		`gpu_|energy_`,
		"No GPU metrics: only Triton has them, with --allow-gpu-metrics=true and DCGM in its image. For other " +
			"servers run dcgm-exporter.",
	},
	{
		`inter_token_latency`,
		"No tokens in this time range, or no such histogram: Dynamo frontends, NIM, vLLM, SGLang, Triton's vLLM " +
			"backend and its metrics module have one. For other servers the canary measures the longest gap.",
	},
	{
		`time_per_output_token_average_seconds_estimate`,
		"No estimate: only for Triton, with histogram_latencies=true and models that do not stream.",
	},
	{
		`time_per_output_token`,
		"No requests completed in this time range, or no such histogram: trtllm-serve, Dynamo workers, vLLM since " +
			"0.11 and SGLang have one. For others see the time between tokens.",
	},
	{
		`model_first_response`,
		"No first responses: Triton needs --metrics-config histogram_latencies=true, and before 26.01 " +
			"decoupled models.",
	},
	{
		`llm_server_(time_to_first_token)`,
		"No first tokens in this time range, or no histogram: Triton needs --metrics-config " +
			"histogram_latencies=true and a decoupled model; doctor shows what a server lacks.",
	},
	{
		`request_duration_average`,
		"No requests completed in this time range, or their duration is not exposed: streaming Triton models " +
			"without the metrics module, vLLM with --disable-log-stats.",
	},
	{
		`request_duration_seconds|request_duration_(percentile|above)`,
		"No requests completed in this time range, or no histogram: Triton's executors have none. The mean " +
			"duration is under Phases.",
	},
	{
		`tier\) \(pool_tier_model:llm_server_request_`,
		"No phases: no request completed in this time range, or the servers do not expose them. trtllm-serve, its " +
			"orchestrator and vLLM do; Dynamo workers and SGLang expose the queue alone. Or Prometheus has not " +
			"loaded the rules.",
	},
	{
		`request_(queue|prefill|decode)_seconds`,
		"No requests completed in this time range, or no phases: trtllm-serve, Dynamo workers, vLLM and SGLang " +
			"expose them. For Triton see its models below.",
	},
	{
		`request_(prompt|generation)_tokens`,
		"No requests completed in this time range, or their lengths are not exposed: trtllm-serve, Dynamo workers, " +
			"streaming Triton models without the metrics module.",
	},
	{`signal_coverage`, "Unknown: the servers measure no latencies, or do not count all failures."},
	{
		`requests_finished`,
		"No requests completed in this time range, or no finish reasons: Triton has none without the metrics module.",
	},
	{
		`llm_server_model_(info|config_hash|state)`,
		"No models: only Triton's API lists them; /targets shows whether it answers.",
	},
	{
		`llm_server_model_`,
		"No requests to Triton models in this time range, or no durations for models that stream. Other servers do " +
			"not split requests into models.",
	},
	{
		`requests_rejected|requests_not_ok:rate\{[^}]*class="overload"`,
		"No rejections are counted: vLLM, SGLang, Dynamo frontends, trtllm-serve since 1.3 and Triton's metrics " +
			"module count them.",
	},
	{
		`requests_failed|requests_not_ok|requests_total`,
		"No failures, or they are not counted: streaming Triton models, trtllm-serve before 1.3, Dynamo workers.",
	},
	{`queue_hidden`, "No estimate: only for Triton with the C++ or Python executor, and after requests completed."},
	{
		`saturat|headroom|limited_by|fill_ratio|requests_(limit|running|active|waiting)|queue_(depth|requests)`,
		"Load unknown: no selected replica serves, or none exposes it. docs/servers.md lists what each kind of server " +
			"exposes, doctor shows which flags help. Or Prometheus has not loaded the rules.",
	},
	{
		`engine_iterations|iteration_|batch_size_average|requests_paused`,
		"Not exposed: TensorRT-LLM's batch manager has it (Triton, and trtllm-serve with iteration statistics); " +
			"vLLM and SGLang have some of it.",
	},
	{
		`engine_memory`,
		"Not exposed: TensorRT-LLM's batch manager has it (Triton, and trtllm-serve with iteration statistics).",
	},
	{
		`kv_cache_blocks\{`,
		"Not exposed: TensorRT-LLM's batch manager counts blocks (Triton, and trtllm-serve with iteration " +
			"statistics). For others see KV cache utilization.",
	},
	{
		`prompt_cache_hit|kv_cache_(blocks_reused|reuse)`,
		"Not counted: Triton counts blocks since 24.10 with the C++ backend; trtllm-serve, vLLM, SGLang and NIM 2 " +
			"count prompt tokens.",
	},
	{
		`kv_cache`,
		"Use of KV cache unknown: no selected replica serves, or none exposes it, such as Dynamo without its KV router, " +
			"Triton without the batch manager or its metrics module, vLLM with --disable-log-stats. doctor shows which " +
			"flags help.",
	},
	{
		`cost_per|replicas_idle`,
		"No cost is declared: key cost of the pool says what a replica costs. Or Prometheus has not loaded the rules.",
	},
	{
		`pinned_memory|host_`,
		"Not exposed: only Triton has it, with --allow-cpu-metrics (host) and since 24.03 (pinned memory).",
	},
	{
		`_tokens(:rate|_per_second)`,
		"Tokens are not counted: Triton before 24.12, models without a batch manager or metrics module, " +
			"trtllm-serve before 1.3, Dynamo workers. Or Prometheus has not loaded the rules.",
	},
	{
		`target_(scrape_failures|series_dropped|derived_skipped)|http_requests`,
		"None of this happened since the exporters started.",
	},
	{
		`trtllm_exporter_`,
		"Exporter not scraped: Prometheus does not scrape it, or the selection matches no exporter, pool or replica.",
	},
	{
		`pool_skew`,
		"Nothing compared: no replica was read, or all pools differ on purpose. Or Prometheus has not loaded the rules.",
	},
	{`source_anomaly`, "No checks: none applies to what these servers expose."},
	{
		`determinism|capability`,
		"Unknown yet: the exporter asks replicas when they answer for the first time.",
	},
	{
		`llm_server_requests_per_second|llm_server_requests:rate`,
		"Requests are not counted, or Prometheus has not loaded the rules.",
	},
	{`llm_server_`, "No replicas: Prometheus does not scrape the exporter, or the selection matches none."},
}

// setNoValue sets the text of a panel without data, unless it has one. Empty cells of
// tables get a dash.
func setNoValue(p *Panel) {
	if p.FieldConfig == nil {
		return
	}
	var exprs strings.Builder
	for _, q := range p.Targets {
		exprs.WriteString(q.Expr + "\n")
	}
	field := &p.FieldConfig.Defaults
	for _, n := range noDataTexts {
		if field.NoValue == "" && regexp.MustCompile(n.pattern).MatchString(exprs.String()) {
			field.NoValue = n.text
			if p.Type == "stat" || p.Type == "bargauge" {
				field.NoValue = strings.ToLower(n.text[:1]) + n.text[1:strings.IndexAny(n.text, ":,.")]
			}
		}
	}
	if p.Type == "table" {
		p.FieldConfig.Overrides = append(
			[]Override{override("byRegexp", "/.*/", Property{"noValue", "–"})},
			p.FieldConfig.Overrides...)
	}
}

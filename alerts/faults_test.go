package alerts_test

// signal is one series of a fault: what it is while all is well, and while it
// is not. The values of a counter are what it grows by in 15 seconds.
type signal struct {
	name, labels string
	good, bad    float64
	counter      bool
	// clock is true for a time that stops while things are bad.
	clock bool
}

// gone is the value of a series that is not there.
const gone = -1

// state are the series of a replica that goes from ready to another state.
func state(replica, to string) []signal {
	return []signal{
		{name: "llm_server_state", labels: `replica_id="` + replica + `",state="ready"`, good: 1},
		{name: "llm_server_state", labels: `replica_id="` + replica + `",state="` + to + `"`, bad: 1},
	}
}

// ofModel is a gauge of the model of the first replica.
func ofModel(name string, good, bad float64) signal {
	return signal{name: "llm_server_" + name, labels: `replica_id="r0",model_id="m"`, good: good, bad: bad}
}

// ofReplica is a gauge of a replica.
func ofReplica(name, labels string, good, bad float64) signal {
	return signal{name: name, labels: `replica_id="r0"` + labels, good: good, bad: bad}
}

// growing is a counter of a replica.
func growing(name, labels string, good, bad float64) signal {
	return signal{name: name, labels: `replica_id="r0"` + labels, good: good, bad: bad, counter: true}
}

// steady is a series that is the same all the time.
func steady(name, labels string, v float64) signal {
	return signal{name: name, labels: labels, good: v, bad: v}
}

// ready is a replica that is well.
func ready(replica string) signal {
	return steady("llm_server_state", `replica_id="`+replica+`",state="ready"`, 1)
}

// faults are what makes each alert fire.
func faults() map[string][]signal {
	const own = "trtllm_exporter_"
	up := ofReplica(own+"target_up", "", 1, 1)
	running := ofModel("requests_running", 3, 3)
	gpu := func(id string, bad float64) signal {
		return ofReplica("llm_server_gpu_memory_total_bytes", `,gpu_uuid="`+id+`"`, 80e9, bad)
	}
	objective := steady("llm_server_slo_objective", `slo="ttft"`, 0.995)
	counted := func(bad float64) signal {
		return growing("llm_server_slo_requests_total", `,model_id="m",slo="ttft"`, 75, bad)
	}
	slo := func(bad float64) []signal {
		return []signal{objective, counted(75), growing("llm_server_slo_requests_bad_total", `,model_id="m",slo="ttft",bound="lower"`, 0, 75*bad)}
	}
	slow := func(replica string, bad float64) signal {
		return signal{name: "llm_server_request_duration_average_seconds", labels: `replica_id="` + replica + `",model_id="m"`, good: 4, bad: bad}
	}
	return map[string][]signal{
		"LLMPoolDown":            state("r0", "down"),
		"LLMPoolDegraded":        append(state("r0", "not_ready"), ready("r1")),
		"LLMPoolGone":            {ready("r0").turns(gone)},
		"LLMReplicasGone":        {ready("r0"), ready("r1").turns(gone), ready("r2").turns(gone), ready("r3").turns(gone)},
		"LLMReplicasFew":         append(append(state("r0", "not_ready"), ready("r1")), steady("llm_server_pool_replicas_expected", `bound="lower"`, 2)),
		"LLMReplicasMany":        {ready("r0"), steady("llm_server_pool_replicas_expected", `bound="upper"`, 2).turns(0)},
		"LLMReplicaDown":         append(state("r0", "down"), ready("r1")),
		"LLMReplicaStartingLong": append(state("r0", "starting"), ready("r1")),
		"LLMReplicaNotReady":     append(state("r0", "not_ready"), ready("r1")),
		"LLMReplicaUnserved":     append(state("r0", "unserved"), ready("r1")),
		"LLMReplicaFailing":      append(state("r0", "failing"), ready("r1")),
		"LLMReplicaBlind":        append(state("r0", "blind"), ready("r1")),
		"LLMReplicaDrainingLong": append(state("r0", "draining"), ready("r1")),
		"LLMReplicaStalled":      append(state("r0", "stalled"), ready("r1")),
		"LLMReplicaRestarts":     {growing(own+"target_restarts_total", "", 0, 0.05), up},
		"LLMModelUnavailable": {
			ofReplica("llm_server_model_state", `,model_id="m",model="engine",state="ready"`, 1, 0),
			ofReplica("llm_server_model_state", `,model_id="m",model="engine",state="unavailable"`, 0, 1),
		},
		"LLMCanaryFailing":       {ofModel("canary_success", 1, 0)},
		"LLMCanaryOutputsDiffer": {steady("llm_server_pool_canary_outputs", "", 1).turns(2)},
		"LLMCanaryNotRunning":    {ofReplica("llm_server_canary_active", "", 1, 0), ready("r0")},
		"LLMPoolSkew":            {steady("llm_server_pool_skew", `fact="gpu"`, 0).turns(1)},
		"LLMExpectationMismatch": {ofReplica("llm_server_expectation_mismatch", `,fact="gpu"`, 0, 1)},
		"LLMDeterminismBroken":   {ofReplica("llm_server_expectation_mismatch", `,fact="determinism"`, 0, 1)},
		"LLMSourceAnomaly":       {ofReplica("llm_server_source_anomaly", `,model_id="m",check="engine_zero"`, 0, 1)},
		"LLMCapabilityLost":      {ofReplica("llm_server_capability", `,capability="kv"`, 1, 0), ready("r0")},
		"LLMPoolSaturated":       {ofModel("saturated", 0, 1)},
		"LLMQueueLong":           {ofModel("queue_depth", 0, 100), ofModel("requests_limit", 64, 64)},
		"LLMRequestsRefused":     {ofModel("requests_per_second", 10, 10), ofReplica("llm_server_request_error_ratio", `,model_id="m",class="overload"`, 0, 0.5)},
		"LLMPoolImbalanced": {
			ofModel("requests_fill_ratio", 0.6, 1),
			{name: "llm_server_requests_fill_ratio", labels: `replica_id="r1",model_id="m"`, good: 0.5, bad: 0.1},
		},
		"LLMReplicaSlow":        {slow("r0", 12), slow("r1", 4), slow("r2", 4)},
		"LLMKVCacheFull":        {ofModel("kv_cache_utilization_ratio", 0.5, 0.97)},
		"LLMKVCachePauses":      {ofModel("requests_paused", 0, 1)},
		"LLMReplicaSuspected":   {ofReplica("llm_server_suspected", "", 0, 1)},
		"LLMGPUMissing":         {gpu("a", 80e9), gpu("b", gone), ready("r0")},
		"LLMGPUIdle":            {ofReplica("llm_server_gpu_utilization_ratio", `,gpu_uuid="a"`, 0.9, 0.01), running},
		"LLMSLOBurnFast":        slo(1),
		"LLMSLOBurnSlow":        slo(0.02),
		"LLMSLOUnmeasured":      {ofReplica("llm_server_slo_measured", `,slo="ttft"`, 1, 0)},
		"LLMSLONotCounted":      {objective, counted(0), growing("llm_server_requests_total", `,model_id="m",class="ok"`, 75, 75)},
		"LLMRequestsSlow":       {ofModel("request_duration_average_seconds", 5, 90)},
		"LLMExporterDown":       {steady("up", "", 1).turns(0), steady(own+"targets", "", 8)},
		"LLMSidecarDown":        {steady("up", "", 1).turns(0), steady(own+"targets", "", 1)},
		"LLMShardMissing":       {steady(own+"shards", `shard="0"`, 1).turns(2)},
		"LLMPoolWithoutTargets": {steady(own+"targets", "", 1).turns(0)},
		"LLMScrapesFailing": {
			growing(own+"target_scrape_failures_total", `,reason="timeout"`, 0, 3), growing(own+"target_scrapes_total", "", 3, 3),
			ofReplica(own+"target_up", "", 1, 0),
		},
		"LLMScrapesSkipped":       {growing(own+"target_scrapes_skipped_total", "", 0, 1), up},
		"LLMSnapshotStale":        {{name: own + "target_last_success_timestamp_seconds", labels: `replica_id="r0"`, good: 1, clock: true}, up},
		"LLMSeriesDropped":        {growing(own+"target_series_dropped_total", `,reason="limit"`, 0, 5), up},
		"LLMTargetsRefused":       {steady(own+"targets_refused", "", 0).turns(1)},
		"LLMExporterReloadFailed": {steady(own+"config_last_reload_successful", "", 1).turns(0)},
		"LLMDiscoveryFailing":     {{name: own + "discovery_failures_total", labels: `mechanism="dns"`, bad: 1, counter: true}},
		"LLMExporterPageLarge":    {steady(own+"page_bytes", "", 1e6).turns(1.3e7)},
		"LLMMetadataConflict":     {steady(own+"metadata_conflicts", `kind="type"`, 0).turns(1)},
		"LLMExporterPanics":       {{name: own + "panics_total", bad: 1, counter: true}, {name: own + "http_panics_total", counter: true}},
	}
}

// turns gives a series a value for the time of the fault.
func (s signal) turns(bad float64) signal {
	s.bad = bad
	return s
}

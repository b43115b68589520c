package alerts_test

// signal is a series of a fault, with its values before and during it. Values of a counter are
// its increase per second.
type signal struct {
	name      string
	labels    map[string]string
	good, bad float64
	counter   bool
}

// fault makes one alert fire, and no other.
type fault struct {
	// The fault, and its alert.
	what, alert string
	// signals belong to a replica of a pool, unless their labels differ.
	signals []signal
}

// labelSet returns labels from pairs.
func labelSet(pairs ...string) map[string]string {
	l := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		l[pairs[i]] = pairs[i+1]
	}
	return l
}

// ofModel returns a gauge of a model of a replica.
func ofModel(replica, name string, good, bad float64) signal {
	return signal{
		name:   "llm_server_" + name,
		labels: labelSet("pool_id", "p", "replica_id", replica, "model_id", "m"),
		good:   good,
		bad:    bad,
	}
}

// ofReplica returns a gauge of the first replica.
func ofReplica(name string, good, bad float64, labels ...string) signal {
	return signal{
		name:   name,
		labels: labelSet(append([]string{"pool_id", "p", "replica_id", "p-0"}, labels...)...),
		good:   good,
		bad:    bad,
	}
}

// ofPool returns a gauge of the pool.
func ofPool(name string, good, bad float64, labels ...string) signal {
	return signal{name: name, labels: labelSet(append([]string{"pool_id", "p"}, labels...)...), good: good, bad: bad}
}

// counts returns the signal as a counter.
func (s signal) counts() signal {
	s.counter = true
	return s
}

// faults returns a fault for each warning and info alert that no scenario covers.
func faults() []fault {
	const own = "trtllm_exporter_"
	up := ofReplica(own+"target_up", 1, 1)
	objective := ofPool("llm_server_slo_objective", 0.995, 0.995, "slo", "ttft")
	measured := func(replica string, bad float64) signal {
		return signal{
			name:   "llm_server_slo_measured",
			labels: labelSet("pool_id", "p", "replica_id", replica, "slo", "ttft"),
			good:   1,
			bad:    bad,
		}
	}
	deterministic := ofReplica("llm_server_expectation_mismatch", 0, 0, "fact", "determinism")
	return []fault{
		{"the canary of a replica fails", "LLMCanaryFailing", []signal{ofModel("p-0", "canary_success", 1, 0)}},
		{
			"a replica gets no canary requests", "LLMCanaryFailing",
			[]signal{ofReplica("llm_server_canary_active", 1, 0)},
		},
		{
			"replicas of a deterministic pool answer the same request differently", "LLMCanaryOutputsDiffer",
			[]signal{ofPool("llm_server_pool_canary_outputs", 1, 2), deterministic},
		},
		{
			"a replica of a deterministic pool answers otherwise than before", "LLMCanaryOutputsDiffer",
			[]signal{ofModel("p-0", "canary_deterministic", 1, 0), deterministic},
		},
		{"replicas have different GPUs", "LLMPoolSkew", []signal{ofPool("llm_server_pool_skew", 0, 1, "fact", "gpu")}},
		{
			"a replica has an unexpected version", "LLMExpectationMismatch",
			[]signal{ofReplica("llm_server_expectation_mismatch", 0, 1, "fact", "engine_version")},
		},
		{
			"a replica of a deterministic pool is not deterministic", "LLMExpectationMismatch",
			[]signal{ofReplica("llm_server_expectation_mismatch", 0, 1, "fact", "determinism")},
		},
		{"a model of one replica is unloaded", "LLMModelUnavailable", []signal{
			ofReplica("llm_server_model_state", 1, 0, "model_id", "m", "model", "m", "state", "ready"),
			ofReplica("llm_server_model_state", 0, 1, "model_id", "m", "model", "m", "state", "unavailable"),
			{
				name:   "llm_server_model_state",
				labels: labelSet("pool_id", "p", "replica_id", "p-1", "model_id", "m", "model", "m", "state", "ready"),
				good:   1,
				bad:    1,
			},
		}},
		{
			"replicas are saturated", "LLMPoolSaturated",
			[]signal{ofModel("p-0", "saturated", 0, 1), ofModel("p-1", "saturated", 0, 1)},
		},
		{
			"requests wait", "LLMPoolSaturated",
			[]signal{ofModel("p-0", "queue_depth", 0, 100), ofModel("p-0", "requests_limit", 64, 64)},
		},
		{"a tenth of the requests is refused", "LLMPoolSaturated", []signal{
			ofModel(
				"p-0",
				"requests_per_second",
				10,
				10,
			), ofReplica("llm_server_request_error_ratio", 0, 0.1, "model_id", "m", "class", "overload"),
		}},
		{"a replica is suspected", "LLMReplicaSuspected", []signal{ofReplica("llm_server_suspected", 0, 1)}},
		{"a replica lost a GPU", "LLMGPUMissing", []signal{
			ofReplica(
				"llm_server_gpu_memory_total_bytes",
				80e9,
				80e9,
				"gpu_uuid",
				"a",
			), ofReplica("llm_server_gpu_memory_total_bytes", 80e9, absent, "gpu_uuid", "b"),
		}},
		{
			"three of four replicas cannot measure the objective",
			"LLMSLOBlind",
			[]signal{objective, measured("p-0", 1), measured("p-1", 0), measured("p-2", 0), measured("p-3", 0)},
		},
		{
			"a replica restarts repeatedly", "LLMReplicaRestarts",
			[]signal{ofReplica(own+"target_restarts_total", 0, 0.003).counts(), up},
		},
		{"some scrapes of a replica fail", "LLMReplicaUnreadable", []signal{
			ofReplica(own+"target_scrape_failures_total", 0, 0.05, "reason", "timeout").counts(),
			ofReplica(own+"target_scrapes_total", 0.2, 0.2).counts(),
			ofReplica(own+"target_up", 1, 0.5),
		}},
		{
			"a replica's page is old though it counts as up", "LLMReplicaUnreadable",
			[]signal{ofReplica(own+"target_last_success_timestamp_seconds", 1, 0).counts(), up},
		},
		{"two targets have the same name", "LLMDiscovery", []signal{ofPool(own+"targets_refused", 0, 1)}},
		{
			"discovery fails", "LLMDiscovery",
			[]signal{ofPool(own+"discovery_failures_total", 0, 0.1, "mechanism", "dns").counts()},
		},
		{"relabeling drops pool_id", "LLMExporterUnhealthy", []signal{{name: own + "targets", good: absent, bad: 4}}},
		{"a reload fails", "LLMExporterReloadFailed", []signal{{name: own + "config_last_reload_successful", good: 1}}},
	}
}

// scenario returns the fault as a scenario, in which it ends after forty minutes.
func (f *fault) scenario() scenario {
	return scenario{name: f.what, only: f.alert, build: func(fl *fleet) {
		e := fl.exporter("e", always(1))
		e.pool("p", 4, ready)
		for _, s := range f.signals {
			at := between(0, 40, s.bad, always(s.good))
			switch {
			case s.name == "trtllm_exporter_target_up" && s.bad == 0.5:
				at = between(0, 40, 0, always(1))
				e.write(s.name, s.labels, func(step int) float64 {
					if step%(2*minute) < minute {
						return 1
					}
					return at(step)
				})
			case s.counter:
				e.counter(s.name, s.labels, at)
			default:
				e.write(s.name, s.labels, at)
			}
		}
	}}
}

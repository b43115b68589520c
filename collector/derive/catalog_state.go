package derive

// stateFamilies speak of the replica beside its page; the collector says them
// also while the page is not to be had.
func stateFamilies() []Family {
	return []Family{
		{
			Name: "state", Type: gauge, Grade: Sampled, Labels: []string{"state"}, Engines: withEngines(),
			Help:    "What the replica is doing, judged from its page and its API together: 1 for the one state that holds, 0 for the others.",
			Formula: "page answers, API answers, requests only fail, iterations stand still",
		},
		{
			Name: "live", Type: gauge, Grade: Exact, Engines: withEngines(),
			Help:    "1 if the server says it is live, else 0; absent when its API does not answer.",
			Formula: "GET /v2/health/live and its like",
		},
		{
			Name: "ready", Type: gauge, Grade: Exact, Engines: withEngines(),
			Help:    "1 if the server says it is ready, else 0. A server whose requests all fail may say so too: see llm_server_state.",
			Formula: "GET /v2/health/ready and its like",
		},
		{
			Name: "health_probe_duration_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Engines: withEngines(),
			Help:    "How long the last question about the server's health took.",
			Formula: "measured by the exporter",
		},
		{
			Name: "model_ready", Type: gauge, Grade: Exact, Labels: []string{"model", "model_id", "version"}, Engines: withTriton(),
			Help:    "1 if the repository index says the model is ready, else 0.",
			Formula: "POST /v2/repository/index",
		},
	}
}

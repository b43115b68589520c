package engine

// Capability is one thing that can or cannot be known of a replica.
type Capability struct {
	// Name is one of [CapabilityNames].
	Name string
	// Has says whether the replica tells it now.
	Has bool
	// Reason says from what it is known, or why it is not; for people.
	Reason string
	// Cure is what turns it on at the server; empty when nothing does, or when
	// nothing need be done.
	Cure string
}

// The capabilities.
const (
	CanTokens     = "tokens"
	CanLiveTokens = "live_tokens"
	CanQueue      = "queue"
	CanRunning    = "running"
	CanTTFT       = "ttft"
	CanTPOT       = "tpot"
	CanE2E        = "e2e"
	CanQuantiles  = "quantiles"
	CanKVCache    = "kv_cache"
	CanKVReuse    = "kv_reuse"
	CanGPU        = "gpu"
	CanHealth     = "health"
	CanConfig     = "config"
)

// CapabilityNames lists the capabilities in the order in which they are shown.
func CapabilityNames() []string {
	return []string{
		CanTokens, CanLiveTokens, CanQueue, CanRunning, CanTTFT, CanTPOT, CanE2E, CanQuantiles,
		CanKVCache, CanKVReuse, CanGPU, CanHealth, CanConfig,
	}
}

// Known is what is known of a replica when its capabilities are judged.
type Known struct {
	Kind Kind
	// Page is nil when the last scrape failed; then MissingPage may say that
	// the server has none: it answered 404.
	Page        *Page
	MissingPage bool
	Facts       *Facts
	Health      Health
	// Canary is true where the replica is probed.
	Canary bool
}

// Ways out that more than one capability has.
const (
	cureClient    = "use trtllm-serve, or measure it at the client"
	cureCanary    = "canary: { enabled: true } in the pool, for requests of its own; or measure it at the client"
	cureNewServe  = "TensorRT-LLM 1.3 or later"
	cureIteration = "enable_iter_perf_stats: true"
	curePerf      = "return_perf_metrics: true"
	cureGPUs      = "--allow-gpu-metrics=true with DCGM in the image, and no TRITON_SERVER_CPU_ONLY"
	cureDCGM      = "run the DCGM exporter beside it"
	cureLLMAPI    = "use trtllm-serve, or measure it at the client"
)

// verdict is how one capability turned out.
type verdict struct {
	has          bool
	reason, cure string
}

// yes and no are verdicts.
func yes(reason string) verdict      { return verdict{true, reason, ""} }
func no(reason, cure string) verdict { return verdict{false, reason, cure} }
func (v verdict) as(name string) Capability {
	return Capability{Name: name, Has: v.has, Reason: v.reason, Cure: v.cure}
}

// Capabilities judges what can be known of a replica, in the order of
// [CapabilityNames]: nil while nothing is known of it, as when it is down.
func Capabilities(k *Known) []Capability {
	if k.Page == nil && !k.MissingPage {
		return nil
	}
	var judge func(*Known, string) verdict
	switch k.Kind {
	case Triton, TritonOpenAI:
		judge = judgeTriton
	case TRTLLMServe:
		judge = judgeServe
	case NIM:
		judge = judgeNIM
	case Dynamo:
		judge = judgeDynamo
	case Unknown:
		return nil
	}
	all := make([]Capability, 0, len(CapabilityNames()))
	for _, name := range CapabilityNames() {
		var v verdict
		switch name {
		case CanHealth:
			v = k.health()
		case CanConfig:
			v = k.config()
		case CanTTFT:
			v = k.orCanary(judge(k, name))
		default:
			v = judge(k, name)
		}
		all = append(all, v.as(name))
	}
	return all
}

// orCanary takes the canary for the source of what a server itself does not
// tell, where it is on and can ask.
func (k *Known) orCanary(v verdict) verdict {
	version := ""
	if k.Facts != nil {
		version = k.Facts.EngineVersion
	}
	if _, why := StreamOf(k.Kind, version, k.Page); v.has || !k.Canary || why != "" {
		return v
	}
	return yes("the canary, of its own requests only: llm_server_canary_time_to_first_token_seconds; of the server: " + v.reason)
}

// health judges whether the server's API speaks of its health.
func (k *Known) health() verdict {
	switch k.Health.API {
	case APIReady, APINotReady:
		if k.Kind == Dynamo {
			return yes("the API answers, though a frontend is healthy whatever its workers do and a worker may say notready while it serves")
		}
		return yes("the API says whether it is ready")
	case APIRefused:
		return no("nothing listens on the API's address", "set api_port if the API is elsewhere; a server with its HTTP API off tells nothing")
	case APIFailed:
		if k.Health.Status == 401 || k.Health.Status == 403 {
			return no(k.Health.Detail, "http_headers with the header of the restricted API")
		}
		return no(k.Health.Detail, "")
	case APIUnknown:
	}
	return no("the API was not asked yet, or its address is not known", "set api_port")
}

// config judges whether the server tells how it is configured.
func (k *Known) config() verdict {
	if k.Facts != nil {
		for i := range k.Facts.Models {
			if k.Facts.Models[i].Configured {
				return yes("the configs of its models")
			}
		}
	}
	if k.Page.Shows("model_config_info") {
		return yes("the config info on its page")
	}
	if k.MissingPage && k.Kind == TRTLLMServe {
		return judgeServe(k, CanConfig)
	}
	switch k.Kind {
	case Triton:
		return k.noConfig()
	case TritonOpenAI:
		return no("the OpenAI frontend tells no configs", "--enable-kserve-frontends, and the kind triton with its ports")
	case TRTLLMServe:
		return no("this release has no config info on its page", cureNewServe)
	case NIM, Dynamo, Unknown:
	}
	return no("this kind of server tells no config", "")
}

// noConfig says why Triton tells no config of a model.
func (k *Known) noConfig() verdict {
	if k.Facts == nil || len(k.Facts.Problems) == 0 {
		return no("the API told no config of a model", "set api_port")
	}
	for _, p := range k.Facts.Problems {
		if p.Restricted {
			return no(p.Question+": "+p.Reason, "http_headers with the header of the restricted API")
		}
	}
	p := k.Facts.Problems[0]
	return no(p.Question+": "+p.Reason, "")
}

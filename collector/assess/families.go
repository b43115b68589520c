package assess

import (
	"slices"
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// family is an entry of the catalogue about a replica, and how its series follow
// from what is known of the replica.
type family struct {
	derive.Family

	series func(k *Known, add adder)
}

// adder adds a series with further labels, given as names and values; empty values are
// no labels.
type adder func(v float64, pairs ...string)

// hashShown is how much of a hash is in a label; /targets has the whole.
const hashShown = 12

// families are made once for all replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var families = sync.OnceValue(func() []family {
	about := derive.AboutReplica
	return []family{
		{about("model_ready", derive.OfModel, []string{"version"},
			"1 if the repository index says the model is ready, else 0.",
			"POST /v2/repository/index", engine.AnswersIndex), (*Known).modelsReady},
		{about("model_state", derive.OfModel, []string{"state", "version"},
			"What the model is doing: 1 for the one of ready, loading, unloading and unavailable that it is, 0 for the others. A model whose core series left /metrics is unavailable, whatever other series of it are left.",
			"POST /v2/repository/index, and nv_inference_request_success on /metrics", engine.AnswersIndex, engine.AnswersModels), eachModel(stateSeries)},
		{about("model_info", derive.OfModel, []string{"backend", "decoupled", "dynamic_batching", "instance_count", "max_batch_size", "platform", "role", "version"},
			"1 with what is known of the model: its role (entry, part or single) and what its config says. What is not known is left out.",
			"GET /v2/models/{model}/config, /v1/models", engine.AnswersIndex, engine.AnswersModels), eachModel(infoSeries)},
		{about("model_parameters_info", derive.OfModel, engine.ModelParameters(),
			"1 with those parameters of the model's config that decide how TensorRT-LLM batches and what it loads.",
			"parameters of GET /v2/models/{model}/config", engine.AnswersConfig), eachConfig(parameterSeries)},
		{about("model_config_hash_info", derive.OfModel, []string{"sha256"},
			"1 with the beginning of the SHA-256 of the model's config. Instance names, GPUs, host policies, metric tags and parameters that name devices or processes do not count.",
			"GET /v2/models/{model}/config as canonical JSON", engine.AnswersConfig), eachConfig(func(m *target.Model, add adder) {
			if m.ConfigHash != "" {
				add(1, "sha256", m.ConfigHash[:hashShown])
			}
		})},
		{about("engine_build_info", derive.OfReplica, []string{"version"},
			"1 with the version of TensorRT-LLM that built the engine; absent unless engine_dir names the folder it is in.",
			"version in the config.json of engine_dir"), func(k *Known, add adder) {
			if v := k.BuildVersion(); v != "" {
				add(1, "version", v)
			}
		}},
		{about("expectation_mismatch", derive.OfReplica, []string{"fact"},
			"1 for each fact in which the replica is not what the pool's expect block says, 0 for those in which it is; absent while it is not known.",
			"expect of the pool against what the server answers"), checksOf(Expected)},
		{about("slo_measured", derive.OfReplica, []string{"slo"},
			"1 for each objective of key slo in the pool's configuration that is measured at the replica, 0 for those that are not; absent while no request has ended that could show it. The reason is on /targets and in the output of doctor.",
			"buckets of the histogram against the target, counters of failures"), checksOf(Objectives)},
		{about("capability", derive.OfReplica, []string{"capability"},
			"1 for what can be known of the replica, 0 for what its server does not expose as it runs now. The reason, and the flag that turns it on, are on /targets and in the output of doctor.",
			"kind of server, generation, names on /metrics, answers of the API"), checksOf(Capabilities)},
		{about("determinism_profile", derive.OfReplica, []string{"check"},
			"1 for each condition of equal answers to equal requests that the replica meets, 0 for others; absent where nothing is known. The reason is on /targets.",
			"configs of the models, limit of requests, versions declared or expected"), checksOf(Determinism)},
	}
})

// checksOf are the series of a list of checks.
func checksOf(name string) func(*Known, adder) {
	return func(k *Known, add adder) {
		list := Lists()[slices.IndexFunc(Lists(), func(l List) bool { return l.Name == name })]
		for _, c := range k.List(name) {
			add(flag(c.OK != list.Negated), list.Label, c.Name)
		}
	}
}

// modelsReady is what the repository index says of each model.
func (k *Known) modelsReady(add adder) {
	seen := make(map[[2]string]bool)
	for i, m := range k.Health.Models {
		row := [2]string{m.Name, m.Version}
		if i == modelsShown {
			break
		}
		if seen[row] {
			continue // One that is listed twice is as its first row says, as in describe.
		}
		seen[row] = true
		add(flag(m.State == engine.ModelReady), "model", m.Name, "version", m.Version, "model_id", k.modelID(m.Name))
	}
}

// eachModel are series of every version of a model that is known.
func eachModel(series func(m *target.Model, add adder)) func(*Known, adder) {
	return func(k *Known, add adder) {
		for i := range k.Models {
			m := &k.Models[i]
			series(m, func(v float64, pairs ...string) { add(v, append(pairs, "model", m.Name, "model_id", m.ModelID)...) })
		}
	}
}

// eachConfig are series of every model that is known, whose versions have one config.
func eachConfig(series func(m *target.Model, add adder)) func(*Known, adder) {
	return func(k *Known, add adder) {
		var before string
		eachModel(func(m *target.Model, add adder) {
			if m.Name != before {
				series(m, add)
			}
			before = m.Name
		})(k, add)
	}
}

// stateSeries say what a model does.
func stateSeries(m *target.Model, add adder) {
	if m.State == "" {
		return
	}
	for _, s := range modelStates() {
		add(flag(m.State == s), "version", m.Version, "state", s)
	}
}

// infoSeries say what a model is.
func infoSeries(m *target.Model, add adder) {
	add(1, "version", m.Version, "role", m.Role, "backend", m.Backend, "platform", m.Platform,
		"max_batch_size", written(m.MaxBatchSize), "instance_count", written(m.Instances),
		"decoupled", written(m.Decoupled), "dynamic_batching", written(m.Batching))
}

// parameterSeries are those of a model's config.
func parameterSeries(m *target.Model, add adder) {
	var pairs []string
	for name, value := range m.Parameters {
		pairs = append(pairs, name, value)
	}
	if len(pairs) > 0 {
		add(1, pairs...)
	}
}

package assess

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Catalogue returns all families about servers.
func Catalogue() []derive.Family {
	all := slices.Clone(derive.Catalogue())
	for i := range families() {
		all = append(all, families()[i].Family)
	}
	state := derive.ReplicaFamily("state", derive.OfReplica, []string{"state"},
		"1 for the replica's current state, 0 for some others.",
		"/metrics answers, API answers, only failures end, nothing moves while requests are in flight, the answer "+
			"to a request of the exporter")
	state.Grade = derive.Sampled
	all = append(all, state)
	for i := range moments() {
		all = append(all, moments()[i].Family)
	}
	return append(all, canary.Catalogue()...)
}

// family is an entry of the catalogue whose series depend on findings.
type family struct {
	derive.Family

	series func(f *Findings, add adder)
}

// adder adds a series with additional labels, given as pairs of name and value; labels with empty
// values are omitted.
type adder func(v float64, pairs ...string)

//nolint:gochecknoglobals // constant data, built on first use.
var families = sync.OnceValue(func() []family {
	about := derive.ReplicaFamily
	return []family{
		{
			about("model_state", derive.OfModel, []string{"state", "version"},
				"1 for the model's current state, 0 for some others.",
				"the repository index or the list of models, and the models on /metrics",
				engine.AnswersIndex, engine.AnswersModels),
			eachModel(stateSeries),
		},
		{about("model_unloaded", derive.OfModel, []string{"version"},
			"1 for a model that somebody unloaded.",
			"the reason in the repository index", engine.AnswersIndex), (*Findings).modelsUnloaded},
		{about("models_left_out", derive.OfReplica, []string{"state"},
			"Models without series of their own, by state.",
			"rows of the repository index beyond the limit", engine.AnswersIndex), (*Findings).modelsLeftOut},
		{about("model_configs_pending", derive.OfReplica, nil,
			"Ready models whose config is not known yet.",
			"ready models of the repository index less those whose config was requested",
			engine.AnswersConfig), func(f *Findings, add adder) {
			if n := f.Facts.Unasked(); n > 0 {
				add(float64(n))
			}
		}},
		{about(
			"model_info",
			derive.OfModel,
			[]string{
				"backend", "decoupled", "dynamic_batching", "instance_count", "max_batch_size", "platform", "role",
				"version",
			},
			"1 with the model's role and config settings.",
			"configs of the models, the list of models",
			engine.AnswersIndex,
			engine.AnswersModels,
		), eachModel(infoSeries)},
		{about("model_parameters_info", derive.OfModel, engine.ModelParameters(),
			"1 with the model's TensorRT-LLM parameters.",
			"parameters of the model's config", engine.AnswersConfig), eachConfig(parameterSeries)},
		{about(
			"model_config_hash_info",
			derive.OfModel,
			[]string{"sha256"},
			"1 with 12 digits of the config's SHA-256.",
			"the model's config as canonical JSON",
			engine.AnswersConfig,
		), eachConfig(func(m *target.Model, add adder) {
			if m.ConfigHash != "" {
				add(1, "sha256", m.ConfigHash[:12]) // /targets has all digits.
			}
		})},
		{about("engine_build_info", derive.OfReplica, []string{"version"},
			"1 with the TensorRT-LLM that built the engine.",
			"version in the config.json of engine_dir"), func(f *Findings, add adder) {
			if v := f.BuildVersion(); v != "" {
				add(1, "version", v)
			}
		}},
		{about("expectation_mismatch", derive.OfReplica, []string{"fact"},
			"1 for each fact that is not as expected, else 0.",
			"expect of the pool against what the server answers"), checksOf(Expected)},
		{about("slo_measured", derive.OfReplica, []string{"slo"},
			"1 if the objective can be measured, else 0.",
			"buckets of the histogram against the target, counters of failures"), checksOf(Objectives)},
		{about("capability", derive.OfReplica, []string{"capability"},
			"1 if the server has the capability, 0 if it could.",
			"kind of server, generation, names on /metrics, answers of the API"), (*Findings).capable},
		{about("determinism_profile", derive.OfReplica, []string{"check"},
			"1 if a condition for identical answers is met, else 0.",
			"configs of the models, limit of requests, versions declared or expected"), checksOf(Determinism)},
	}
})

func checksOf(name string) func(*Findings, adder) {
	return func(f *Findings, add adder) {
		list := Lists()[slices.IndexFunc(Lists(), func(l List) bool { return l.Name == name })]
		for _, c := range f.List(name) {
			add(flag(c.OK != list.Negated), list.Label, c.Name)
		}
	}
}

// capable adds capability of what the server exposes or could expose. What it never can costs no series.
func (f *Findings) capable(add adder) {
	all := f.List(Capabilities)
	for i := range all {
		if c := &all[i]; c.OK || c.Curable() {
			add(flag(c.OK), "capability", c.Name)
		}
	}
}

// modelsUnloaded adds model_unloaded of the models of which the index says it.
func (f *Findings) modelsUnloaded(add adder) {
	for _, m := range f.kept {
		if m.Unloaded() {
			add(1, f.named(&m)...)
		}
	}
}

// named returns the labels of a model's series.
func (f *Findings) named(m *engine.ModelState) []string {
	id := relabel.Unknown
	if f.Topology != nil {
		id = f.Topology.ModelID(m.Name)
	}
	return []string{"model", m.Name, "version", m.Version, "model_id", id}
}

// modelsLeftOut adds how many models have no series of their own.
func (f *Findings) modelsLeftOut(add adder) {
	for _, state := range slices.Sorted(maps.Keys(f.LeftOut)) {
		add(float64(f.LeftOut[state]), "state", cmp.Or(state, relabel.Unknown))
	}
}

func eachModel(series func(m *target.Model, add adder)) func(*Findings, adder) {
	return func(f *Findings, add adder) {
		for i := range f.Models {
			m := &f.Models[i]
			series(
				m,
				func(v float64, pairs ...string) { add(v, append(pairs, "model", m.Name, "model_id", m.ModelID)...) },
			)
		}
	}
}

// eachConfig returns series of every known model. The versions of a model share a config.
func eachConfig(series func(m *target.Model, add adder)) func(*Findings, adder) {
	return func(f *Findings, add adder) {
		var previous string
		eachModel(func(m *target.Model, add adder) {
			if m.Name != previous {
				series(m, add)
			}
			previous = m.Name
		})(f, add)
	}
}

func stateSeries(m *target.Model, add adder) {
	if m.State == "" {
		return
	}
	for _, s := range modelStates() {
		if saysState(modelStateFamily, s, m.State) {
			add(flag(m.State == s), "version", m.Version, "state", s)
		}
	}
}

func infoSeries(m *target.Model, add adder) {
	add(1, "version", m.Version, "role", m.Role, "backend", m.Backend, "platform", m.Platform,
		"max_batch_size", text(m.MaxBatchSize), "instance_count", text(m.Instances),
		"decoupled", text(m.Decoupled), "dynamic_batching", text(m.Batching))
}

func parameterSeries(m *target.Model, add adder) {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(m.Parameters)) {
		pairs = append(pairs, name, m.Parameters[name])
	}
	if len(pairs) > 0 {
		add(1, pairs...)
	}
}

// moment is an entry with one series, which may change with each answer of the API.
type moment struct {
	derive.Family

	value func(now *Situation) (float64, bool)
}

//nolint:gochecknoglobals // constant data, built on first use.
var moments = sync.OnceValue(func() []moment {
	return []moment{
		replicaMoment("serving", derive.Sampled,
			"1 if the replica answers requests, else 0.",
			"the state of the replica, and the answer of its readiness probe",
			func(now *Situation) (float64, bool) { return flag(now.Serves), now.State != Silent }),
		replicaMoment("suspected", derive.Sampled,
			"1 while a fault is suspected but not proved.",
			"requests in flight or arrived, counters of iterations, tokens and ended requests, the "+
				"exporter's own request",
			func(now *Situation) (float64, bool) { return flag(now.Suspected), now.State != Silent }),
		replicaMoment("paused", derive.Sampled,
			"1 if the replica is unserved on purpose, else 0.",
			"whether the API or the page says that it is paused or asleep, the repository index, engine_awake",
			func(now *Situation) (float64, bool) { return flag(now.Deliberate), now.State == Unserved }),
		healthMoment("live",
			"1 if the server reports that it is live, else 0.",
			"liveness by the API", engine.AnswersLive,
			func(h *engine.Health) (float64, bool) { return flag(h.Live), h.LiveKnown }),
		healthMoment("ready",
			"1 if the server reports that it is ready, else 0.",
			"readiness by the API", engine.AnswersHealth,
			func(h *engine.Health) (float64, bool) {
				return flag(h.API == engine.APIReady), h.API == engine.APIReady || h.API == engine.APINotReady
			}),
		healthMoment("health_check_duration_seconds",
			"Duration of the last health check.",
			"measured by the exporter", engine.AnswersHealth,
			func(h *engine.Health) (float64, bool) { return h.Duration.Seconds(), h.API != engine.APIUnknown }),

		replicaMoment("processes", derive.Exact,
			"Processes behind the replica's address, if several.",
			"start times and names of processes on /metrics, counters that are lower on a new connection, or "+
				"higher than the open one shows afterwards",
			func(now *Situation) (float64, bool) { return float64(now.Processes), now.Processes > 0 }),

		iterationMoment("iteration_stats_failures_total", derive.Exact,
			"Failed reads of iteration statistics.",
			"answers of the API",
			func(i *engine.Iterations) (float64, bool) { return float64(i.Failures), true }),
		iterationMoment("iteration_stats_read_total", derive.Exact,
			"Iterations whose statistics were read.",
			"rows of the answers, distinct by iter",
			func(i *engine.Iterations) (float64, bool) { return float64(i.Iterations), i.Read }),
		iterationMoment("iteration_stats_gaps_total", derive.Exact,
			"Iterations missing between those that were read.",
			"holes in iter",
			func(i *engine.Iterations) (float64, bool) { return float64(i.Missing), i.Read }),
		iterationMoment("iteration_stats_foreign_reader", derive.Rough,
			"1 if others seem to read iteration statistics too.",
			"holes in iter of answers below 1000 rows, statsDroppedFrames left out",
			func(i *engine.Iterations) (float64, bool) { return flag(i.ForeignReader()), i.Read }),
		iterationMoment("iteration_stats_generation_tokens_estimated_total", derive.Rough,
			"Estimated generated tokens, also of running requests.",
			"sum(numGenRequests x max(1, avgNumDecodedTokensPerIter) + numAcceptedTokens + numNewActiveRequests)",
			func(i *engine.Iterations) (float64, bool) { return i.GeneratedTokens, i.Read }),
		iterationMoment("iteration_stats_context_tokens_total", derive.Sampled,
			"Prompt tokens computed, cached ones excluded.",
			"sum(numCtxTokens)",
			func(i *engine.Iterations) (float64, bool) { return i.ContextTokens, i.Read }),
		iterationMoment("iteration_stats_completed_requests_total", derive.Sampled,
			"Requests completed in the iterations read.",
			"sum(numCompletedRequests)",
			func(i *engine.Iterations) (float64, bool) { return i.Completed, i.Read }),
		iterationMoment("iteration_stats_queued_requests", derive.Sampled,
			"Queued requests in the newest iteration.",
			"numQueuedRequests of the last row",
			func(i *engine.Iterations) (float64, bool) { return optional(i.Queued, i.Read) }),
		iterationMoment("iteration_stats_active_requests", derive.Sampled,
			"Active requests in the newest iteration.",
			"numActiveRequests of the last row",
			func(i *engine.Iterations) (float64, bool) { return optional(i.Active, i.Read) }),
	}
})

func replicaMoment(
	name string,
	grade derive.Grade,
	help, formula string,
	value func(now *Situation) (float64, bool),
	answers ...engine.Signal,
) moment {
	m := moment{derive.ReplicaFamily(name, derive.OfReplica, nil, help, formula, answers...), value}
	m.Grade = grade
	return m
}

func healthMoment(name, help, formula string, answer engine.Signal, value func(*engine.Health) (float64, bool)) moment {
	return replicaMoment(name, derive.Exact, help, formula, func(now *Situation) (float64, bool) {
		if now.Answers.Health == nil {
			return 0, false
		}
		return value(now.Answers.Health)
	}, answer)
}

// iterationMoment returns an entry about the statistics of iterations that an API returns.
func iterationMoment(
	name string,
	grade derive.Grade,
	help, formula string,
	value func(*engine.Iterations) (float64, bool),
) moment {
	m := replicaMoment(name, grade, help, formula, func(now *Situation) (float64, bool) {
		if now.Answers.Iterations == nil {
			return 0, false
		}
		return value(now.Answers.Iterations)
	}, engine.AnswersIterations)
	m.Section = "Iteration statistics"
	return m
}

func optional(v *float64, read bool) (float64, bool) {
	if v == nil || !read {
		return 0, false
	}
	return *v, true
}

package engine

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Name is the name of a kind of server, and the value of the label engine.
type Name string

// Unknown is the name of the kind of a target that was not recognized yet.
const Unknown Name = "unknown"

// Kind is a kind of server: constants, and functions where these do not suffice. A function that is
// nil has a default, as its comment says. Kinds do not change and are safe for concurrent use. *Page
// and *Facts may be nil unless stated otherwise. Reasons and hints are sentences for users.
type Kind struct {
	Name Name

	// The page. Path is its default path, /metrics unless the kind has another, EmptyPage is true if it may
	// have no samples, and NoPage explains why a server may lack it.
	Path      string
	EmptyPage bool
	NoPage    Missing
	// marks identify the kind on a page. A kind with the page of pagesOf is identified by its API.
	marks   []mark
	pagesOf []Name
	// priority is the order of detection: the highest first.
	priority int
	// series holds the meanings of the server's own series.
	series []Meaning
	// prefixes lists prefixes of names that are watched although no rule reads their series.
	prefixes []string
	// wrapper is the prefix of series measured around a model, which do not show how it treats
	// requests; inner is that of an engine inside, to which models hand over requests.
	wrapper, inner string
	// stage is the label of series that measure one stage of requests which pass several: each stage counts
	// them, and none is what clients ask for. Such series have no meaning.
	stage string
	// repeats lists the signals that a page counts more often than they happen, given what families it has. Their
	// series have no meaning.
	repeats func(has func(family string) bool) []Signal
	// noModel is the name under which it counts requests for models that it does not serve.
	noModel string
	quirks  Quirks

	// What is inside. engines lists the kinds of engines whose series the server may pass on, in order
	// of preference. narrow limits the meaning of a series of one, by default nothing does. trtllm is true
	// for kinds that may contain TensorRT-LLM.
	engines []Name
	narrow  func(m *Meaning)
	trtllm  bool

	// The API. api and grpc are the offsets of its ports from that of the page. Without gRPC, grpc
	// is 0.
	api, grpc int
	// Ready is the path that answers 200 while the server is ready, empty if there is none; live is
	// the path for liveness: equal to Ready if any answer means live, empty if there is none.
	Ready, live string
	// SelfTest is the server's own health check that generates, without a path if it has none.
	SelfTest SelfTest
	// versionPath and versionKey locate the version; versionless is true if the API does not tell it.
	versionPath, versionKey string
	versionless             bool
	// owners lists the values of owned_by of listed models that identify the kind, as a whole: other
	// servers extend them. It may be empty.
	owners []string
	// Iterations is the path of iteration statistics, which have one reader, or "".
	Iterations string
	// repository is true if the API lists models and their configs as Triton's does.
	repository bool
	// Answers lists the signals that the API provides. They follow from the other fields.
	Answers []Signal
	stream  Stream
	// noStream explains why it cannot stream, healthNote what its readiness means.
	noStream, healthNote string

	// identify sends requests that only this kind answers, and returns the evidence, empty for
	// another kind. A kind without marks is compared only with the kinds whose page it shows. By
	// default it needs owners and a version. unmistakable is true if no router answers alike, so that
	// the evidence needs no known page.
	identify     func(ctx context.Context, q *questions) string
	unmistakable bool
	// hint explains what an address without a known page may be. By default it does not know.
	hint func(ctx context.Context, q *questions) string
	// ask queries the API for version and models, see [Kind.Ask]. By default it asks for OpenAI's list
	// of models, and for the version.
	ask func(ctx context.Context, k *Kind, client Client, address string, earlier Earlier) Round
	// health queries the API for whether the server is live and ready, by default at Ready and live.
	health func(ctx context.Context, k *Kind, client Client, address string) Health
	// agree reports whether an API with the given facts belongs to the page, which is not nil. By
	// default they have a model in common.
	agree func(p *Page, f *Facts) Ternary
	// streams returns how to request a streamed answer, see [Kind.Stream]. By default it is stream.
	streams func(version string, p *Page) (s Stream, reason string)

	// pausing adds a series of the page that shows whether the server is paused, for releases whose API does
	// not say so. By default no page shows that.
	pausing func(s *pauseSeries, m *Meaning, series int, lset labels.Labels)

	// adapt changes the quirks for a page. By default they are the same for all.
	adapt func(q Quirks, p *Page) Quirks
	// failures lists signals, any of which shows that the page counts failed requests other than per
	// model, by default [RequestsFailed]. countsFailures decides instead where that depends on more.
	failures       []Signal
	countsFailures func(p *Page) bool
	// tier is the position in a pool with a router, by default none. tierOf returns it where it depends on
	// the page, which is not nil.
	tier   Tier
	tierOf func(p *Page) Tier
	// generation names the set of series that the page shows, with the reason. The page is not nil.
	generation func(p *Page, f *Facts) (Generation, string)
	// ranks says how the page shows ranks according to facts, 0 if these do not tell.
	ranks func(f *Facts) Ranks
	// arrange sets the roles, ids and treatments of the models. By default series without a model
	// belong to the only one.
	arrange func(t *Topology, named NamedModels, facts []ModelFacts)

	// unserved explains why a ready server serves none of its models, empty if it may serve one, and
	// deliberate reports whether somebody brought that about. By default it serves.
	unserved   func(p *Page, f *Facts, models []ModelState) string
	deliberate func(p *Page, f *Facts, models []ModelState) bool
	// mayBeEmpty is true if a server without a model answers with an empty list of models.
	mayBeEmpty bool

	// Copied is how likely others took the names of its series over, among the kinds; 0 if nobody did.
	Copied int
	// Declared is true for a kind from a file: nobody has seen how its servers fail, so that what their
	// pages say against them is a guess.
	Declared bool
	// declaration is what a file says of it, empty if it says nothing.
	declaration string
	// modelLabels lists the labels that name a model, of which the first counts, by default
	// model_name and model. modelsPath is where the API lists its models, by default /v1/models.
	modelLabels []string
	modelsPath  string

	// Capabilities follow from the series, see [waysTo]. judge judges one of [CapabilityNames] that these
	// do not tell, false for the others.
	judge func(name string, k *Knowledge) (target.Check, bool)
	// remark returns remarks on what a page shows, by capability or signal.
	remark func(p *Page) map[string]string
	// gaps explains what a page lacks; the first that names a capability counts. lacking does so for
	// all capabilities instead.
	gaps    func(k *Knowledge) []gap
	lacking func(name string, k *Knowledge) target.Check
	// determinism checks whether identical requests get identical answers; by default it cannot.
	determinism func(f *Facts, p *Page) []target.Check
	// stockVersion returns the version of TensorRT-LLM of the server's stock image, see
	// [Kind.StockVersion]. By default there is no such image.
	stockVersion func(f *Facts, p *Page) (version, reason string)

	// Census says which releases the series were compared with, empty if with none: see [Releases].
	// ShowsHidden is the flag that shows what [Releases] calls hidden.
	Census, ShowsHidden string

	// meanings holds series, and those of the engines that may be inside; index holds them by name.
	meanings []Meaning
	index    func() Index
}

// Missing explains why a server may lack its page: Why goes on after "<Path> answers 404", as in ": it
// exists only with <flag>", Cure mends it, and Hint says both where nothing else is known.
type Missing struct {
	Hint, Why, Cure string
	// Since is the first release with the page, empty if all have it.
	Since string
}

// kinds holds the built-in kinds, sorted by name.
//
//nolint:gochecknoglobals // constant once they were asked for.
var kinds struct {
	once sync.Once
	all  []*Kind
	none *Kind
}

// All returns every built-in kind, sorted by name.
func All() []*Kind {
	kinds.once.Do(func() {
		kinds.all = []*Kind{
			dynamo(), nim(), sglang(), triton(), tritonOpenAI(), trtllmServe(), trtllmDisaggregated(), vllm(),
		}
		kinds.none = &Kind{
			Name:     Unknown,
			Path:     "/metrics",
			trtllm:   true,
			noStream: "the server was not recognised yet",
		}
		kinds.none.complete()
		for _, k := range kinds.all {
			k.Path = cmp.Or(k.Path, "/metrics")
			k.complete()
			k.Answers = k.provides()
		}
	})
	return slices.Clone(kinds.all)
}

// complete adds what follows from the series. The built-in kinds have theirs already.
func (k *Kind) complete() {
	k.meanings = slices.Concat(k.series, k.meaningsInside())
	k.index = sync.OnceValue(func() Index { return newIndex(k) })
}

// provides returns the signals that the API provides.
func (k *Kind) provides() (all []Signal) {
	provides := func(does bool, signals ...Signal) {
		if does {
			all = append(all, signals...)
		}
	}
	provides(k.Ready != "" || k.health != nil, AnswersHealth)
	provides(k.live != "" || k.health != nil, AnswersLive)
	provides(k.repository, AnswersIndex, AnswersConfig)
	provides(true, AnswersModels)
	provides(k.noStream == "", AnswersStream)
	provides(k.Iterations != "", AnswersIterations)
	provides(k.mayCountFailures(), FailuresCounted)
	return all
}

// mayCountFailures reports whether CountsFailures is true for some page.
func (k *Kind) mayCountFailures() bool {
	switch {
	case k.countsFailures != nil:
		return true
	case k.failures != nil:
		return len(k.failures) > 0
	}
	return slices.ContainsFunc(k.meanings, func(m Meaning) bool { return m.Signal == RequestsFailed })
}

// ByName returns the named built-in kind; ok is false for "auto", "unknown" and misspelled names.
func ByName(name string) (k *Kind, ok bool) {
	all := All()
	i := slices.IndexFunc(all, func(k *Kind) bool { return string(k.Name) == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// None returns the kind of unrecognized servers: their page is passed on, nothing is derived.
func None() *Kind {
	All()
	return kinds.none
}

// APIPort returns the port of the HTTP API, given the port of the page.
func (k *Kind) APIPort(metrics int) int { return metrics + k.api }

// GRPCPort returns the port of the gRPC API, given the port of the page; ok is false without one.
func (k *Kind) GRPCPort(metrics int) (port int, ok bool) { return metrics + k.grpc, k.grpc != 0 }

// TellsVersion reports whether servers tell their version. Of others only the configuration knows it.
func (k *Kind) TellsVersion() bool { return !k.versionless }

// SamePort reports whether page and API share a port.
func (k *Kind) SamePort() bool { return k.api == 0 }

// Meanings returns the meanings of the kind's series. The slice must not be modified.
func (k *Kind) Meanings() []Meaning { return k.meanings }

// Earlier is what is known before a round of questions about a server's identity. The zero value is
// nothing.
type Earlier struct {
	Facts *Facts
	// Busy lists models that have requests, the busiest first, Loaded those that the page counts.
	Busy, Loaded []string
}

// Stream describes how a kind of server streams answers to its clients.
type Stream struct {
	// Generate is true for Triton's generate_stream, false for the OpenAI API.
	Generate bool
	// Usage and Seed allow stream_options and seed. trtllm-serve rejects unknown keys
	// (openai_protocol.py, extra="forbid") and knows both; the vLLM of NIM 1.x rejects
	// stream_options.
	Usage, Seed bool
	// IgnoreEOS allows ignore_eos.
	IgnoreEOS bool
}

// Client sends a request to a server's API and returns status and at most limit bytes of the body.
type Client interface {
	Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
}

// BriefClient is a Client that can also use connections that are closed soon.
type BriefClient interface {
	Client

	// DoBrief is Do over such a connection.
	DoBrief(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
}

// answerLimit limits the body of one answer. A repository index of thousands of models is smaller.
const answerLimit = 4 << 20

// Ask queries the API for version and models while its result is read. If a request fails, only its
// own facts are missing. Earlier answers decide which models are asked about first.
func (k *Kind) Ask(ctx context.Context, client Client, address string, earlier Earlier) Round {
	if k.ask != nil {
		return k.ask(ctx, k, client, address, earlier)
	}
	return func(yield func(Facts, bool) bool) { yield(k.askOpenAI(ctx, client, address), true) }
}

// askOpenAI asks for OpenAI's list of models, and for the version if there is one.
func (k *Kind) askOpenAI(ctx context.Context, client Client, address string) (f Facts) {
	if k.Name == Unknown {
		return f
	}
	q := &questions{client: client, base: address}
	if k.versionPath != "" {
		f.EngineVersion = plainVersion(q.text(ctx, k.versionPath, k.versionKey))
		f.Confirmed = len(k.owners) == 0 && f.EngineVersion != ""
	}
	q.askModels(ctx, k.owners, &f)
	return f
}

// evidence returns the evidence that an API is of this kind, empty if there is none.
func (k *Kind) evidence(ctx context.Context, q *questions) string {
	if k.identify != nil {
		return k.identify(ctx, q)
	}
	if len(k.owners) == 0 || k.versionPath == "" {
		return ""
	}
	return q.ownedBy(ctx, k.owners)
}

// Lists reports whether the API lists models of the kind. A router may do so, too.
func (k *Kind) Lists(ctx context.Context, client Client, address string) bool {
	q := &questions{client: client, base: address}
	list, _ := q.models(ctx)
	return slices.Contains(k.owners, list.owner())
}

// Health queries the API for whether the server is live and ready.
func (k *Kind) Health(ctx context.Context, client Client, address string) Health {
	if k.health != nil {
		return k.health(ctx, k, client, address)
	}
	return k.healthByStatus(ctx, client, address)
}

// healthByStatus judges health by the status of the answers at Ready and live.
func (k *Kind) healthByStatus(ctx context.Context, client Client, address string) Health {
	if k.Ready == "" {
		return Health{}
	}
	h, _ := readiness(ctx, client, address+k.Ready)
	switch k.live {
	case "":
	case k.Ready:
		h.liveIfAnswered()
	default:
		live, _ := readiness(ctx, client, address+k.live)
		live.liveIfAnswered()
		h.Live, h.LiveKnown = live.API == APIReady, live.LiveKnown
	}
	return h
}

// within returns the engine whose page the server passes on, nil if the page is its own.
func (k *Kind) within(p *Page) *Kind {
	in := p.Inside()
	if len(k.engines) == 0 || in == k {
		return nil
	}
	return in
}

// Stream returns how to request a streamed answer, or why that fails. The version may be empty.
func (k *Kind) Stream(version string, p *Page) (s Stream, reason string) {
	if k.streams != nil {
		return k.streams(version, p)
	}
	if in := k.within(p); in != nil {
		return in.Stream("", p)
	}
	return k.stream, k.noStream
}

// Quirks returns the quirks of a page, or the default quirks of the kind if the page is nil.
func (k *Kind) Quirks(p *Page) Quirks {
	q := k.quirks
	if in := k.within(p); in != nil {
		q = in.Quirks(p)
	}
	if k.adapt != nil {
		q = k.adapt(q, p)
	}
	return q
}

// CountsFailures reports whether the page counts failed requests other than per model.
func (k *Kind) CountsFailures(p *Page) bool {
	if k.countsFailures != nil {
		return k.countsFailures(p)
	}
	if k.failures != nil {
		return slices.ContainsFunc(k.failures, p.Has)
	}
	if in := k.within(p); in != nil {
		return in.CountsFailures(p)
	}
	return p.Has(RequestsFailed)
}

// Tier returns the server's position in a pool with a router. The page is not nil.
func (k *Kind) Tier(p *Page) Tier {
	if k.tierOf != nil {
		return k.tierOf(p)
	}
	return k.tier
}

// Generation names the set of series that the page shows, with the reason. The page is not nil.
func (k *Kind) Generation(p *Page, f *Facts) (Generation, string) {
	if k.generation == nil {
		return "", ""
	}
	return k.generation(p, f)
}

// Unserved explains why a ready server serves none of its models, empty if it may serve one.
func (k *Kind) Unserved(p *Page, f *Facts, models []ModelState) (why string) {
	if in := k.within(p); in != nil {
		why = in.Unserved(p, f, models)
	} else if k.unserved != nil {
		why = k.unserved(p, f, models)
	}
	if why == "" && k.mayBeEmpty && f.get().Listed && len(f.Models) == 0 && !p.servesModel() {
		why = "the server is ready but lists no model"
	}
	return why
}

// Deliberate reports whether somebody brought about what Unserved explains, who then need not be
// told.
func (k *Kind) Deliberate(p *Page, f *Facts, models []ModelState) bool {
	if in := k.within(p); in != nil {
		return in.Deliberate(p, f, models)
	}
	return k.deliberate != nil && k.deliberate(p, f, models)
}

// Determinism checks whether identical requests get identical answers.
func (k *Kind) Determinism(f *Facts, p *Page) []target.Check {
	if in := k.within(p); in != nil {
		return in.Determinism(f, p)
	}
	if k.determinism == nil {
		return nil
	}
	return k.determinism(f, p)
}

// StockVersion returns the TensorRT-LLM version of the server's stock image, if that is listed and
// in use. The reason explains that the release has no such image.
func (k *Kind) StockVersion(f *Facts, p *Page) (version, reason string) {
	if k.stockVersion == nil {
		return "", ""
	}
	return k.stockVersion(f, p)
}

// arrangeModels sets the roles, ids and treatments of the models in a topology.
func (k *Kind) arrangeModels(t *Topology, named NamedModels, facts []ModelFacts) {
	in, inside := ByName(string(named.Inside))
	switch {
	case len(k.engines) > 0 && inside && in != k:
		in.arrangeModels(t, named, facts)
	case k.arrange != nil:
		k.arrange(t, named, facts)
	default:
		arrangeOnly(t, named, facts)
	}
}

// arrangeOnly says that series without a model belong to the only model. Clients call the first
// listed model, since adapters follow their model.
func arrangeOnly(t *Topology, named NamedModels, facts []ModelFacts) {
	if len(named.Names) == 1 {
		t.fallback = named.Names[0]
	}
	if len(facts) > 0 {
		t.first = facts[0].Name
	}
}

// apiBelongs reports whether an API with the given facts belongs to the page.
func (k *Kind) apiBelongs(p *Page, f *Facts) Ternary {
	if k.agree != nil {
		return k.agree(p, f)
	}
	return agreeByModels(p, f, k.noModel)
}

// engineInside returns the first engine of which the page has a mark that is not the server's own,
// or nil. A Triton inside may itself show names of vLLM.
func (k *Kind) engineInside(series []labels.Labels) *Kind {
	for _, name := range k.engines {
		in, ok := ByName(string(name))
		if ok && slices.ContainsFunc(series, func(lset labels.Labels) bool {
			has := func(m mark) bool { return m.onSeries(lset) }
			return slices.ContainsFunc(in.marks, has) && !slices.ContainsFunc(k.marks, has)
		}) {
			return in
		}
	}
	return nil
}

// meaningsInside returns the meanings of all engines that may be inside.
func (k *Kind) meaningsInside() (all []Meaning) {
	for _, name := range k.engines {
		in := kinds.all[slices.IndexFunc(kinds.all, func(k *Kind) bool { return k.Name == name })]
		for _, m := range in.series {
			if m.Inside = name; k.narrow != nil {
				k.narrow(&m)
			}
			all = append(all, m)
		}
	}
	return all
}

// meaningsWith returns the meanings that apply with the given engine inside, or all if it is nil,
// for example because its statistics are off.
func meaningsWith(meanings []Indexed, in *Kind) []Indexed {
	other := func(m Indexed) bool { return m.Inside != "" && in.Name != m.Inside }
	if in == nil || !slices.ContainsFunc(meanings, other) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), other)
}

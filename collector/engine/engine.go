package engine

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Kind is the name of a kind of server, and the value of the label engine.
type Kind string

// Unknown is the kind of a target that was not recognized yet.
const Unknown Kind = "unknown"

// Engine describes one kind of server. Values are constant and safe for concurrent use. *Page and
// *Facts may be nil unless stated otherwise. Reasons and hints are sentences for users.
type Engine interface {
	Kind() Kind

	// MetricsPath returns the default path of the page.
	MetricsPath() string
	// APIPort returns the port of the HTTP API, given the port of the page.
	APIPort(metrics int) int
	// GRPCPort returns the port of the gRPC API, given the port of the page; ok is false without one.
	GRPCPort(metrics int) (port int, ok bool)
	// SamePort reports whether page and API share a port.
	SamePort() bool
	// EmptyPage reports whether a page without samples is valid.
	EmptyPage() bool
	// MissingPageHint explains why a server of the kind may have no page. It may be empty.
	MissingPageHint() string

	// Ask queries the API for version and models while its result is read. If a request fails, only
	// its own facts are missing. Earlier answers decide which models are asked about first.
	Ask(ctx context.Context, client Client, address string, earlier Earlier) Round
	// Health queries the API for whether the server is live and ready.
	Health(ctx context.Context, client Client, address string) Health
	// ReadyPath returns a path that answers 200 only while the result of Health holds, or "".
	ReadyPath() string
	// SelfTest returns the server's own health check that generates, if it has one.
	SelfTest() (test SelfTest, ok bool)
	// Unserved explains why a ready server serves none of its models, empty if it may serve one.
	Unserved(p *Page, f *Facts, models []ModelState) string
	// Deliberate reports whether somebody brought about what Unserved explains, who then need not be
	// told.
	Deliberate(p *Page, f *Facts, models []ModelState) bool
	// IterationsPath returns the API path of iteration statistics, which have one reader, or "".
	IterationsPath() string
	// StockVersion returns the TensorRT-LLM version of the server's stock image, if that is listed
	// and in use. The reason explains that the release has no such image.
	StockVersion(f *Facts, p *Page) (version, reason string)

	// Meanings returns the meanings of the kind's series.
	Meanings() []Meaning
	// Answers returns the signals that the API provides.
	Answers() []Signal
	// Quirks returns the quirks of a page, or the default quirks of the kind if the page is nil.
	Quirks(p *Page) Quirks
	// CountsFailures reports whether the page counts failed requests other than per model.
	CountsFailures(p *Page) bool
	// Tier returns the server's position in a pool with a router. The page is not nil.
	Tier(p *Page) Tier

	// Generation names the set of series that the page shows, with the reason. The page is not nil.
	Generation(p *Page, f *Facts) (Generation, string)
	// Determinism checks whether identical requests get identical answers.
	Determinism(f *Facts, p *Page) []target.Check
	// Stream returns how to request a streamed answer, or why that fails. The version may be
	// empty.
	Stream(version string, p *Page) (s Stream, reason string)

	// data returns the constants of the kind.
	data() *base
	// judge judges one of [CapabilityNames], except those that do not depend on the kind.
	judge(name string, k *Knowledge) target.Check
	// identify sends requests that only this kind answers, and returns the evidence, empty for
	// another kind. A kind without marks is compared only with the kinds whose page it shows.
	identify(ctx context.Context, q *questions) string
	// agree reports whether an API with the given facts belongs to the page.
	agree(p *Page, f *Facts) Trust
	// hint explains what an address without a known page may be.
	hint(ctx context.Context, q *questions) string
	// arrange sets the roles, ids and treatments of the models in a topology.
	arrange(t *Topology, named NamedModels, facts []ModelFacts)
}

// Earlier is what is known before a round of questions about a server's identity. The zero value is
// nothing.
type Earlier struct {
	Facts *Facts
	// Busy lists models that have requests, the busiest first.
	Busy []string
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

// registry holds the kinds, sorted by name. It does not change after init.
//
//nolint:gochecknoglobals // constant once the program has started.
var registry []Engine

// register adds a kind to the registry. It returns the kind so that it can initialize a variable.
func register(e Engine) Engine { //nolint:unparam // Without a result it could not be called there.
	registry = append(registry, e)
	slices.SortFunc(registry, func(a, b Engine) int { return strings.Compare(string(a.Kind()), string(b.Kind())) })
	return e
}

// All returns all kinds, sorted by name.
func All() []Engine { return slices.Clone(registry) }

// ByName returns the named kind; ok is false for "auto", "unknown" and misspelled names.
func ByName(kind string) (e Engine, ok bool) {
	i := slices.IndexFunc(registry, func(e Engine) bool { return string(e.Kind()) == kind })
	if i < 0 {
		return nil, false
	}
	return registry[i], true
}

// base holds the constants of a kind and implements defaults of Engine. Kinds embed it.
type base struct {
	kind Kind
	path string
	// api and grpc are offsets from the port of the page. Without gRPC, grpc is 0.
	api, grpc int
	// ready is the API path that answers 200 while the server is ready, live the path for
	// liveness: equal to ready if any answer means live, empty if there is none.
	ready, live string
	// selfTest is the server's own health check that generates, without a path if it has none.
	selfTest SelfTest
	// versionPath and versionKey locate the version in the API.
	versionPath, versionKey string
	// iterations is the API path of iteration statistics.
	iterations string
	// owners lists the values of owned_by of listed models that identify the kind, as a whole: other
	// servers extend them. It may be empty.
	owners []string
	// These explain why it cannot stream, why it may have no page, and what its readiness means.
	noStream, noPage, healthNote string
	emptyPage                    bool

	// marks identify the kind on a page. A kind with the page of pagesOf is identified by its API.
	marks   []mark
	pagesOf []Kind
	// priority is the order of detection: the highest first.
	priority int

	answers []Signal
	quirks  Quirks
	stream  Stream
	// noTRTLLM is true for kinds that never contain TensorRT-LLM.
	noTRTLLM bool
	// prefixes lists prefixes of names that are watched although no rule reads their series.
	prefixes []string
	// wrapper is the prefix of series measured around a model, which do not show how it treats
	// requests; inner is that of an engine inside, to which models hand over requests.
	wrapper, inner string
	// engines lists the kinds whose page the server may pass on, in order of preference.
	engines []Kind
	// noModel is the name under which it counts requests for models that it does not serve.
	noModel string
}

func (b *base) data() *base { return b }

func (b *base) Kind() Kind                               { return b.kind }
func (b *base) MetricsPath() string                      { return b.path }
func (b *base) APIPort(metrics int) int                  { return metrics + b.api }
func (b *base) GRPCPort(metrics int) (port int, ok bool) { return metrics + b.grpc, b.grpc != 0 }
func (b *base) SamePort() bool                           { return b.api == 0 }
func (b *base) ReadyPath() string                        { return b.ready }
func (b *base) EmptyPage() bool                          { return b.emptyPage }
func (b *base) MissingPageHint() string                  { return b.noPage }
func (b *base) IterationsPath() string                   { return b.iterations }
func (b *base) Answers() []Signal                        { return b.answers }
func (b *base) Quirks(*Page) Quirks                      { return b.quirks }
func (b *base) SelfTest() (test SelfTest, ok bool)       { return b.selfTest, b.selfTest.Path != "" }
func (b *base) Stream(string, *Page) (Stream, string)    { return b.stream, b.noStream }

func (*base) StockVersion(*Facts, *Page) (version, reason string) { return "", "" }
func (*base) Unserved(*Page, *Facts, []ModelState) string         { return "" }
func (*base) Deliberate(*Page, *Facts, []ModelState) bool         { return false }
func (*base) CountsFailures(p *Page) bool                         { return p.Has(RequestsFailed) }
func (*base) Tier(*Page) Tier                                     { return "" }
func (*base) Meanings() []Meaning                                 { return nil }
func (*base) Generation(*Page, *Facts) (Generation, string)       { return "", "" }
func (*base) Determinism(*Facts, *Page) []target.Check            { return nil }
func (*base) hint(context.Context, *questions) string             { return "" }

// identify implements Engine for servers with a version and a list of models that they own.
func (b *base) identify(ctx context.Context, q *questions) string {
	if len(b.owners) == 0 || b.versionPath == "" {
		return ""
	}
	list, _ := q.models(ctx)
	if !slices.Contains(b.owners, list.owner()) || q.version(ctx) == "" {
		return ""
	}
	return "/v1/models lists models owned by " + list.owner() + ", and /version answers"
}

// Ask implements Engine for servers with OpenAI's list of models, and perhaps a version.
func (b *base) Ask(ctx context.Context, client Client, address string, _ Earlier) Round {
	return func(yield func(Facts, bool) bool) { yield(b.ask(ctx, client, address), true) }
}

func (b *base) ask(ctx context.Context, client Client, address string) (f Facts) {
	if b.kind == Unknown {
		return f
	}
	q := &questions{client: client, base: address}
	if b.versionPath != "" {
		f.EngineVersion = plainVersion(q.text(ctx, b.versionPath, b.versionKey))
		f.Confirmed = len(b.owners) == 0 && f.EngineVersion != ""
	}
	q.askModels(ctx, b.owners, &f)
	return f
}

func (b *base) Health(ctx context.Context, client Client, address string) Health {
	if b.ready == "" {
		return Health{}
	}
	h, _ := readiness(ctx, client, address+b.ready)
	switch b.live {
	case "":
	case b.ready:
		h.liveIfAnswered()
	default:
		live, _ := readiness(ctx, client, address+b.live)
		live.liveIfAnswered()
		h.Live, h.LiveKnown = live.API == APIReady, live.LiveKnown
	}
	return h
}

// judge implements Engine for servers that show nothing.
func (*base) judge(_ string, k *Knowledge) target.Check {
	return k.config(no("this kind of server does not expose its config", ""))
}

// arrange implements Engine: series without a model belong to the only model. Clients call the
// first listed model, since adapters follow their model.
func (*base) arrange(t *Topology, models NamedModels, facts []ModelFacts) {
	if len(models.Names) == 1 {
		t.fallback = models.Names[0]
	}
	if len(facts) > 0 {
		t.first = facts[0].Name
	}
}

// None returns the engine of unrecognized servers: their page is passed on, nothing is derived.
func None() Engine {
	return &base{kind: Unknown, path: "/metrics", noStream: "the server was not recognised yet"}
}

// shell is a server around another engine, whose series it shows too. Methods that depend on the
// page delegate to it; kinds that embed shell handle pages without one.
type shell struct{ base }

// engineInside returns the first of base.engines whose mark is a prefix of a name that is not the
// server's own, or nil. A Triton inside may itself show names of vLLM.
func engineInside(e Engine, series []labels.Labels) Engine {
	for _, kind := range e.data().engines {
		in, ok := ByName(string(kind))
		if ok && slices.ContainsFunc(series, func(lset labels.Labels) bool {
			name := lset.Get(model.MetricNameLabel)
			isOwn := func(m mark) bool { return strings.HasPrefix(name, m.text) }
			return strings.HasPrefix(name, in.data().marks[0].text) && !slices.ContainsFunc(e.data().marks, isOwn)
		}) {
			return in
		}
	}
	return nil
}

// meaningsWith returns the meanings that apply with the given engine inside, or all if it is nil,
// for example because its statistics are off.
func meaningsWith(meanings []Indexed, in Engine) []Indexed {
	other := func(m Indexed) bool { return m.Inside != "" && in.Kind() != m.Inside }
	if in == nil || !slices.ContainsFunc(meanings, other) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), other)
}

// withEngines appends the meanings of all engines that may be inside.
func (s *shell) withEngines(meanings []Meaning) []Meaning {
	for _, kind := range s.engines {
		e, _ := ByName(string(kind))
		for _, m := range e.Meanings() {
			m.Inside = kind
			meanings = append(meanings, m)
		}
	}
	return meanings
}

// inside returns the engine inside, or the defaults for pages without one.
func (s *shell) inside(p *Page) Engine {
	if in := p.Inside(); in != nil {
		return in
	}
	return &s.base
}

func (s *shell) Quirks(p *Page) Quirks       { return s.inside(p).Quirks(p) }
func (s *shell) CountsFailures(p *Page) bool { return s.inside(p).CountsFailures(p) }

func (s *shell) Unserved(p *Page, f *Facts, models []ModelState) string {
	return s.inside(p).Unserved(p, f, models)
}

func (s *shell) Deliberate(p *Page, f *Facts, models []ModelState) bool {
	return s.inside(p).Deliberate(p, f, models)
}

func (s *shell) Determinism(f *Facts, p *Page) []target.Check {
	return s.inside(p).Determinism(f, p)
}

func (s *shell) arrange(t *Topology, models NamedModels, facts []ModelFacts) {
	if in, ok := ByName(string(models.Inside)); ok {
		in.arrange(t, models, facts)
		return
	}
	s.base.arrange(t, models, facts)
}

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// base holds the constants of a kind and has defaults for Engine. Kinds embed it.
type base struct {
	kind Kind
	path string
	// api and grpc are offsets from the port of the page; grpc is 0 without gRPC.
	api, grpc int
	// ready is the API path that answers 200 while the server is ready, live the one for liveness:
	// equal to ready if any answer shows that it is live, empty for none.
	ready, live string
	// versionPath and versionKey locate the version in the API.
	versionPath, versionKey string
	// iterations is the API path of iteration statistics.
	iterations string
	// owner is the owned_by of listed models that identifies the kind; may be empty.
	owner string
	// These explain why it cannot stream, why it may have no page, and how to read its readiness.
	noStream, noPage, healthNote string
	emptyPage                    bool

	// marks identify the kind on a page; one with the page of pagesOf is identified by its API.
	marks   []mark
	pagesOf []Kind
	// priority orders detection: kinds with a higher one are looked for first.
	priority int

	answers []Signal
	quirks  Quirks
	stream  Stream
	// noTRTLLM is true for kinds that never contain TensorRT-LLM.
	noTRTLLM bool
	// prefixes lists prefixes of names that are watched although no rule reads them.
	prefixes []string
	// wrapper is the prefix of series measured around a model, which do not show how it treats
	// requests; inner that of an engine inside, to which models hand over requests.
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
func (b *base) Stream(string, *Page) (Stream, string)    { return b.stream, b.noStream }

func (*base) StockVersion(*Facts, *Page) (version, none string) { return "", "" }
func (*base) Unserved(*Page, *Facts, []ModelState) string       { return "" }
func (*base) CountsFailures(p *Page) bool                       { return p.Has(RequestsFailed) }
func (*base) Tier(*Page) Tier                                   { return "" }
func (*base) Meanings() []Meaning                               { return nil }
func (*base) Generation(*Page, *Facts) (Generation, string)     { return "", "" }
func (*base) Determinism(*Facts, *Page) []target.Check          { return nil }
func (*base) hint(context.Context, *questions) string           { return "" }

// identify implements Engine for servers with a version whose list of models names them as owner.
func (b *base) identify(ctx context.Context, q *questions) string {
	if b.owner == "" || b.versionPath == "" {
		return ""
	}
	if list, _ := q.models(ctx); !strings.HasPrefix(list.owner(), b.owner) || q.version(ctx) == "" {
		return ""
	}
	return "/v1/models lists models owned by " + b.owner + ", and /version answers"
}

// Ask implements Engine for servers with OpenAI's list of models, and perhaps a version.
func (b *base) Ask(ctx context.Context, client Client, address string, _ func(Facts)) Facts {
	var f Facts
	if b.kind == Unknown {
		return f
	}
	q := &questions{client: client, base: address}
	if b.versionPath != "" {
		v, _ := q.text(ctx, b.versionPath, b.versionKey)
		f.EngineVersion = plainVersion(v)
		f.Confirmed = b.owner == "" && f.EngineVersion != ""
	}
	q.askModels(ctx, b.owner, &f)
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

// arrange implements Engine: series without a model belong to the only one. Clients call the first
// model that is listed, since adapters follow their model.
func (*base) arrange(t *Topology, named NamedModels, facts []ModelFacts) {
	if len(named.Names) == 1 {
		t.fallback = named.Names[0]
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

// engineInside returns the first of base.engines whose mark begins a name that is not the server's
// own, or nil. A Triton inside may itself show names of vLLM.
func engineInside(e Engine, series []labels.Labels) Engine {
	for _, kind := range e.data().engines {
		in, ok := ByName(string(kind))
		if ok && slices.ContainsFunc(series, func(lset labels.Labels) bool {
			name := lset.Get(model.MetricNameLabel)
			own := func(m mark) bool { return strings.HasPrefix(name, m.text) }
			return strings.HasPrefix(name, in.data().marks[0].text) && !slices.ContainsFunc(e.data().marks, own)
		}) {
			return in
		}
	}
	return nil
}

// meaningsWith returns the meanings that apply with that engine inside; all of them if no name
// identifies it, as when its statistics are off.
func meaningsWith(meanings []Indexed, in Engine) []Indexed {
	other := func(m Indexed) bool { return m.Inside != "" && in.Kind() != m.Inside }
	if in == nil || !slices.ContainsFunc(meanings, other) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), other)
}

// withEngines appends the meanings of every engine that may be inside.
func (s *shell) withEngines(own []Meaning) []Meaning {
	for _, kind := range s.engines {
		e, _ := ByName(string(kind))
		for _, m := range e.Meanings() {
			m.Inside = kind
			own = append(own, m)
		}
	}
	return own
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

func (s *shell) Determinism(f *Facts, p *Page) []target.Check {
	return s.inside(p).Determinism(f, p)
}

func (s *shell) arrange(t *Topology, named NamedModels, facts []ModelFacts) {
	if in, ok := ByName(string(named.Inside)); ok {
		in.arrange(t, named, facts)
		return
	}
	s.base.arrange(t, named, facts)
}

package engine

import (
	"context"
	"net/http"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// base has the answers of a kind that never change, and the usual ones to all
// other questions; kinds embed it and answer what is different with them.
type base struct {
	kind Kind
	path string
	// api and grpc are how far the ports of the APIs are from that of the page; 0 is the
	// same port, and for grpc none.
	api, grpc int
	// ready is the path of the API that answers 200 while the server is ready, live that
	// for whether it lives: ready again where any answer says so, empty for none.
	ready, live string
	// versionAt is the path and versionKey the key under which it says its version.
	versionAt, versionKey string
	// owner is who owns the models that it lists, by which it is known; empty for a
	// kind that says its version as no other does.
	owner string
	// mute says why it cannot be asked for a streamed answer.
	mute string
	// healthSays is what its word on its health is worth, for people, where it is not
	// just whether the server is ready.
	healthSays string
	emptyPage  bool
	// noPage says why a server may have no page.
	noPage string

	// marks show the kind on a page; pageOf are the kinds whose pages it may
	// have instead, and is then known by its API.
	marks  []mark
	pageOf []Kind
	// Detection asks for what kinds of a higher priority have before that of others.
	priority int

	answers []Signal
	quirks  Quirks
	stream  Stream
	// foreign says that TensorRT-LLM is never inside.
	foreign bool
	// prefixes begin names that say something of the server although no rule
	// reads them.
	prefixes []string
	// wrapper begins the names of what is measured around a model, which shows
	// nothing of how the model treats its requests.
	wrapper string
	// inner begins the names of an engine inside the server, to which its models
	// hand their requests over.
	inner string
	// around are the kinds of engines of which the server may pass on a page.
	around []Kind
	// nobody is the model under which a server counts requests for models that
	// it does not serve.
	nobody string
}

func (b *base) data() *base { return b }

// Kind and the others are said by the data.
func (b *base) Kind() Kind                               { return b.kind }
func (b *base) MetricsPath() string                      { return b.path }
func (b *base) APIPort(metrics int) int                  { return metrics + b.api }
func (b *base) GRPCPort(metrics int) (port int, ok bool) { return metrics + b.grpc, b.grpc != 0 }
func (b *base) SamePort() bool                           { return b.api == 0 }
func (b *base) ReadyPath() string                        { return b.ready }
func (b *base) EmptyPage() bool                          { return b.emptyPage }
func (b *base) MissingPageHint() string                  { return b.noPage }
func (b *base) Answers() []Signal                        { return b.answers }
func (b *base) Quirks(*Page) Quirks                      { return b.quirks }
func (b *base) Stream(string, *Page) (Stream, string)    { return b.stream, b.mute }

// Iterations and the others say that a kind has nothing of the sort.
func (*base) Iterations() *IterationStats                       { return nil }
func (*base) StockVersion(*Facts, *Page) (version, none string) { return "", "" }
func (*base) Unserved(*Page, *Facts, []ModelState) string       { return "" }
func (*base) CountsFailures(p *Page) bool                       { return p.Has(RequestsFailed) }
func (*base) NotShown() []NotShown                              { return nil }
func (*base) Tier(*Page) Tier                                   { return "" }
func (*base) Meanings() []Meaning                               { return nil }
func (*base) Generation(*Page, *Facts) (Generation, string)     { return "", "" }
func (*base) Determinism(*Facts, *Page) []target.Check          { return nil }
func (*base) isIt(context.Context, *questions) string           { return "" }
func (*base) hint(context.Context, *questions) (likely string)  { return "" }

// Ask implements Engine: most servers have OpenAI's list of models, and some say
// their version.
func (b *base) Ask(ctx context.Context, ask Asker, address string, _ func(Facts)) Facts {
	var f Facts
	if b.kind == Unknown {
		return f
	}
	q := &questions{ask: ask, base: address}
	if b.versionAt != "" {
		v, _ := q.text(ctx, b.versionAt, b.versionKey)
		f.EngineVersion = plainVersion(v)
		f.Shown = b.owner == "" && f.EngineVersion != ""
	}
	q.askModels(ctx, b.owner, &f)
	return f
}

// Health implements Engine.
func (b *base) Health(ctx context.Context, ask Asker, address string) Health {
	if b.ready == "" {
		return Health{}
	}
	h, _ := readiness(ctx, ask, address+b.ready)
	switch b.live {
	case "":
	case b.ready:
		h.answered()
	default:
		status, _, body, err := ask.Do(ctx, http.MethodGet, address+b.live, nil, answerLimit)
		said := healthOf(b.live, status, body, err)
		h.Live, h.LiveKnown = said.API == APIReady, said.API == APIReady || said.API == APINotReady
	}
	return h
}

// judge implements Engine for servers of which nothing is known.
func (*base) judge(_ string, k *Known) target.Check {
	return k.config(no("this kind of server does not expose its config", ""))
}

// arrange implements Engine: series that name no model are of the only one, and
// of several that are listed clients call the first, for adapters come after
// their model.
func (*base) arrange(t *Topology, seen Seen, facts []ModelFacts) {
	if len(seen.Names) == 1 {
		t.fallback = seen.Names[0]
	}
	if len(facts) > 0 {
		t.first = facts[0].Name
	}
}

// None returns the engine of servers that were not recognised: their page is passed
// on, nothing is asked and nothing derived.
func None() Engine {
	return &base{kind: Unknown, path: "/metrics", mute: "the server was not recognised yet"}
}

package engine

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// base has the answers of a kind that never change, and the usual ones to all
// other questions; kinds embed it and answer what is different with them.
type base struct {
	kind Kind
	path string
	// api and grpc are how far the ports of the APIs are from that of the page;
	// 0 is the same port, and for grpc none.
	api, grpc int
	emptyPage bool
	// noPage says why a server may have no page.
	noPage string

	// marks show the kind on a page. A kind whose page is that of another has
	// none, but pageOf. First are kinds that must not be asked for the path of
	// another: detection turns to them before the others.
	marks  []mark
	pageOf Kind
	first  bool

	answers []Signal
	quirks  Quirks
	stream  Stream
	// prefixes begin names that say something of the server although no rule
	// reads them.
	prefixes []string
	// nobody is the model under which a server counts requests for models that
	// it does not serve.
	nobody string
}

// Kind implements Engine.
func (b *base) Kind() Kind { return b.kind }

// MetricsPath implements Engine.
func (b *base) MetricsPath() string { return b.path }

// APIPort implements Engine.
func (b *base) APIPort(metrics int) int { return metrics + b.api }

// GRPCPort implements Engine.
func (b *base) GRPCPort(metrics int) (port int, ok bool) { return metrics + b.grpc, b.grpc != 0 }

// SamePort implements Engine.
func (b *base) SamePort() bool { return b.api == 0 }

// EmptyPage implements Engine.
func (b *base) EmptyPage() bool { return b.emptyPage }

// MissingPageHint implements Engine.
func (b *base) MissingPageHint() string { return b.noPage }

// Ask implements Engine: most servers have OpenAI's list of models, and few say
// their version.
func (*base) Ask(ctx context.Context, ask Asker, address string, _ func(Facts)) Facts {
	var f Facts
	q := &questions{ask: ask, base: address}
	q.askModels(ctx, &f)
	f.Problems = q.problems
	return f
}

// Health implements Engine.
func (*base) Health(context.Context, Asker, string) Health { return Health{} }

// Iterations implements Engine.
func (*base) Iterations() *IterationStats { return nil }

// StockVersion implements Engine.
func (*base) StockVersion(*Facts) (version string, ok bool) { return "", false }

// Meanings implements Engine.
func (*base) Meanings() []Meaning { return nil }

// Answers implements Engine.
func (b *base) Answers() []Signal { return b.answers }

// Quirks implements Engine.
func (b *base) Quirks() Quirks { return b.quirks }

// Generation implements Engine.
func (*base) Generation(*Page, *Facts) (Generation, string) { return "", "" }

// Capability implements Engine.
func (b *base) Capability(name string, k *Known) target.Check {
	switch name {
	case CanHealth:
		return named(name, k.health())
	case CanConfig:
		return named(name, k.config(no("this kind of server tells no config", "")))
	}
	return target.No(name, "this kind of server does not expose it", "")
}

// Determinism implements Engine.
func (*base) Determinism(*Facts, *Page) []target.Check { return nil }

// Stream implements Engine.
func (b *base) Stream(string, *Page) (s Stream, why string) { return b.stream, "" }

func (b *base) data() *base { return b }

func (*base) isIt(context.Context, Asker, string) bool { return false }

func (*base) hint(context.Context, Asker, string) string { return "" }

// arrange has the only model of a server stand for series that name none, and
// the first that is listed for the one that clients call: adapters come after
// their model.
func (*base) arrange(t *Topology, names []string, facts []ModelFacts) {
	if len(names) == 1 {
		t.fallback = names[0]
	}
	if len(facts) > 0 {
		t.first = facts[0].Name
	}
}

// none is a server that was not recognised: its page is passed on, nothing is
// asked and nothing derived.
type none struct{ base }

// None returns the engine of servers that were not recognised.
func None() Engine { return &none{base{kind: Unknown, path: "/metrics"}} }

// Ask implements Engine.
func (*none) Ask(context.Context, Asker, string, func(Facts)) Facts { return Facts{} }

// Stream implements Engine.
func (*none) Stream(string, *Page) (s Stream, why string) {
	return s, "the server was not recognised yet"
}

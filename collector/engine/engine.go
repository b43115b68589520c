package engine

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Kind names a kind of server; it is the value of label engine.
type Kind string

// Unknown is the kind of a target that was not recognized yet.
const Unknown Kind = "unknown"

// Engine describes one kind of server. Values are constant and safe for concurrent use. Arguments
// of type *Page and *Facts may be nil unless stated otherwise. Reasons and hints are sentences for
// users.
type Engine interface {
	Kind() Kind

	// MetricsPath returns the path of the page of a target that sets none.
	MetricsPath() string
	// APIPort returns the port of the HTTP API, given the port of the page.
	APIPort(metrics int) int
	// GRPCPort returns the port of the gRPC API, given the port of the page; ok is false for kinds
	// without one.
	GRPCPort(metrics int) (port int, ok bool)
	// SamePort reports whether page and API share a port.
	SamePort() bool
	// EmptyPage reports whether a page without samples is valid.
	EmptyPage() bool
	// MissingPageHint explains why a server of the kind may have no page; empty when there is
	// nothing to explain.
	MissingPageHint() string

	// Ask asks the API about version and models. A request that fails costs only its own fact. If
	// early is not nil, it may be called once with the facts received so far while another request
	// is pending.
	Ask(ctx context.Context, client Client, address string, early func(Facts)) Facts
	// Health asks the API whether the server is live and ready.
	Health(ctx context.Context, client Client, address string) Health
	// ReadyPath returns an API path that answers 200 only while the last result of Health still
	// holds; empty for kinds without one.
	ReadyPath() string
	// Unserved explains why a ready server serves none of its models; empty when it serves one, or
	// when that is not known.
	Unserved(p *Page, f *Facts, models []ModelState) string
	// IterationsPath returns the API path of iteration statistics; empty for kinds without them.
	// Reading takes rows away from other readers.
	IterationsPath() string
	// StockVersion returns the TensorRT-LLM version of the server's stock image; empty when no
	// table lists it or nothing shows that TensorRT-LLM is in use. none explains that the release
	// has no such image.
	StockVersion(f *Facts, p *Page) (version, none string)

	// Meanings returns the meanings of the kind's series.
	Meanings() []Meaning
	// Answers returns the signals that come from the API.
	Answers() []Signal
	// Quirks returns the quirks of a page, or the usual ones of the kind for nil.
	Quirks(p *Page) Quirks
	// CountsFailures reports whether the page counts every failed request. Servers that count
	// failures by model are judged by the model instead.
	CountsFailures(p *Page) bool
	// Tier returns the server's position in a pool with a router. The page is not nil.
	Tier(p *Page) Tier

	// Generation names the set of series that the page shows, with the reason. The page is not nil.
	Generation(p *Page, f *Facts) (Generation, string)
	// Determinism checks whether the server's configuration makes equal requests give equal
	// answers. Checks without evidence are left out.
	Determinism(f *Facts, p *Page) []target.Check
	// Stream returns how to request a streamed answer, or why not to. version is the server's own;
	// it may be empty or "unknown".
	Stream(version string, p *Page) (s Stream, why string)

	// data returns the constants of the kind.
	data() *base
	// judge judges one of [CapabilityNames]; see [Capabilities] for those that are judged alike for
	// all kinds.
	judge(name string, k *Knowledge) target.Check
	// identify sends requests that only this kind answers, and returns what shows the kind; empty
	// when the server is of another. A kind without marks is compared only with the kinds whose
	// page it shows.
	identify(ctx context.Context, q *questions) string
	// agree reports whether an API with these facts belongs to the page.
	agree(p *Page, f *Facts) Trust
	// hint explains what an address without a known page may be.
	hint(ctx context.Context, q *questions) string
	// arrange sets roles, ids and treatments of the models of a topology.
	arrange(t *Topology, named NamedModels, facts []ModelFacts)
}

// Stream describes how a kind of server streams answers to its clients.
type Stream struct {
	// Generate is true for Triton's generate_stream, false for the OpenAI API.
	Generate bool
	// Usage and Seed allow stream_options and seed in requests to the OpenAI API. trtllm-serve
	// rejects unknown keys (openai_protocol.py, extra="forbid") and knows both; NIM 1.x contains a
	// vLLM that rejects stream_options.
	Usage, Seed bool
	// IgnoreEOS allows ignore_eos.
	IgnoreEOS bool
}

// Client sends one request to a server's API and returns the status and at most limit bytes of the
// body.
type Client interface {
	Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
}

// answerLimit bounds the body of one answer; a repository index of thousands of models is smaller.
const answerLimit = 4 << 20

// registry holds the kinds, sorted by name. It does not change after init.
//
//nolint:gochecknoglobals // constant once the program has started.
var registry []Engine

// register adds a kind to the registry. It returns the kind so that a package-level variable can
// call it.
func register(e Engine) Engine { //nolint:unparam // Without a result it could not be called there.
	registry = append(registry, e)
	slices.SortFunc(registry, func(a, b Engine) int { return strings.Compare(string(a.Kind()), string(b.Kind())) })
	return e
}

// All returns all kinds, sorted by name.
func All() []Engine { return slices.Clone(registry) }

// ByName returns the kind of that name; ok is false for "auto", "unknown" and misspelled names.
func ByName(kind string) (e Engine, ok bool) {
	i := slices.IndexFunc(registry, func(e Engine) bool { return string(e.Kind()) == kind })
	if i < 0 {
		return nil, false
	}
	return registry[i], true
}

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

// Unknown is the kind of a target that was not recognised yet.
const Unknown Kind = "unknown"

// Engine is one kind of server. Values are constant and safe for concurrent
// use. Only this package makes them: a kind embeds base, which has the usual
// answers, and adds itself with register.
type Engine interface {
	// Kind is the kind's name.
	Kind() Kind

	// MetricsPath is the path of the page when the target names none.
	MetricsPath() string
	// APIPort is the port of the server's own API, given that of its page.
	APIPort(metrics int) int
	// GRPCPort is the port of the server's gRPC API, given that of its page;
	// false for kinds that have none.
	GRPCPort(metrics int) (port int, ok bool)
	// SamePort says whether page and API share a port.
	SamePort() bool
	// EmptyPage says whether a page without samples is a good page.
	EmptyPage() bool
	// NotShown is what no page of the kind shows, whatever is computed from it.
	NotShown() []NotShown
	// MissingPageHint says why a server of the kind may have no page at all,
	// for people; empty when nothing is known.
	MissingPageHint() string

	// Ask puts the slow questions of identity to an API. A question that fails
	// costs only its fact. Early, if it is not nil, may be called once before Ask
	// returns, with what is known while a question is still open.
	Ask(ctx context.Context, ask Asker, address string, early func(Facts)) Facts
	// Health asks whether the server is there and ready.
	Health(ctx context.Context, ask Asker, address string) Health
	// ReadyPath is the path of the API that answers 200 while the server is ready
	// and nothing else that Health asks for has changed without a sign; empty for
	// kinds that have none.
	ReadyPath() string
	// Unserved says why a server that is ready serves none of the models that it
	// is there for, for people; empty where it serves one, or nothing is known.
	// The page may be nil.
	Unserved(p *Page, f *Facts, models []ModelState) string
	// Iterations says where the server hands out statistics of its iterations
	// and how to read them; nil where it does not.
	Iterations() *IterationStats
	// StockVersion returns the TensorRT-LLM version that the stock image of a server
	// has which answered this and has that page; empty where no table says it, or
	// nothing shows that TensorRT-LLM is in use. None says, for people, that the
	// release has no such image. The page may be nil.
	StockVersion(f *Facts, p *Page) (version, none string)

	// Meanings are the kind's series in our words, Answers what its API answers
	// apart from them.
	Meanings() []Meaning
	Answers() []Signal
	// Quirks are ways of the numbers of a page that rules have to know, or without
	// a page those of most pages of the kind.
	Quirks(p *Page) Quirks
	// CountsFailures says whether a request that failed would be counted on the
	// page; where each model counts its own, that is known of the model.
	CountsFailures(p *Page) bool
	// Tier is the server's place in a pool with a router; empty for most. The page
	// is not nil.
	Tier(p *Page) Tier

	// Generation is which of the kind's pages this is, with the reason for
	// people. The page is not nil; facts are nil while nothing was answered.
	Generation(p *Page, f *Facts) (Generation, string)
	// Determinism checks what the server's configuration says of equal answers
	// to equal requests; checks of which nothing is known are left out.
	Determinism(f *Facts, p *Page) []target.Check
	// Stream says how the server can be asked for a streamed answer; where it
	// cannot, or had better not be, why, for people. Version is the server's
	// own, empty or "unknown" while it is not known; the page may be nil.
	Stream(version string, p *Page) (s Stream, why string)

	// data are the answers that never change.
	data() *base
	// judge judges whether one of [CapabilityNames] can be known; that of health and
	// of cancelled requests is the same for all kinds.
	judge(name string, k *Known) target.Check
	// isIt asks the address of a page for what only this kind answers: of all
	// kinds, or, for one without marks, of those with its page. It says what that
	// was, for people; empty when it is not of this kind.
	isIt(ctx context.Context, q *questions) string
	// agree says whether an API that answered this has the models of a page.
	agree(p *Page, f *Facts) Trust
	// hint says what an address without a known page may be, for people.
	hint(ctx context.Context, q *questions) string
	// arrange orders the models of a topology: which are parts of which, and
	// how each treats its requests.
	arrange(t *Topology, seen Seen, facts []ModelFacts)
}

// Stream is how a kind of server streams answers to its clients.
type Stream struct {
	// Generate is true for Triton's generate_stream, false for OpenAI's API.
	Generate bool
	// Usage and Seed say that requests to OpenAI's API may have stream_options
	// and seed. trtllm-serve refuses keys that it does not know
	// (openai_protocol.py, extra="forbid"), and knows both; NIM 1.x is built on
	// a vLLM that did the same before it knew stream_options.
	Usage, Seed bool
	// IgnoreEOS says that they may have ignore_eos.
	IgnoreEOS bool
}

// Asker puts one question to a server's API and returns the status and at
// most limit bytes of the body.
type Asker interface {
	Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
}

// answerLimit bounds the body of one answer; a repository index of thousands
// of models stays below it.
const answerLimit = 4 << 20

// registry are the kinds by name. Each adds itself while the program starts;
// nothing changes it later.
//
//nolint:gochecknoglobals // constant once the program has started.
var registry []Engine

// register adds a kind of server; a package-level variable takes the result.
func register(e Engine) Engine { //nolint:unparam // Without a result it could not be called there.
	registry = append(registry, e)
	slices.SortFunc(registry, func(a, b Engine) int { return strings.Compare(string(a.Kind()), string(b.Kind())) })
	return e
}

// All are the kinds of servers by name.
func All() []Engine { return slices.Clone(registry) }

// Of returns the engine of a kind; false for auto, unknown and misspelt ones.
func Of(kind string) (Engine, bool) {
	for _, e := range registry {
		if string(e.Kind()) == kind {
			return e, true
		}
	}
	return nil, false
}

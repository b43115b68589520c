package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// Server is a generation of a kind of server in its usual configuration.
type Server struct {
	Name string
	Kind engine.Name
	// Facts holds the answers of its API.
	Facts engine.Facts
	// Counts lists the classes that its page counts, TakenAsOK those that it counts as ok;
	// Only is set if it counts accepted requests, whatever their outcome.
	Counts, TakenAsOK []engine.Class
	Only              bool

	// spec is the simulated server, cached the number of tokens of each prompt in its KV cache.
	spec   simulate.Spec
	cached int
	// deviate changes pages as a release or mode does that is not simulated; it may be nil.
	deviate func(b *Book, page func(*Book) string) string
}

// Servers returns the servers of every kind and generation. Those that need no code in simulate follow
// from their pages.
func Servers() []Server {
	all := slices.Concat(tritons(), serves(), nims(), dynamos(), vllms(), sglangs())
	for _, kind := range simulate.Kinds() {
		listed := slices.ContainsFunc(all, func(s Server) bool { return s.spec.Kind == kind })
		if kind.Product() != "" && !listed {
			all = append(all, simple(kind))
		}
	}
	return all
}

// simple returns a server that needs no code in simulate.
func simple(kind simulate.Kind) Server {
	s := Server{Name: kind.Product(), Kind: engine.Name(kind), spec: served(kind, "")}
	replica, err := simulate.NewReplica(s.spec)
	if err != nil {
		return s // Pages returns the error.
	}
	s.Facts = singleModel(replica.Spec().EngineVersion)
	s.Counts = counted(replica)
	return s
}

// counted returns the classes of requests that change a page when they end.
func counted(replica *simulate.Replica) (all []engine.Class) {
	page := func(ended Book) string {
		replica.SetTotals(ended.totals())
		return string(replica.Page())
	}
	nothing := page(Book{})
	for _, class := range engine.Classes() {
		if page(Book{Ended: map[engine.Class]int{class: 1}}) != nothing {
			all = append(all, class)
		}
	}
	return all
}

// served returns the spec of a server with eight slots.
func served(kind simulate.Kind, release string) simulate.Spec {
	return simulate.Spec{
		Kind:          kind,
		EngineVersion: release,
		Model:         "llama",
		Engine:        simulate.Engine{MaxActive: 8, KVBlocks: 1000},
		Setup:         simulate.Setup{CalledOnly: true},
	}
}

// Pages returns a function that returns a server's page.
func (s *Server) Pages() (func(b *Book) string, error) {
	replica, err := simulate.NewReplica(s.spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	page := func(b *Book) string {
		totals := b.totals()
		totals.Cached = s.cached
		replica.SetTotals(totals)
		return string(replica.Page())
	}
	if s.deviate == nil {
		return page, nil
	}
	return func(b *Book) string { return s.deviate(b, page) }, nil
}

// answerTokens is how many tokens each answer has.
const answerTokens = 100

// totals returns what has happened to requests of equal length and duration.
func (b *Book) totals() *simulate.Totals {
	count := func(class engine.Class) uint64 { return uint64(b.Ended[class]) }
	return &simulate.Totals{
		Started:    b.Started,
		Now:        b.Now,
		Begun:      uint64(b.begun()),
		OK:         count(engine.ClassOK),
		Canceled:   count(engine.ClassCanceled),
		Client:     count(engine.ClassClient),
		Failed:     count(engine.ClassServer),
		Crashed:    uint64(b.Crashed),
		Overload:   count(engine.ClassOverload),
		Steps:      uint64(b.Steps),
		Tokens:     uint64(b.Tokens),
		Paused:     uint64(b.Preempted),
		Running:    b.Running,
		Waiting:    b.Waiting,
		Arrived:    b.Arrived,
		Unanswered: b.Unanswered,
		Prompt:     200,
		KVBlocks:   cmp.Or(b.Blocks, 30),
		Latency: simulate.Latency{
			Output: answerTokens,
			Queue:  50 * time.Millisecond,
			TTFT:   400 * time.Millisecond,
			TPOT:   8 * time.Millisecond,
			E2E:    2 * time.Second,
		},
	}
}

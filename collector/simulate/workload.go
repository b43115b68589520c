package simulate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"
)

// Workload configures the clients. Zero fields but Rate and shares have defaults.
type Workload struct {
	// Rate is the mean number of requests per second; arrivals are a Poisson process.
	Rate float64
	// These are mean lengths in tokens; Spread is the sigma of their lognormal.
	PromptTokens, OutputTokens int
	Spread                     float64
	// MaxPrompt and MaxOutput cap the drawn lengths.
	MaxPrompt, MaxOutput int
	// SharedPrefix is the share [0,1] of requests that begin with one of prefixGroups
	// prefixes of PrefixTokens tokens, whose KV blocks are reused.
	SharedPrefix float64
	PrefixTokens int
	// ErrorRate is the share [0,1] of requests that fail in the executor, AbandonRate of
	// requests whose client leaves early.
	ErrorRate, AbandonRate float64
}

// prefixGroups is the number of shared prefixes.
const prefixGroups = 4

// DefaultWorkload returns a chat-like load of one request per second.
func DefaultWorkload() Workload {
	return Workload{
		Rate: 1, PromptTokens: 400, OutputTokens: 120, Spread: 0.8, MaxPrompt: 4096, MaxOutput: 1024,
		SharedPrefix: 0.5, PrefixTokens: 256,
	}
}

func (w Workload) withDefaults() Workload {
	d := DefaultWorkload()
	setDefault(&w.PromptTokens, d.PromptTokens)
	setDefault(&w.OutputTokens, d.OutputTokens)
	setDefault(&w.Spread, d.Spread)
	setDefault(&w.MaxPrompt, d.MaxPrompt)
	setDefault(&w.MaxOutput, d.MaxOutput)
	setDefault(&w.PrefixTokens, d.PrefixTokens)
	return w
}

func setDefault[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }

// never is a time that never comes.
const never = time.Duration(math.MaxInt64)

// clients draws the requests to one replica, independent of the state of the server.
type clients struct {
	load Workload
	rng  *rand.Rand
	next time.Duration
}

func newClients(load Workload, seed uint64) *clients {
	c := &clients{load: load.withDefaults(), rng: rand.New(rand.NewPCG(seed, 0xc11e47))}
	c.schedule(0)
	return c
}

func (c *clients) schedule(now time.Duration) {
	if c.load.Rate <= 0 {
		c.next = never
		return
	}
	c.next = now + time.Duration(c.rng.ExpFloat64()/c.load.Rate*float64(time.Second))
}

// arrive draws the request that arrives at c.next and schedules the next one.
func (c *clients) arrive() *request {
	now := c.next
	r := &request{group: -1, reason: "stop", timing: timing{arrived: now}}
	r.prompt = c.length(c.load.PromptTokens, c.load.MaxPrompt)
	r.output = c.length(c.load.OutputTokens, c.load.MaxOutput)
	if c.rng.Float64() < c.load.SharedPrefix {
		r.group = c.rng.IntN(prefixGroups)
		r.prompt = min(r.prompt+c.load.PrefixTokens, c.load.MaxPrompt)
	}
	if c.rng.Float64() < 0.25 {
		r.reason = "length"
	}
	r.fails = c.rng.Float64() < c.load.ErrorRate
	r.abandoned = c.rng.Float64() < c.load.AbandonRate
	r.preTime = time.Duration(600+c.rng.IntN(1400)) * time.Microsecond
	r.postTime = time.Duration(200+c.rng.IntN(500)) * time.Microsecond
	c.schedule(now)
	return r
}

// length draws a lognormal length with the given mean, in [1, limit].
func (c *clients) length(mean, limit int) int {
	sigma := c.load.Spread
	mu := math.Log(float64(mean)) - sigma*sigma/2
	return max(1, min(limit, int(math.Exp(mu+sigma*c.rng.NormFloat64()))))
}

// request is one request. Its times are simulated, since the creation of the replica.
type request struct {
	prompt, output int
	group          int // Prefix group, -1 for none.
	reason         string
	sink           func(streamEvent)

	fails, abandoned, stuck bool
	timing
	progress
}

// timing has the times of a request.
type timing struct{ arrived, scheduled, firstToken, lastToken, preTime, postTime time.Duration }

// progress is the progress of a request in the executor.
type progress struct {
	context   int // Context tokens in the KV cache.
	target    int // Context tokens to compute: the prompt, and after a pause the generated ones.
	cached    int // Prompt tokens found in the KV cache.
	generated int
	blocks    int // KV blocks of its own.
	chunk     int // Context tokens of the running iteration.

	shared, paused, decoding bool
}

// inContext reports whether the request still computes its context.
func (r *request) inContext() bool { return r.context < r.target }

// streamEvent is an event for the client of a request.
type streamEvent struct {
	token        int // The number of the token, from 1.
	done, failed bool
}

func (r *request) send(e streamEvent) {
	if r.sink != nil {
		r.sink(e)
	}
}

package simulate

// family is a family of a page: what it shows of a server's requests, which makes it a gauge, a counter
// or a histogram, and under which name.
type family struct {
	name  string
	shows quantity
	help  string
	// labels are names and values, alternating, beside those of all series of the page.
	labels []string
	// buckets returns a histogram without observations, by default with the buckets of vLLM.
	buckets func() *histogram
}

// quantity is something to know about the requests of a server. It returns a gauge as float64, a counter
// as uint64 or reasonCounts, a histogram as observed.
type quantity func(w *world, b *booked) any

// observed is where a histogram is, and what makes one with the buckets of vLLM.
type observed struct {
	in    **histogram
	usual func() *histogram
}

func requestsRunning(w *world, b *booked) any {
	return float64(min(b.last.scheduled, w.engine.inFlight()))
}

func requestsWaiting(w *world, b *booked) any {
	return float64(max(0, w.engine.inFlight()-b.last.scheduled))
}

func requestLimit(w *world, _ *booked) any { return float64(w.spec.Engine.MaxActive) }

// kvCacheUse is that of the last step.
func kvCacheUse(w *world, b *booked) any {
	return float64(b.last.kvUsed) / float64(w.spec.Engine.KVBlocks)
}

// Tokens of prompts are counted as they are computed, or with the first token of the answer.

func tokensComputed(_ *world, b *booked) any  { return b.context }
func tokensOfPrompts(_ *world, b *booked) any { return b.begun.prompt }
func tokensCached(_ *world, b *booked) any    { return b.begun.cached }
func tokensGenerated(_ *world, b *booked) any { return b.generated }

// Requests by reason include canceled ones.

func requestsEnded(_ *world, b *booked) any         { return b.requests }
func requestsEndedByReason(_ *world, b *booked) any { return b.reasons }
func requestsFailed(_ *world, b *booked) any        { return b.failures }

// Times and lengths of each request, but for the times between tokens.

func firstTokenTime(_ *world, b *booked) any { return observed{&b.ttft, firstTokenTimes} }
func betweenTokens(_ *world, b *booked) any  { return observed{&b.itl, tokenTimes} }
func timePerToken(_ *world, b *booked) any   { return observed{&b.tpot, tokenTimes} }
func requestTime(_ *world, b *booked) any    { return observed{&b.e2e, requestTimes} }
func queueTime(_ *world, b *booked) any      { return observed{&b.queue, requestTimes} }
func prefillTime(_ *world, b *booked) any    { return observed{&b.prefill, requestTimes} }
func decodeTime(_ *world, b *booked) any     { return observed{&b.decode, requestTimes} }
func inferenceTime(_ *world, b *booked) any  { return observed{&b.inference, requestTimes} }
func promptLength(_ *world, b *booked) any   { return observed{&b.promptEach, tokenCounts} }
func answerLength(_ *world, b *booked) any   { return observed{&b.generationEach, tokenCounts} }
func computedLength(_ *world, b *booked) any { return observed{&b.computedEach, tokenCounts} }

// observe creates the histograms of families.
func (b *booked) observe(w *world, families []family) {
	for _, f := range families {
		h, ok := f.shows(w, b).(observed)
		switch {
		case !ok:
		case f.buckets != nil:
			*h.in = f.buckets()
		default:
			*h.in = h.usual()
		}
	}
}

// show writes a family.
func (p *page) show(w *world, b *booked, prefix, labels string, f *family) {
	name := prefix + f.name
	labels = labeled(labels, f.labels)
	switch v := f.shows(w, b).(type) {
	case float64:
		p.one("gauge", name, f.help, labels, v)
	case uint64:
		p.one("counter", name, f.help, labels, float64(v))
	case observed:
		p.histogram(name, f.help, labels, *v.in)
	case reasonCounts:
		p.family("counter", name, f.help)
		for _, c := range v {
			p.add(with(labels, "finished_reason", c.reason), c.n)
		}
	}
}

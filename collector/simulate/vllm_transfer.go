package simulate

import "time"

// Stage is what a server does of each request; all of it by default.
type Stage string

const (
	// StagePrefill computes the KV cache of the prompt, and one token.
	StagePrefill Stage = "prefill"
	// StageDecode fetches the KV cache from a prefill server, in Engine.PerContextToken a token, and generates
	// the answer.
	StageDecode Stage = "decode"
)

const (
	// kvBytesPerToken is the KV cache of a token of a model with 64 layers and 8 heads of 128 in FP8.
	kvBytesPerToken = 131072
	// slowness is how many times as long a transfer over a slow link takes, which loses one of lostOf.
	slowness, lostOf = 12, 4
)

// SlowLink makes the KV caches that a decode server fetches slow, and every fourth be lost, or ends that.
// The prompt of a lost one is computed in the time of the transfer.
func (r *Replica) SlowLink(on bool) {
	r.do(func(r *Replica) {
		r.w.slowLink = on
		r.w.engine.cfg.PerContextToken = r.w.perTransferred()
	})
}

// perTransferred returns how long the KV cache of a token takes.
func (w *world) perTransferred() time.Duration {
	if w.slowLink {
		return slowness * w.spec.Engine.PerContextToken
	}
	return w.spec.Engine.PerContextToken
}

// transfers counts the KV caches that a vLLM fetched by NIXL.
type transfers struct {
	times, bytes         *histogram
	asked, fetched, lost uint64 // Of these, fetched counts tokens.
}

func newTransfers() transfers {
	bounds := make([]float64, 0, 13)
	for b := 1 << 11; len(bounds) < cap(bounds); b <<= 2 {
		bounds = append(bounds, float64(b))
	}
	return transfers{
		times: newHistogram(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5),
		bytes: newHistogram(bounds...),
	}
}

// fetch counts what a request had to fetch. Nothing moves what is cached already.
func (t *transfers) fetch(w *world, r *request) {
	tokens := r.prompt - r.cached
	t.asked++
	if w.slowLink && t.asked%lostOf == 0 {
		t.lost++
		return
	}
	t.fetched += uint64(tokens)
	t.times.observe((time.Duration(tokens) * w.perTransferred()).Seconds())
	t.bytes.observe(float64(tokens * kvBytesPerToken))
}

// transfers writes what a vLLM with a NIXL connector shows of its transfers. The prefill server counts those
// that nobody fetched in time.
func (p *vllmWriter) transfers() {
	t := &p.s.transfers
	switch {
	case p.s.w.spec.Transfers:
		t = transfersOf(p.s.requests - p.mooncake())
	case p.s.w.spec.Stage == "":
		return
	}
	p.each("nixl_xfer_time_seconds", "Histogram of transfer duration for NIXL KV Cache transfers.", t.times)
	p.each("nixl_bytes_transferred", "Histogram of bytes transferred per NIXL KV Cache transfers.", t.bytes)
	p.count("nixl_num_failed_transfers", "Number of failed NIXL KV Cache transfers.", t.lost)
	p.count("nixl_num_failed_notifications", "Number of failed NIXL KV Cache notifications.", 0)
	p.count("nixl_num_kv_expired_reqs", "Number of requests that had their KV expire.", 0)
}

// mooncake writes what a vLLM shows whose other connector is one to Mooncake, which sends caches as well as it
// receives them, and returns how many: half of all, in releases that count them.
func (p *vllmWriter) mooncake() uint64 {
	const times = "mooncake_xfer_time_seconds"
	if p.lacks(times) {
		return 0
	}
	n := p.s.requests / 2
	t := transfersOf(n)
	p.each(times, "Histogram of transfer duration for Mooncake KV Cache transfers.", t.times)
	p.each("mooncake_bytes_transferred", "Histogram of bytes transferred per Mooncake KV Cache transfer.", t.bytes)
	p.count("mooncake_num_failed_transfers", "Number of failed Mooncake KV Cache transfers.", t.lost)
	p.count("mooncake_num_failed_recvs", "Number of failed Mooncake KV Cache receives.", 2)
	p.count("mooncake_num_kv_expired_reqs", "Number of requests that had their KV expire.", 3)
	return n
}

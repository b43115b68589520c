package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

// result is what one peer took for one fleet.
type result struct {
	Peer     string
	Targets  int
	Interval time.Duration
	// Version is what the peer says of itself.
	Version string
	// Failed is why there is nothing else here.
	Failed string `json:",omitempty"`
	// Start is from the start to the first page on which all series of all targets were.
	Start time.Duration
	// Scrape is µs of processor time a sample of the servers. Asked is how many
	// questions besides the page there were for each scrape.
	Scrape, Asked float64
	// Plain and Gzip are reads by one reader.
	Plain, Gzip reads
	// Many are reads with gzip by several readers.
	Many []reads
	pickReads
	// Peak is the most memory that was resident, in bytes.
	Peak int64
}

// pickReads are reads of five families: Pick is µs of processor time of one, PickP50 and
// PickP99 how long it took; 0 where it was not measured.
type pickReads struct {
	Pick             float64
	PickP50, PickP99 time.Duration
}

// cost is µs of processor time a sample of the servers of what is done once an
// interval: a scrape and a read.
func (r *result) cost() float64 { return r.Scrape + r.Gzip.Cost }

// memory is the most that was resident with no more than one reader, in bytes.
func (r *result) memory() int64 { return r.Gzip.Peak }

// plan says how long is measured.
type plan struct {
	interval time.Duration
	// scrapes is how many scrapes each target has had, and warm how long a peer has run,
	// whichever comes first, before it is measured: that it just began is not what is
	// compared.
	scrapes int64
	warm    time.Duration
	// window is how long scraping, and reads of each coding, are measured.
	window time.Duration
	// most is how long a round of many readers may take.
	most time.Duration
	// many are the numbers of readers.
	many []int
}

// measure runs one peer over a fleet: it waits until all targets are on its page and known; measures scraping alone, and then reads.
func (p *peer) measure(ctx context.Context, f *fleet, plan *plan) (r result, err error) {
	r = result{Peer: p.name, Targets: len(f.addresses), Interval: plan.interval, Version: p.version(ctx)}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	address, err := freeAddress(ctx)
	if err != nil {
		return r, err
	}
	cmd, err := p.command(ctx, &job{f, dir, address, plan.interval})
	if err != nil {
		return r, err
	}
	before, begin := f.counts(), time.Now()
	ctx, running, err := start(ctx, cmd)
	if err != nil {
		return r, err
	}
	defer running.stop()
	if err := p.observe(ctx, &r, &run{running, f, address, before, begin}, plan); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return r, err
	}
	r.Peak, err = running.peak()
	return r, err
}

// run is a peer that runs over a fleet, since when, and what scrapes there were before.
type run struct {
	*process
	fleet   *fleet
	address string
	before  []int64
	begin   time.Time
}

// observe measures a peer that runs.
func (p *peer) observe(ctx context.Context, r *result, on *run, plan *plan) error {
	limit := 30*time.Second + 10*plan.interval
	url := "http://" + on.address + p.path
	whole, err := complete(ctx, url, r.Targets, limit)
	if err != nil {
		return err
	}
	r.Start = whole.Sub(on.begin)
	if err := on.warm(ctx, plan); err != nil {
		return err
	}
	rate, err := r.scraping(ctx, on, plan.window)
	if err != nil {
		return err
	}
	if r.Plain, err = r.together(ctx, on.process, url, "", 1, plan.window, rate); err != nil {
		return err
	}
	if r.Gzip, err = r.together(ctx, on.process, url, "gzip", 1, plan.window, rate); err != nil {
		return err
	}
	if err := r.byMany(ctx, on, url, plan, rate); err != nil {
		return err
	}
	if r.Targets > mostPicked || p.pick == "" {
		return nil
	}
	return r.picking(ctx, on.process, "http://"+on.address+p.pick, rate)
}

// byMany measures reads by many readers; numbers that are too many for a peer are left
// out, and why.
func (r *result) byMany(ctx context.Context, on *run, url string, plan *plan, rate float64) error {
	for _, readers := range plan.many {
		if tooMany(readers, r.Gzip.Cost*float64(r.Targets*samples), plan.most) {
			continue
		}
		many, err := r.together(ctx, on.process, url, "gzip", readers, plan.window/2, rate)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			many = reads{Readers: readers, Failed: err.Error()}
		}
		r.Many = append(r.Many, many)
	}
	return nil
}

// warm waits until each target was scraped often enough, or the peer ran for long.
func (on *run) warm(ctx context.Context, plan *plan) error {
	const again = 50 * time.Millisecond
	for {
		if _, fewest := on.fleet.since(on.before); fewest >= plan.scrapes || time.Since(on.begin) >= plan.warm {
			return nil
		}
		if err := pause(ctx, again); err != nil {
			return err
		}
	}
}

// scraping measures scraping alone and gives its processor time a second.
func (r *result) scraping(ctx context.Context, on *run, window time.Duration) (rate float64, err error) {
	before, err := on.processorTime()
	if err != nil {
		return 0, err
	}
	counts, asked, begin := on.fleet.counts(), on.fleet.asked.Load(), time.Now()
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := on.processorTime()
	if err != nil {
		return 0, err
	}
	elapsed := time.Since(begin)
	done, _ := on.fleet.since(counts)
	if expected := float64(r.Targets) * float64(window) / float64(r.Interval); float64(done) < 0.9*expected {
		return 0, fmt.Errorf("%d scrapes, %.0f were due", done, expected)
	}
	r.Scrape = micros(after-before) / float64(done*samples)
	r.Asked = float64(on.fleet.asked.Load()-asked) / float64(done)
	return (after - before).Seconds() / elapsed.Seconds(), nil
}

const (
	// mostPicked is how many targets a picker looks at, at most, pickEvery how often
	// it reads, and picks how many times that is measured.
	mostPicked = 100
	pickEvery  = 50 * time.Millisecond
	picks      = 60
)

// picked are the families that a picker reads.
//
//nolint:gochecknoglobals // constant data.
var picked = []string{
	"nv_inference_pending_request_count", "nv_inference_request_success", "nv_trt_llm_request_metrics",
	"nv_trt_llm_kv_cache_block_metrics", "nv_gpu_utilization",
}

// picking measures reads as a picker does them: of few families, and often.
func (r *result) picking(ctx context.Context, p *process, url string, rate float64) error {
	before, err := p.processorTime()
	if err != nil {
		return err
	}
	ticks, begin, reader := time.NewTicker(pickEvery), time.Now(), newClient()
	defer ticks.Stop()
	defer reader.close()
	took := make([]time.Duration, picks)
	for i := range took {
		<-ticks.C
		asked := time.Now()
		page, err := reader.read(ctx, url, "")
		if err != nil {
			return err
		}
		took[i] = time.Since(asked)
		if err := checkPicked(string(page), r.Targets); err != nil {
			return err
		}
	}
	after, err := p.processorTime()
	r.Pick = readCost(after-before, time.Since(begin), rate, picks)
	r.PickP50, r.PickP99 = quantiles(took)
	return err
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// micros is a duration in microseconds.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// freeAddress is one of the loopback that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

// result holds the measurements of a peer with a fleet.
type result struct {
	Peer     string
	Targets  int
	Interval time.Duration
	// Version is the peer's own version.
	Version string
	// Failed is the reason if it could not be measured.
	Failed string `json:",omitempty"`
	// Start is the time from the start to the first complete page.
	Start time.Duration
	// Scrape is µs of CPU per sample of the servers.
	Scrape float64
	// Plain and Gzip hold the reads by one reader.
	Plain, Gzip reads
	// Many holds gzip reads by several readers.
	Many []reads
}

// cost returns µs of CPU per sample of the servers for a scrape and a read.
func (r *result) cost() float64 { return r.Scrape + r.Gzip.Cost }

// memory returns the peak resident memory with one reader, in bytes.
func (r *result) memory() int64 { return r.Gzip.Peak }

// plan defines how to measure.
type plan struct {
	// interval is the scrape interval and that of each reader, window how long scrapes, and
	// reads of each encoding, are measured.
	interval, window time.Duration
	// many lists the numbers of concurrent readers.
	many []int
}

const (
	// Measurement starts warmIntervals after the page is complete: with each of the first nine scrapes
	// of a target the exporter requests more pages, over other connections.
	warmIntervals = 10
	// manyLimit is how long a round of many readers may take.
	manyLimit = 15 * time.Second
)

// measure runs a peer over a fleet, waits for a complete page, and measures scrapes alone,
// then reads.
func (p *peer) measure(ctx context.Context, f *fleet, plan *plan) (r result, err error) {
	r = result{Peer: p.name, Targets: len(f.addresses), Interval: plan.interval, Version: p.version}
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
	begin := time.Now()
	ctx, running, err := start(ctx, cmd)
	if err != nil {
		return r, err
	}
	defer running.stop()
	err = p.observe(ctx, &r, &run{running, f, address, begin}, plan)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return r, err
}

// run is a running peer, with its start time.
type run struct {
	*process
	fleet   *fleet
	address string
	begin   time.Time
}

// observe measures a running peer.
func (p *peer) observe(ctx context.Context, r *result, running *run, plan *plan) error {
	limit := 30*time.Second + 10*plan.interval
	url := "http://" + running.address + p.path
	completed, err := complete(ctx, url, r.Targets, limit)
	if err != nil {
		return err
	}
	r.Start = completed.Sub(running.begin)
	if err := pause(ctx, warmIntervals*plan.interval); err != nil {
		return err
	}
	scrapeRate, err := r.scraping(ctx, running, plan.window)
	if err != nil {
		return err
	}
	if r.Plain, err = r.together(ctx, running.process, url, "", 1, plan.window, scrapeRate); err != nil {
		return err
	}
	if r.Gzip, err = r.together(ctx, running.process, url, "gzip", 1, plan.window, scrapeRate); err != nil {
		return err
	}
	return r.byMany(ctx, running, url, plan, scrapeRate)
}

// byMany measures reads by many readers. It omits numbers that are too many for the peer.
func (r *result) byMany(ctx context.Context, running *run, url string, plan *plan, scrapeRate float64) error {
	for _, readers := range plan.many {
		if tooMany(readers, r.Gzip.Cost*float64(r.Targets*samplesPerTarget), manyLimit) {
			continue
		}
		many, err := r.together(ctx, running.process, url, "gzip", readers, plan.window/2, scrapeRate)
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

// scraping measures scrapes alone and returns their CPU time per second.
func (r *result) scraping(ctx context.Context, running *run, window time.Duration) (scrapeRate float64, err error) {
	before, err := running.processorTime()
	if err != nil {
		return 0, err
	}
	scrapesBefore, begin := running.fleet.scrapes.Load(), time.Now()
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := running.processorTime()
	if err != nil {
		return 0, err
	}
	elapsed := time.Since(begin)
	done := running.fleet.scrapes.Load() - scrapesBefore
	if expected := float64(r.Targets) * float64(window) / float64(r.Interval); float64(done) < 0.9*expected {
		return 0, fmt.Errorf("%d scrapes, %.0f were due", done, expected)
	}
	r.Scrape = micros(after-before) / float64(done*samplesPerTarget)
	return (after - before).Seconds() / elapsed.Seconds(), nil
}

// pause waits for a duration or until the context ends.
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

// micros returns a duration in microseconds.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// freeAddress returns an unused loopback address.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

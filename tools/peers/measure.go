package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// result is what one peer took for one fleet.
type result struct {
	Peer     string
	Targets  int
	Interval time.Duration
	// Scrape, Plain and Gzip are µs of processor time a sample of the servers: of
	// a scrape, and of a read in addition.
	Scrape, Plain, Gzip float64
	// PlainP50 and the like are how long reads took.
	PlainP50, PlainP99, GzipP50, GzipP99 time.Duration
	PlainBytes, GzipBytes                int
	// Peak is the most memory that was resident, in bytes.
	Peak int64
	// Pick is µs of processor time of a read of five families, PickP50 and PickP99
	// how long it took; 0 where it was not measured.
	Pick             float64
	PickP50, PickP99 time.Duration
	// Version is what the peer says of itself.
	Version string
	// Asked is how many questions besides the page there were for each scrape.
	Asked float64
}

// plan says how long is measured, and how long a peer has after its first whole page
// to come to rest.
type plan struct {
	interval, settle, window time.Duration
	reads                    int
}

// measure runs one peer over a fleet: it waits until all targets are on its page,
// measures scraping alone, then reads of each coding.
func (p *peer) measure(ctx context.Context, f *fleet, plan plan) (r result, err error) {
	r = result{Peer: p.name, Targets: len(f.addresses), Interval: plan.interval}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	address, err := freeAddress(ctx)
	if err != nil {
		return r, err
	}
	cmd, err := p.command(ctx, f, dir, address, plan.interval)
	if err != nil {
		return r, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return r, fmt.Errorf("%s: %w", p.name, err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	url := "http://" + address + p.path
	if err := complete(ctx, url, len(f.addresses), 30*time.Second+10*plan.interval); err != nil {
		return r, fmt.Errorf("%s: %w", p.name, err)
	}
	if err := pause(ctx, plan.settle); err != nil {
		return r, err
	}
	pid := cmd.Process.Pid
	rate, err := r.scraping(ctx, pid, f, plan.window)
	if err != nil {
		return r, err
	}
	total := float64(len(f.addresses) * samples)
	if r.Plain, r.PlainBytes, r.PlainP50, r.PlainP99, err = reading(ctx, pid, url, "", rate, total, plan.reads); err != nil {
		return r, err
	}
	if r.Gzip, r.GzipBytes, r.GzipP50, r.GzipP99, err = reading(ctx, pid, url, "gzip", rate, total, plan.reads); err != nil {
		return r, err
	}
	if len(f.addresses) <= mostPicked {
		if err := r.picking(ctx, pid, "http://"+address+p.pick, rate); err != nil {
			return r, err
		}
	}
	r.Version = p.version(ctx)
	r.Peak, err = peakMemory(pid)
	return r, err
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
func (r *result) picking(ctx context.Context, pid int, url string, rate float64) error {
	before, err := processorTime(pid)
	if err != nil {
		return err
	}
	ticks, begin := time.NewTicker(pickEvery), time.Now()
	defer ticks.Stop()
	took := make([]time.Duration, picks)
	for i := range took {
		<-ticks.C
		asked := time.Now()
		page, err := get(ctx, url, "")
		if err != nil {
			return err
		}
		took[i] = time.Since(asked)
		if err := checkPicked(string(page), r.Targets); err != nil {
			return fmt.Errorf("%s: %w", r.Peer, err)
		}
	}
	after, err := processorTime(pid)
	slices.Sort(took)
	used := (after - before).Seconds() - rate*time.Since(begin).Seconds()
	r.Pick, r.PickP50, r.PickP99 = max(0, used)*1e6/picks, took[picks/2], took[picks*99/100]
	return err
}

// checkPicked says what is wrong with a page of the families that a picker reads.
func checkPicked(page string, targets int) error {
	for _, family := range picked {
		replicas := make(map[string]bool)
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, family+"{") {
				replicas[labelOf(line, "replica_id")] = true
			}
		}
		if len(replicas) != targets {
			return fmt.Errorf("%s of %d replicas, not of %d", family, len(replicas), targets)
		}
	}
	for line := range strings.Lines(page) {
		if name, _, _ := strings.Cut(line, "{"); !strings.HasPrefix(line, "#") && !slices.Contains(picked, name) {
			return fmt.Errorf("%s was not asked for", name)
		}
	}
	return nil
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

// scraping measures scraping alone and gives its processor time a second.
func (r *result) scraping(ctx context.Context, pid int, f *fleet, window time.Duration) (rate float64, err error) {
	before, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	scrapes, asked, begin := f.scrapes.Load(), f.asked.Load(), time.Now()
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	done := float64(f.scrapes.Load() - scrapes)
	if expected := float64(r.Targets) * float64(window) / float64(r.Interval); done < 0.9*expected {
		return 0, fmt.Errorf("%s: %.0f scrapes, %.0f were due", r.Peer, done, expected)
	}
	r.Scrape = micros(after-before) / (done * samples)
	r.Asked = float64(f.asked.Load()-asked) / done
	return (after - before).Seconds() / time.Since(begin).Seconds(), nil
}

// reading measures reads of one coding; what scraping takes meanwhile is not
// counted.
func reading(ctx context.Context, pid int, url, coding string, rate, total float64, reads int) (cost float64, size int, p50, p99 time.Duration, err error) {
	const apart = 150 * time.Millisecond // no two readers share a page.
	before, err := processorTime(pid)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	begin := time.Now()
	took := make([]time.Duration, reads)
	for i := range took {
		asked := time.Now()
		body, err := get(ctx, url, coding)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		took[i], size = time.Since(asked), len(body)
		if err := pause(ctx, apart); err != nil {
			return 0, 0, 0, 0, err
		}
	}
	after, err := processorTime(pid)
	slices.Sort(took)
	used := (after - before).Seconds() - rate*time.Since(begin).Seconds()
	return max(0, used) * 1e6 / float64(reads) / total, size, took[reads/2], took[reads*99/100], err
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

// get reads a page as it is sent.
func get(ctx context.Context, url, coding string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	// Setting it, also to nothing, keeps net/http from asking for gzip by itself.
	request.Header.Set("Accept-Encoding", coding)
	response, err := new(http.Client).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	if got := response.Header.Get("Content-Encoding"); got != coding {
		return nil, fmt.Errorf("%s: coded as %q, not %q", url, got, coding)
	}
	return io.ReadAll(response.Body)
}

// complete waits until the page has all series of all targets with their labels,
// plain and compressed.
func complete(ctx context.Context, url string, targets int, limit time.Duration) error {
	const again = 500 * time.Millisecond
	var missing error
	for begin := time.Now(); time.Since(begin) < limit && pause(ctx, again) == nil; {
		packed, err := get(ctx, url, "gzip")
		if err != nil {
			missing = err
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return err
		}
		page, err := io.ReadAll(z)
		if err != nil {
			return err
		}
		if missing = check(string(page), targets); missing == nil {
			return nil
		}
	}
	return fmt.Errorf("page is not whole after %s: %w", limit, missing)
}

// check says what is wrong with a page.
func check(page string, targets int) error {
	count, replicas := 0, make(map[string]bool)
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, ofServers) {
			continue
		}
		count++
		for _, label := range []string{"engine", "engine_version", "trtllm_version", "pool_id", "replica_id"} {
			if value := labelOf(line, label); value == "" {
				return fmt.Errorf("no %s on %s", label, line)
			}
		}
		if labelOf(line, "model") != "" && labelOf(line, "model_id") == "" {
			return fmt.Errorf("no model_id on %s", line)
		}
		replicas[labelOf(line, "replica_id")] = true
	}
	if count != targets*samples || len(replicas) != targets {
		return fmt.Errorf("%d samples of %d replicas, not %d of %d", count, len(replicas), targets*samples, targets)
	}
	return nil
}

// labelOf is the value of a label on a line, empty for none.
func labelOf(line, label string) string {
	for _, before := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(line, before+label+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}

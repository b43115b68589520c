package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"
)

// client reads one page over and over, on one connection and into one buffer.
type client struct {
	http http.Client
	page bytes.Buffer
}

// newClient is one with no connection yet.
func newClient() *client {
	return &client{http: http.Client{Transport: &http.Transport{DisableCompression: true}}}
}

// close ends the connection.
func (c *client) close() { c.http.CloseIdleConnections() }

// read reads the page as it is sent; the bytes are the client's until the next read.
func (c *client) read(ctx context.Context, url, coding string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if coding != "" {
		request.Header.Set("Accept-Encoding", coding)
	}
	response, err := c.http.Do(request)
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
	c.page.Reset()
	_, err = c.page.ReadFrom(response.Body)
	return c.page.Bytes(), err
}

// unpack is a page that was coded.
func unpack(page []byte, coding string) (string, error) {
	if coding == "" {
		return string(page), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(page))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(z)
	return string(text), err
}

// complete waits until the page, compressed, has all series of all targets with
// their labels, and gives the time at which that page had come.
func complete(ctx context.Context, url string, targets int, limit time.Duration) (at time.Time, err error) {
	const again = 250 * time.Millisecond
	reader := newClient()
	defer reader.close()
	var missing error
	for begin := time.Now(); time.Since(begin) < limit; {
		packed, err := reader.read(ctx, url, "gzip")
		at = time.Now()
		if missing = err; err == nil {
			page, err := unpack(packed, "gzip")
			if err != nil {
				return at, err
			}
			if missing = check(page, targets); missing == nil {
				return at, nil
			}
		}
		if err := pause(ctx, again); err != nil {
			return at, err
		}
	}
	return at, fmt.Errorf("page is not whole after %s: %w", limit, missing)
}

// reads are what readers took who read a page at the same time, each once an
// interval at a phase of its own.
type reads struct {
	Readers, Reads int
	// Cost is µs of processor time of a read for each sample of the servers, without
	// the scrapes meanwhile.
	Cost float64
	// P50 and P99 are how long a read took, Bytes how long the page is, Peak the most
	// memory that was resident until then.
	P50, P99 time.Duration
	Bytes    int
	Peak     int64
	// Failed is why so many could not read.
	Failed string `json:",omitempty"`
}

// together has readers read for so long, each at least once, and holds the last page
// of one of them to be whole. Scraping takes rate seconds a second meanwhile.
func (r *result) together(ctx context.Context, p *process, url, coding string, readers int, during time.Duration, rate float64) (reads, error) {
	m := reads{Readers: readers}
	before, err := p.processorTime()
	if err != nil {
		return m, err
	}
	begin, last := time.Now(), newClient()
	defer last.close()
	took, err := eachInterval(readers, func(i int) ([]time.Duration, error) {
		reader := last
		if i > 0 {
			reader = newClient()
			defer reader.close()
		}
		return reader.repeat(ctx, url, coding, r.Interval*time.Duration(i)/time.Duration(readers), r.Interval, during)
	})
	if err != nil {
		return m, err
	}
	if err := pause(ctx, time.Until(begin.Add(during))); err != nil {
		return m, err
	}
	elapsed := time.Since(begin)
	after, err := p.processorTime()
	if err != nil {
		return m, err
	}
	m.Reads, m.Bytes = len(took), last.page.Len()
	m.P50, m.P99 = quantiles(took)
	m.Cost = readCost(after-before, elapsed, rate, len(took)) / float64(r.Targets*samples)
	page, err := unpack(last.page.Bytes(), coding)
	if err != nil {
		return m, err
	}
	if err := check(page, r.Targets); err != nil {
		return m, fmt.Errorf("a page that was read by %d: %w", readers, err)
	}
	m.Peak, err = p.peak()
	return m, err
}

// eachInterval runs readers at the same time and gives how long all their reads took.
func eachInterval(readers int, one func(i int) ([]time.Duration, error)) (took []time.Duration, err error) {
	var (
		all sync.WaitGroup
		mu  sync.Mutex
	)
	for i := range readers {
		all.Go(func() {
			each, failed := one(i)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, each...)
			if failed != nil {
				err = failed
			}
		})
	}
	all.Wait()
	return took, err
}

// repeat reads at a phase of an interval, until the time is over; a read that took
// longer than the interval is followed by the next that is due.
func (c *client) repeat(ctx context.Context, url, coding string, phase, interval, during time.Duration) (took []time.Duration, err error) {
	begin := time.Now()
	for due := phase; len(took) == 0 || due < during; {
		if err := pause(ctx, time.Until(begin.Add(due))); err != nil {
			return took, err
		}
		asked := time.Now()
		if _, err := c.read(ctx, url, coding); err != nil {
			return took, err
		}
		took = append(took, time.Since(asked))
		for due += interval; due < time.Since(begin); {
			due += interval
		}
	}
	return took, nil
}

// readCost is what a read took in µs: what was used, without what scraping takes.
func readCost(used, elapsed time.Duration, rate float64, reads int) float64 {
	return max(0, used.Seconds()-rate*elapsed.Seconds()) * 1e6 / float64(reads)
}

// quantiles are the median and the 99th percentile: of fewer than 100 the longest.
func quantiles(took []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// tooMany says whether so many readers would keep all processors busy for longer
// than is measured, given µs of a read.
func tooMany(readers int, microseconds float64, limit time.Duration) bool {
	return float64(readers)*microseconds/1e6/float64(runtime.NumCPU()) > limit.Seconds()
}

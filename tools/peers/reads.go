package main

import (
	"bytes"
	"cmp"
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

// client reads a page repeatedly, with one connection and one buffer.
type client struct {
	http http.Client
	page bytes.Buffer
}

func newClient() *client {
	return &client{http: http.Client{Transport: &http.Transport{DisableCompression: true}}}
}

// close closes the connection.
func (c *client) close() { c.http.CloseIdleConnections() }

// read returns the page as sent. The bytes are valid until the next read.
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

// unpack decodes a page.
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

// complete waits until the page has all series of all targets with their labels, and returns
// when it arrived.
func complete(ctx context.Context, url string, targets int, limit time.Duration) (arrived time.Time, err error) {
	const retryInterval = 250 * time.Millisecond
	reader := newClient()
	defer reader.close()
	var missing error
	for begin := time.Now(); time.Since(begin) < limit; {
		packed, err := reader.read(ctx, url, "gzip")
		arrived = time.Now()
		if missing = err; err == nil {
			page, err := unpack(packed, "gzip")
			if err != nil {
				return arrived, err
			}
			if missing = check(page, targets); missing == nil {
				return arrived, nil
			}
		}
		if err := pause(ctx, retryInterval); err != nil {
			return arrived, err
		}
	}
	return arrived, fmt.Errorf("page is incomplete after %s: %w", limit, missing)
}

// reads holds the measurements of concurrent readers, each of which reads once per interval.
type reads struct {
	Readers, Reads int
	// Cost is µs of CPU per read and sample of the servers, without concurrent scrapes.
	Cost float64
	// P50 and P99 are durations of reads, Bytes is the size of the page, Peak the peak
	// resident memory so far.
	P50, P99 time.Duration
	Bytes    int
	Peak     int64
	// Failed is the error if a read failed.
	Failed string `json:",omitempty"`
}

// together runs readers concurrently, each for at least one read, and checks the last page of
// one of them. Scrapes use scrapeRate seconds of CPU per second meanwhile.
func (r *result) together(
	ctx context.Context,
	p *process,
	url, coding string,
	readers int,
	during time.Duration,
	scrapeRate float64,
) (reads, error) {
	m := reads{Readers: readers}
	before, err := p.processorTime()
	if err != nil {
		return m, err
	}
	begin, last := time.Now(), newClient()
	defer last.close()
	durations, err := eachInterval(readers, func(i int) ([]time.Duration, error) {
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
	m.Reads, m.Bytes = len(durations), last.page.Len()
	m.P50, m.P99 = quantiles(durations)
	m.Cost = readCost(after-before, elapsed, scrapeRate, len(durations)) / float64(r.Targets*samplesPerTarget)
	page, err := unpack(last.page.Bytes(), coding)
	if err != nil {
		return m, err
	}
	if err := check(page, r.Targets); err != nil {
		return m, fmt.Errorf("a page read by %d: %w", readers, err)
	}
	m.Peak, err = p.peak()
	return m, err
}

// eachInterval runs readers concurrently and returns the durations of all reads.
func eachInterval(readers int, read func(i int) ([]time.Duration, error)) ([]time.Duration, error) {
	var wg sync.WaitGroup
	durations, errs := make([][]time.Duration, readers), make([]error, readers)
	for i := range readers {
		wg.Go(func() { durations[i], errs[i] = read(i) })
	}
	wg.Wait()
	return slices.Concat(durations...), cmp.Or(errs...)
}

// repeat reads once per interval until the time is over, skipping intervals during long reads.
func (c *client) repeat(
	ctx context.Context,
	url, coding string,
	phase, interval, during time.Duration,
) (durations []time.Duration, err error) {
	begin := time.Now()
	for due := phase; len(durations) == 0 || due < during; {
		if err := pause(ctx, time.Until(begin.Add(due))); err != nil {
			return durations, err
		}
		sent := time.Now()
		if _, err := c.read(ctx, url, coding); err != nil {
			return durations, err
		}
		durations = append(durations, time.Since(sent))
		for due += interval; due < time.Since(begin); {
			due += interval
		}
	}
	return durations, nil
}

// readCost returns µs of CPU per read, without scrapes.
func readCost(used, elapsed time.Duration, scrapeRate float64, reads int) float64 {
	return max(0, used.Seconds()-scrapeRate*elapsed.Seconds()) * 1e6 / float64(reads)
}

// quantiles returns the median and the 99th percentile, the maximum for less than 100.
func quantiles(durations []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(durations)
	return durations[len(durations)/2], durations[len(durations)*99/100]
}

// tooMany reports whether one read each would keep all processors busy for longer than limit.
func tooMany(readers int, microseconds float64, limit time.Duration) bool {
	return float64(readers)*microseconds/1e6/float64(runtime.NumCPU()) > limit.Seconds()
}

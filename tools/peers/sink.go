package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// sink is where peers ship to that have no page: it holds each series to have its
// labels and counts samples, those of the servers only.
type sink struct {
	address string
	server  *http.Server
	targets int
	seed    maphash.Seed

	mu sync.Mutex
	// wrong is the first that was found. have are the samples that one scrape of a
	// replica has, found so far; series are those that were counted there.
	wrong  error
	have   map[string]int
	series map[uint64]bool
	whole  time.Time
	// from is since when samples are counted, by their own time; bytes are those of
	// requests since then.
	from           time.Time
	samples, bytes int64
}

// shipped is a series with so many samples of one scrape. Its labels are the sink's
// only until the next.
type shipped struct {
	name    string
	labels  [][2]string
	samples int
	at      time.Time
}

// newSink listens on a free port of the loopback.
func newSink(ctx context.Context, targets int) (*sink, error) {
	s := &sink{targets: targets, seed: maphash.MakeSeed(), have: make(map[string]int), series: make(map[uint64]bool)}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.address = l.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("/remote_write", s.takes(remoteWrite))
	mux.Handle("/v1/metrics", s.takes(otlp))
	s.server = &http.Server{Handler: mux} //nolint:gosec // clients are peers of this run.
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// close ends the sink.
func (s *sink) close() { _ = s.server.Close() }

// takes serves one format of requests.
func (s *sink) takes(format func(body []byte, take func(*shipped)) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.request(r, format); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
}

// request takes all series of a request; what is wrong with it is kept.
func (s *sink) request(r *http.Request, format func(body []byte, take func(*shipped)) error) error {
	packed, err := io.ReadAll(r.Body)
	var body []byte
	if err == nil {
		body, err = uncoded(packed, r.Header.Get("Content-Encoding"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += int64(len(packed))
	if err == nil {
		err = format(body, s.take)
	}
	s.wrong = cmp.Or(s.wrong, err)
	return err
}

// take counts a series, with its labels held to be there.
func (s *sink) take(one *shipped) {
	if !strings.HasPrefix(one.name, ofServers) {
		return
	}
	if !one.at.Before(s.from) {
		s.samples += int64(one.samples)
	}
	s.wrong = cmp.Or(s.wrong, one.check())
	if s.whole.IsZero() {
		s.add(one)
	}
}

// add notes which series of which replicas have come.
func (s *sink) add(one *shipped) {
	var hash maphash.Hash
	hash.SetSeed(s.seed)
	for _, part := range append(one.labels, [2]string{"", one.name}) {
		maphash.WriteComparable(&hash, part)
	}
	if s.series[hash.Sum64()] {
		return
	}
	s.series[hash.Sum64()] = true
	replica := one.label("replica_id")
	s.have[replica] += one.samples
	if s.have[replica] > samples || len(s.have) > s.targets {
		s.wrong = cmp.Or(s.wrong, fmt.Errorf("%d samples of %s, of %d replicas", s.have[replica], replica, len(s.have)))
	}
	if s.have[replica] == samples && s.missing() == nil {
		s.whole = time.Now()
	}
}

// missing says what has not come yet.
func (s *sink) missing() error {
	all := 0
	for _, n := range s.have {
		all += n
	}
	if all != s.targets*samples {
		return fmt.Errorf("%d samples of %d replicas, not %d of %d", all, len(s.have), s.targets*samples, s.targets)
	}
	return nil
}

// check says what is wrong with a series.
func (one *shipped) check() error {
	for _, label := range identity {
		if one.label(label) == "" {
			return fmt.Errorf("no %s on %s%v", label, one.name, one.labels)
		}
	}
	if one.label("model") != "" && one.label("model_id") == "" {
		return fmt.Errorf("no model_id on %s%v", one.name, one.labels)
	}
	return nil
}

// label is the value of a label, empty for none.
func (one *shipped) label(name string) string {
	for _, l := range one.labels {
		if l[0] == name {
			return l[1]
		}
	}
	return ""
}

// complete waits until all series of all targets have come, and gives the time at
// which the last did.
func (s *sink) complete(ctx context.Context, limit time.Duration) (time.Time, error) {
	missing := fmt.Errorf("nothing within %s", limit)
	for begin := time.Now(); time.Since(begin) < limit; {
		s.mu.Lock()
		whole, wrong, still := s.whole, s.wrong, s.missing()
		s.mu.Unlock()
		if missing = still; wrong != nil || !whole.IsZero() {
			return whole, wrong
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, fmt.Errorf("not whole after %s: %w", limit, missing)
}

// count begins to count the samples of now and later.
func (s *sink) count(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.samples, s.bytes = now, 0, 0
}

// counted waits for the samples of the scrapes that were made while they were
// counted, and gives how many bytes each took. A peer that sends what it has only
// each five seconds, as Prometheus does, is given three times that.
func (s *sink) counted(ctx context.Context, scraped int64) (bytes float64, err error) {
	const limit = 15 * time.Second
	for begin := time.Now(); ; {
		s.mu.Lock()
		samples, sent, wrong := s.samples, s.bytes, s.wrong
		s.mu.Unlock()
		switch {
		case wrong != nil:
			return 0, wrong
		case samples >= scraped:
			return float64(sent) / float64(samples), nil
		case time.Since(begin) > limit:
			return 0, fmt.Errorf("%d samples of %d came within %s", samples, scraped, limit)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

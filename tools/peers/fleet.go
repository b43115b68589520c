package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// Every target has samplesPerTarget samples, with names that start with samplePrefix.
const (
	samplesPerTarget = 226
	samplePrefix     = "nv_"
)

// fleet simulates Triton servers with their API in this process, each on its own port. Their
// values grow with each scrape.
type fleet struct {
	addresses []string
	// scrapes counts the scrapes of each target.
	scrapes []atomic.Int64
	servers []*http.Server
}

// startFleet starts n targets on free loopback ports.
func startFleet(ctx context.Context, n int) (*fleet, error) {
	f := &fleet{scrapes: make([]atomic.Int64, n)}
	var listen net.ListenConfig
	for i := range n {
		l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			f.close()
			return nil, fmt.Errorf("target %d: %w", i, err)
		}
		server := &http.Server{Handler: f.target(i)} //nolint:gosec // clients are peers of this run.
		f.servers = append(f.servers, server)
		f.addresses = append(f.addresses, l.Addr().String())
		go func() { _ = server.Serve(l) }()
	}
	return f, nil
}

// close stops all targets.
func (f *fleet) close() {
	for _, s := range f.servers {
		_ = s.Close()
	}
}

// scrapeCounts returns the number of scrapes of each target so far.
func (f *fleet) scrapeCounts() []int64 {
	all := make([]int64, len(f.scrapes))
	for i := range f.scrapes {
		all[i] = f.scrapes[i].Load()
	}
	return all
}

// scrapesSince returns the number of scrapes since earlier counts: of all targets, and of
// the one with the fewest.
func (f *fleet) scrapesSince(earlier []int64) (all, fewest int64) {
	for i, count := range f.scrapeCounts() {
		all += count - earlier[i]
		if i == 0 || count-earlier[i] < fewest {
			fewest = count - earlier[i]
		}
	}
	return all, fewest
}

// target returns the handler of a target.
func (f *fleet) target(replica int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			api(w, r.URL.Path)
			return
		}
		page := simulate.BenchPage(simulate.BenchTRTLLM, replica, int(f.scrapes[replica].Add(1)))
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page)
	})
}

// api answers requests for Triton's API.
func api(w http.ResponseWriter, path string) {
	answer := ""
	switch {
	case path == "/v2":
		answer = `{"name":"triton","version":"2.51.0","extensions":["model_repository","model_configuration","statistics"]}`
	case path == "/v2/repository/index":
		var models []string
		for _, m := range []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"} {
			models = append(models, `{"name":"`+m+`","version":"1","state":"READY"}`)
		}
		answer = "[" + strings.Join(models, ",") + "]"
	case strings.HasSuffix(path, "/config"):
		answer = `{"name":"m","backend":"python","max_batch_size":8,"input":[],"output":[],"parameters":{}}`
	}
	if answer != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = w.Write([]byte(answer))
}

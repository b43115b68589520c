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
	// scrapes counts the scrapes of all targets.
	scrapes atomic.Int64
	servers []*http.Server
}

// startFleet starts n targets on free loopback ports.
func startFleet(ctx context.Context, n int) (*fleet, error) {
	f := &fleet{}
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

// target returns the handler of a target.
func (f *fleet) target(replica int) http.Handler {
	var ticks atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			api(w, r.URL.Path)
			return
		}
		f.scrapes.Add(1)
		page := simulate.BenchPage(simulate.BenchTRTLLM, replica, int(ticks.Add(1)))
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

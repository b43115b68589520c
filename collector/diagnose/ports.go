package diagnose

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// usualPorts lists the default ports of metrics and APIs of LLM servers and their workers.
var usualPorts = []int{8002, 8000, 8001, 8080, 8081, 9090, 30000} //nolint:gochecknoglobals // constant data.

// Closed describes a port on which nothing listens.
const Closed = "nothing listens"

// dialTimeout is how long a port may take to accept a connection.
const dialTimeout = time.Second

func (d *doctor) siblings(ctx context.Context, u *url.URL) []Port {
	numbers := candidates(u)
	all := make([]Port, len(numbers))
	var looks sync.WaitGroup
	for i, n := range numbers {
		looks.Go(func() { all[i] = d.port(ctx, u, n) })
	}
	looks.Wait()
	return all
}

// candidates returns the ports to try, without the port of the address.
func candidates(u *url.URL) []int {
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return nil
	}
	var near []int
	for _, e := range engine.All() {
		// The address may be the HTTP or gRPC API of a server of this kind.
		near = append(near, 2*port-e.APIPort(port))
		if grpc, ok := e.GRPCPort(port); ok {
			near = append(near, 2*port-grpc)
		}
	}
	var all []int
	for _, n := range append(near, usualPorts...) {
		if n > 0 && n < 1<<16 && n != port && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

func (d *doctor) port(ctx context.Context, u *url.URL, number int) Port {
	p := Port{Number: number}
	host := net.JoinHostPort(u.Hostname(), strconv.Itoa(number))
	if d.direct {
		conn, ok := d.dial(ctx, host)
		if !ok {
			p.Is = Closed
			return p
		}
		_ = conn.Close()
	}
	base := u.Scheme + "://" + host
	if p.Page = d.pageAt(ctx, base); p.Page != "" {
		p.Is = "serves the metrics"
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	p.Is = "answers, but not with metrics of a known server"
	if is := named("", engine.Hint(ctx, d.client, base)); is != "" {
		p.Is = strings.TrimSpace(is)
	}
	return p
}

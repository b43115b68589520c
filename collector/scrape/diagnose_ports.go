package scrape

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

// NothingListens describes a port on which nothing listens.
const NothingListens = "nothing listens"

// probeDialTimeout is how long a port may take to accept a connection.
const probeDialTimeout = time.Second

func (p *prober) siblings(ctx context.Context, u *url.URL) []OtherPort {
	numbers := otherPorts(u)
	all := make([]OtherPort, len(numbers))
	var looks sync.WaitGroup
	for i, n := range numbers {
		looks.Go(func() { all[i] = p.port(ctx, u, n) })
	}
	looks.Wait()
	return all
}

// otherPorts returns the ports to try, without the port of the address.
func otherPorts(u *url.URL) []int {
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

func (p *prober) port(ctx context.Context, u *url.URL, number int) OtherPort {
	other := OtherPort{Number: number}
	host := net.JoinHostPort(u.Hostname(), strconv.Itoa(number))
	if p.direct {
		conn, ok := p.dial(ctx, host)
		if !ok {
			other.Is = NothingListens
			return other
		}
		_ = conn.Close()
	}
	base := engine.BaseURL(u.Scheme, host)
	if other.Page = p.pageAt(ctx, base); other.Page != "" {
		other.Is = "serves the metrics"
		return other
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	other.Is = "answers, but not with metrics of a known server"
	if is := describeHint("", engine.Hint(ctx, p.client, base)); is != "" {
		other.Is = strings.TrimSpace(is)
	}
	return other
}

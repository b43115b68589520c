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

// usualPorts are where LLM servers and their workers have their page or their API
// unless flags say otherwise.
var usualPorts = []int{8002, 8000, 8001, 8080, 8081, 9090, 30000} //nolint:gochecknoglobals // constant data.

// Closed is said of a port on which nothing listens.
const Closed = "nothing listens"

// knock is how long a port may take to accept a connection.
const knock = time.Second

// siblings looks at the ports around an address, those of its neighbours first.
func (d *Doctor) siblings(ctx context.Context, at *url.URL) []Port {
	numbers := candidates(at)
	all := make([]Port, len(numbers))
	var looks sync.WaitGroup
	for i, n := range numbers {
		looks.Go(func() { all[i] = d.port(ctx, at, n) })
	}
	looks.Wait()
	return all
}

// candidates are the ports to try, without the one that was asked.
func candidates(at *url.URL) []int {
	asked, err := strconv.Atoi(at.Port())
	if err != nil {
		return nil
	}
	var near []int
	for _, e := range engine.All() {
		// The address may be that of the API, or of gRPC, of a server of this kind.
		near = append(near, 2*asked-e.APIPort(asked))
		if grpc, ok := e.GRPCPort(asked); ok {
			near = append(near, 2*asked-grpc)
		}
	}
	var all []int
	for _, n := range append(near, usualPorts...) {
		if n > 0 && n < 1<<16 && n != asked && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// port says what is at another port.
func (d *Doctor) port(ctx context.Context, at *url.URL, number int) Port {
	p := Port{Number: number}
	host := hostPort(at, number)
	if d.direct {
		dialer := net.Dialer{Timeout: min(knock, d.timeout)}
		conn, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			p.Is = Closed
			return p
		}
		_ = conn.Close()
	}
	base := at.Scheme + "://" + host
	if p.Page = d.pageAt(ctx, base); p.Page != "" {
		p.Is = "has the page"
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	p.Is = "answers, and has no page of a known server"
	if is := named("", engine.Hint(ctx, d.client, base)); is != "" {
		p.Is = strings.TrimSpace(is)
	}
	return p
}

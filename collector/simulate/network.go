package simulate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// network has the ports of a replica: API, then metrics. They are closed while it does not serve,
// so that connections are refused and not reset.
type network struct {
	mu      sync.Mutex
	ports   []*port
	serving sync.WaitGroup
}

// port is one TCP port, reserved for the life of the replica.
type port struct {
	addr     string
	free     func() // Ends the reservation.
	srv      *http.Server
	listener net.Listener
	epoch    int
}

// Listen opens or reserves the replica's ports. Close must be called even after an error.
func (r *Replica) Listen(ctx context.Context) error {
	if err := r.reserve(ctx); err != nil {
		return fmt.Errorf("replica %s: %w", r.spec.Name, err)
	}
	return r.net.follow(r) //nolint:contextcheck // A port opens again at its own time, not within a call.
}

func (r *Replica) reserve(ctx context.Context) error {
	r.net.mu.Lock()
	defer r.net.mu.Unlock()
	if len(r.net.ports) > 0 {
		return errors.New("listens already")
	}
	wanted := []int{r.spec.APIPort, r.spec.MetricsPort}
	if r.kind.onePort {
		wanted = wanted[:1]
	}
	for _, number := range wanted {
		addr, free, err := reserve(ctx, net.JoinHostPort(r.spec.Host, strconv.Itoa(number)))
		if err != nil {
			return fmt.Errorf("reserve port: %w", err)
		}
		r.net.ports = append(r.net.ports, &port{addr: addr, free: free})
	}
	return nil
}

// Close closes the ports and waits for their servers to end.
func (r *Replica) Close() {
	r.net.mu.Lock()
	for _, p := range r.net.ports {
		p.shut()
		p.free()
	}
	r.net.ports = nil
	r.net.mu.Unlock()
	r.net.serving.Wait()
}

// APIAddr returns the host:port of the API, "" before Listen.
func (r *Replica) APIAddr() string { return r.net.addr(0) }

// MetricsAddr returns the host:port of the metrics page, "" before Listen.
func (r *Replica) MetricsAddr() string { return r.net.addr(1) }

// MetricsPath returns the path of the metrics page.
func (r *Replica) MetricsPath() string { return r.kind.path }

// MetricsURL returns the URL of the metrics page. The replica must listen.
func (r *Replica) MetricsURL() string { return "http://" + r.MetricsAddr() + r.MetricsPath() }

// APIURL returns the URL of the API without a trailing slash. The replica must listen.
func (r *Replica) APIURL() string { return "http://" + r.APIAddr() }

func (n *network) addr(i int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ports) == 0 {
		return ""
	}
	return n.ports[min(i, len(n.ports)-1)].addr
}

// follow opens and closes the ports according to the replica's phase.
func (n *network) follow(r *Replica) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.mu.Lock()
	phase, epoch, srv := r.w.phase, r.w.truth.Epoch, r.w.server
	r.mu.Unlock()
	var errs []error
	for i, p := range n.ports {
		open := phase == PhaseServing
		if p.srv != nil && (!open || p.epoch != epoch) {
			p.shut()
		}
		if open && p.srv == nil {
			errs = append(errs, p.listen(srv.handlers(r)[i], epoch, &n.serving))
		}
	}
	return errors.Join(errs...)
}

func (p *port) listen(h http.Handler, epoch int, serving *sync.WaitGroup) error {
	l, err := listen(p.addr)
	if err != nil {
		return fmt.Errorf("open port %s: %w", p.addr, err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	p.epoch, p.listener, p.srv = epoch, l, srv
	serving.Go(func() { _ = srv.Serve(l) })
	return nil
}

func (p *port) shut() {
	if p.srv != nil {
		// A server that does not serve yet does not close the listener.
		_ = p.listener.Close()
		_ = p.srv.Close()
		p.srv, p.listener = nil, nil
	}
}

// APIHandler answers like the API port, or aborts the connection while it is closed.
func (r *Replica) APIHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		srv, phase := r.w.server, r.w.phase
		r.mu.Unlock()
		if phase != PhaseServing {
			panic(http.ErrAbortHandler)
		}
		srv.handlers(r)[0].ServeHTTP(w, req)
	})
}

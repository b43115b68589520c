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

// network is the ports of a replica: the API's, then that of the metrics page if
// it has its own. It follows the replica's phase: a port that must refuse is
// closed, so that clients get "connection refused" and no reset.
type network struct {
	mu      sync.Mutex
	ports   []*port
	serving sync.WaitGroup
}

// port is one TCP port: held for the life of the replica, listening or not.
type port struct {
	addr  string
	hold  func() // Lets the port go.
	srv   *http.Server
	open  net.Listener
	epoch int
}

// Listen opens the replica's ports; while it loads they are reserved and refuse.
// Close ends it.
func (r *Replica) Listen(ctx context.Context) error {
	r.net.mu.Lock()
	defer r.net.mu.Unlock()
	if len(r.net.ports) > 0 {
		return errors.New("replica listens already")
	}
	wanted := []int{r.spec.APIPort}
	if !r.kind.onePort {
		wanted = append(wanted, r.spec.MetricsPort)
	}
	for _, number := range wanted {
		addr, hold, err := reserve(ctx, net.JoinHostPort(r.spec.Host, strconv.Itoa(number)))
		if err != nil {
			r.net.closeLocked()
			return fmt.Errorf("replica %s: reserve port: %w", r.spec.Name, err)
		}
		r.net.ports = append(r.net.ports, &port{addr: addr, hold: hold})
	}
	if err := r.net.followLocked(r); err != nil { //nolint:contextcheck // A port opens again at its own time, not within a call.
		r.net.closeLocked()
		return fmt.Errorf("replica %s: %w", r.spec.Name, err)
	}
	return nil
}

// Close closes the ports and waits for their servers to end.
func (r *Replica) Close() {
	r.net.mu.Lock()
	r.net.closeLocked()
	r.net.mu.Unlock()
	r.net.serving.Wait()
}

func (n *network) closeLocked() {
	for _, p := range n.ports {
		p.shut()
		p.hold()
	}
	n.ports = nil
}

// APIAddr is the host:port of the API, "" before Listen.
func (r *Replica) APIAddr() string { return r.net.addr(0) }

// MetricsAddr is the host:port of the metrics page, "" before Listen.
func (r *Replica) MetricsAddr() string { return r.net.addr(1) }

// MetricsPath is where on MetricsAddr the page is.
func (r *Replica) MetricsPath() string { return r.kind.path }

// MetricsURL is the address of the metrics page once the replica listens.
func (r *Replica) MetricsURL() string { return "http://" + r.MetricsAddr() + r.MetricsPath() }

// APIURL is the base of the API, without a trailing slash, once the replica
// listens.
func (r *Replica) APIURL() string { return "http://" + r.APIAddr() }

func (n *network) addr(i int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ports) == 0 {
		return ""
	}
	return n.ports[min(i, len(n.ports)-1)].addr
}

// follow opens and closes ports as the replica's phase has it.
func (n *network) follow(r *Replica) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// A port that cannot be opened again is tried at the next call; until then it
	// refuses, as a server that fails to bind does.
	_ = n.followLocked(r)
}

func (n *network) followLocked(r *Replica) error {
	if len(n.ports) == 0 {
		return nil
	}
	r.mu.Lock()
	phase, epoch, srv := r.w.phase, r.w.truth.Epoch, r.w.server
	r.mu.Unlock()
	var errs []error
	for i, p := range n.ports {
		open := srv != nil && (phase == PhaseServing || phase == PhaseDraining && i == 1)
		if p.srv != nil && (!open || p.epoch != epoch) {
			p.shut()
		}
		if open && p.srv == nil {
			h := srv.handlers(r)
			handler := h.api
			if i == 1 {
				handler = h.metrics
			}
			errs = append(errs, p.listen(handler, epoch, &n.serving))
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
	p.epoch, p.open, p.srv = epoch, l, srv
	serving.Go(func() {
		// Serve ends with ErrServerClosed when the port is shut.
		_ = srv.Serve(l)
	})
	return nil
}

func (p *port) shut() {
	if p.srv != nil {
		// The listener first: a server that has not begun to serve does not know it.
		_ = p.open.Close()
		_ = p.srv.Close()
		p.srv, p.open = nil, nil
	}
}

// APIHandler answers as the API port does now, without a socket; while the port
// refuses it answers nothing and aborts the connection.
func (r *Replica) APIHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		srv, phase := r.w.server, r.w.phase
		r.mu.Unlock()
		if srv == nil || phase != PhaseServing {
			panic(http.ErrAbortHandler)
		}
		srv.handlers(r).api.ServeHTTP(w, req)
	})
}

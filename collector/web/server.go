package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// Bounds of one connection; a reader that keeps to none of them is cut off.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 16 << 10
	drainTimeout      = 9 * time.Second
)

// DefaultMaxInFlight is how many requests are at work at once unless Options
// say otherwise.
const DefaultMaxInFlight = 40

// Options are what a [Server] needs. Functions may be called concurrently.
type Options struct {
	// ListenAddresses are host:port pairs; port 0 lets the system choose.
	ListenAddresses []string
	// WebConfigFile is a file of exporter-toolkit with TLS and users; empty
	// serves plain HTTP to everybody.
	WebConfigFile string
	// EnableLifecycle opens /-/reload and /config.
	EnableLifecycle bool
	// MaxInFlight bounds the requests at work; 0 is DefaultMaxInFlight.
	MaxInFlight int
	// Version is shown to people.
	Version string
	// Runbook is the address whose sections say what to do; empty links to none.
	Runbook string

	// Store holds the snapshots to serve.
	Store *snapshot.Store
	// Registry holds the metrics of the exporter's own process; the server
	// adds its own.
	Registry *prometheus.Registry
	Configuration
	Probes
	// Searches say what discovery found of every pool; nil says nothing of it.
	Searches func() []target.Search
	// Ready says whether the targets are known; the server sees by itself
	// whether each of them was tried once.
	Ready  func() bool
	Logger *slog.Logger
}

// Configuration is what is known of the configuration in force, at the moment of
// each call.
type Configuration struct {
	Exposition func() exposition.Config
	// Pools are the ids of its pools, with replicas or without; nil knows only those
	// with replicas.
	Pools func() []string
	// ConfigText is all of it without its secrets.
	ConfigText func() string
	// Reload applies it again; its error is shown to the caller of /-/reload and must
	// hold no secrets.
	Reload func() error
}

// Probes are how probes of replicas are answered.
type Probes struct {
	// GRPCHealthAddress is a host:port where they are served in the gRPC health
	// protocol too, in the clear; empty serves it nowhere.
	GRPCHealthAddress string
	// Unjudged is what they answer of a replica that is not judged; empty is
	// UnjudgedServer.
	Unjudged Unjudged
	// IgnoreCanary keeps a replica ready whose canary fails while nothing else is
	// wrong with it.
	IgnoreCanary bool
	// Readiness asks the server of the replica with that key whether it is ready;
	// known is false when it does not answer. Nil asks nobody.
	Readiness func(ctx context.Context, key string) (ready, known bool)
}

// Server answers HTTP requests about the snapshots of a store.
type Server struct {
	opts      Options
	logger    *slog.Logger
	metrics   *metrics
	pages     *pages
	gate      *gate
	history   *history.History
	templates *template.Template
	listeners []net.Listener
	health    *healthServer
	draining  atomic.Bool
	wasReady  atomic.Bool
}

// New checks the options, binds every address and registers the server's own
// metrics; nothing is answered before Run. Who does not call Run calls Close.
func New(ctx context.Context, opts Options) (*Server, error) {
	if err := toolkit.Validate(opts.WebConfigFile); err != nil {
		// The YAML package spreads its errors over lines.
		reason := strings.Join(strings.Fields(err.Error()), " ")
		return nil, fmt.Errorf("web configuration %s: %s", opts.WebConfigFile, reason)
	}
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = DefaultMaxInFlight
	}
	m, err := newMetrics(opts.Registry)
	if err != nil {
		return nil, err
	}
	templates, err := template.ParseFS(assets, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	logger := opts.Logger.With("component", "web")
	s := &Server{
		opts:      opts,
		logger:    logger,
		metrics:   m,
		gate:      newGate(opts.MaxInFlight),
		pages:     newPages(opts.Store, newOwnPage(opts.Registry, logger), opts.Exposition, m),
		history:   history.New(opts.Store),
		templates: templates,
	}
	if err := s.bind(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// bind opens the listeners.
func (s *Server) bind(ctx context.Context) error {
	if len(s.opts.ListenAddresses) == 0 {
		return errors.New("no address to listen on; give at least one host:port")
	}
	var listen net.ListenConfig
	for _, address := range s.opts.ListenAddresses {
		l, err := listen.Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("cannot listen on %q: %w", address, cause(err))
		}
		s.listeners = append(s.listeners, l)
	}
	if address := s.opts.GRPCHealthAddress; address != "" {
		l, err := listen.Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("--web.grpc-health-address: cannot listen on %q: %w", address, cause(err))
		}
		s.health = newHealthServer(s, l)
	}
	return nil
}

// cause takes "listen tcp 127.0.0.1:80:" off an error that names the address
// already.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// Addr is the address of the first listener as host:port.
func (s *Server) Addr() string { return s.listeners[0].Addr().String() }

// Addrs are the addresses of all listeners.
func (s *Server) Addrs() []string {
	all := make([]string, len(s.listeners))
	for i, l := range s.listeners {
		all[i] = l.Addr().String()
	}
	return all
}

// Close frees the addresses of a server that does not run.
func (s *Server) Close() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	if s.health != nil {
		s.health.close()
	}
}

// GRPCHealthAddr is the address of the gRPC health protocol as host:port; empty
// where that is not served.
func (s *Server) GRPCHealthAddr() string {
	if s.health == nil {
		return ""
	}
	return s.health.listener.Addr().String()
}

// Run serves until ctx ends or a listener fails. Then /-/ready fails, no
// connection is taken any more, and answers under way have ten seconds to
// finish; Run returns when all of them have.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	file, handler := s.opts.WebConfigFile, s.Handler()
	flags := &toolkit.FlagConfig{WebConfigFile: &file}
	failed := make(chan error, len(s.listeners)+1)
	servers := make([]*http.Server, len(s.listeners))
	var running sync.WaitGroup
	following, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	running.Go(func() { s.history.Follow(following) })
	if s.health != nil {
		running.Go(func() {
			if err := s.health.serve(); err != nil {
				failed <- fmt.Errorf("serve gRPC health at %s: %w", s.health.listener.Addr(), err)
			}
		})
	}
	for i, l := range s.listeners {
		// One server a listener, for the toolkit wraps the handler in place.
		server := s.newHTTPServer(handler)
		servers[i] = server
		running.Go(func() {
			if err := toolkit.Serve(l, server, flags, s.logger); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.drain(ctx, servers)
	stopFollowing()
	running.Wait()
	return err
}

// newHTTPServer is a server with every bound in place. Plain HTTP speaks
// HTTP/1.1 only.
func (s *Server) newHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
}

// drain lets answers under way finish and then closes what is left.
func (s *Server) drain(ctx context.Context, servers []*http.Server) {
	s.draining.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	var closing sync.WaitGroup
	if s.health != nil {
		s.health.close()
	}
	for _, server := range servers {
		closing.Go(func() {
			if err := server.Shutdown(ctx); err != nil {
				s.logger.Warn("Cutting off answers that did not finish in time", "err", err)
				_ = server.Close()
			}
		})
	}
	closing.Wait()
}

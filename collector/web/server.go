package web

import (
	"cmp"
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

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/sync/singleflight"

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
	// maxStreams bounds the requests of one connection of HTTP/2.
	maxStreams = 16
)

// DefaultMaxInFlight is how many requests are at work at once unless Options
// say otherwise.
const DefaultMaxInFlight = 40

// Server answers HTTP requests about the snapshots of a store.
type Server struct {
	opts    Options
	logger  *slog.Logger
	metrics *metrics
	pages   *pages
	gate    *gate
	readers *readers
	// asking are the questions of probes to servers.
	asking    singleflight.Group
	history   *history.History
	templates *template.Template
	listeners []net.Listener
	health    *healthServer
	// users says that there were some at the start.
	users    bool
	draining atomic.Bool
	wasReady atomic.Bool
}

// New checks the options, binds every address and registers the server's own
// metrics; nothing is answered before Run. Who does not call Run calls Close.
func New(ctx context.Context, opts Options) (*Server, error) {
	users, err := readUsers(opts.WebConfigFile)
	if err := cmp.Or(toolkit.Validate(opts.WebConfigFile), err); err != nil {
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
	numbers := template.FuncMap{"count": Count, "seconds": Seconds, "percent": Percent, "lacking": lacking, "marked": marked, "brief": brief}
	templates, err := template.New("pages").Funcs(numbers).ParseFS(assets, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates of the pages: %w", err)
	}
	most := connectionsPerSlot * opts.MaxInFlight
	if opts.MaxConnections > 0 {
		most = min(most, opts.MaxConnections)
	}
	logger := opts.Logger.With("component", "web")
	s := &Server{
		opts:      opts,
		users:     users,
		logger:    logger,
		metrics:   m,
		gate:      newGate(opts.MaxInFlight),
		readers:   newReaders(most),
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
	for _, address := range s.opts.ListenAddresses {
		l, err := listen(ctx, address)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	if address := s.opts.GRPCHealthAddress; address != "" {
		l, err := listen(ctx, address)
		if err != nil {
			return fmt.Errorf("--web.grpc-health-address: %w", err)
		}
		s.health = newHealthServer(s, l)
	}
	return nil
}

// listen opens a listener. It takes "listen tcp 127.0.0.1:80:" off an error that
// names the address already.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", address, err)
	}
	return l, nil
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

// Run serves until ctx ends or a listener fails. Then /-/ready fails, no
// connection is taken any more, and answers under way have ten seconds to
// finish; Run returns when all of them have.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	file, handler := s.opts.WebConfigFile, s.shut(s.Handler())
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
			if err := toolkit.Serve(listener{l, s.readers}, server, flags, s.logger); !errors.Is(err, http.ErrServerClosed) {
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
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
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

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Limits of a connection. A client that exceeds them is disconnected.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 16 << 10
	drainTimeout      = 9 * time.Second
	// maxStreams limits the concurrent requests of an HTTP/2 connection. With more, clients that
	// read nothing would exceed the 64 MiB of a sidecar.
	maxStreams = 4
)

// DefaultMaxInFlight is the default of Options.MaxInFlight.
const DefaultMaxInFlight = 40

// Server serves HTTP requests about the snapshots of a store.
type Server struct {
	opts        Options
	logger      *slog.Logger
	metrics     *metrics
	pages       *pages
	gate        *gate
	connections *connections
	// probing deduplicates the requests of probes to servers, building those of clients for pages.
	probing, building singleflight.Group
	// reloading has room for one reload of the configuration.
	reloading chan struct{}
	history   *history
	templates *template.Template
	listeners []net.Listener
	health    *healthServer
	// authenticated is true if the web configuration had users at the start.
	authenticated bool
	draining      atomic.Bool
	wasReady      atomic.Bool
}

// New checks the options, binds every address and registers the server's metrics. Nothing is
// served before Run. A caller that does not call Run must call Close.
func New(ctx context.Context, opts Options) (*Server, error) {
	err := checkNamed(opts.WebConfigFile)
	authenticated := false
	if err == nil {
		authenticated, err = hasUsers(opts.WebConfigFile)
	}
	if err == nil {
		err = toolkit.Validate(opts.WebConfigFile)
	}
	if err != nil {
		// Errors of the YAML package have several lines.
		reason := strings.Join(strings.Fields(err.Error()), " ")
		return nil, fmt.Errorf("web configuration %s: %s; see --web.config.file", opts.WebConfigFile, reason)
	}
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = DefaultMaxInFlight
	}
	m, err := newMetrics(opts.Registry)
	if err != nil {
		return nil, err
	}
	functions := template.FuncMap{
		"count":     Count,
		"seconds":   Seconds,
		"percent":   Percent,
		"noTargets": noTargets,
		"markdown":  markdown,
		"copyable":  copyable,
		"shortened": shortened,
	}
	logger := opts.Logger.With("component", "web")
	s := &Server{
		opts:          opts,
		authenticated: authenticated,
		logger:        logger,
		metrics:       m,
		gate:          newGate(opts.MaxInFlight),
		connections: newConnections(
			min(connectionsPerSlot*opts.MaxInFlight, cmp.Or(opts.MaxConnections, math.MaxInt)),
		),
		pages:     newPages(&opts, logger, m),
		reloading: make(chan struct{}, 1),
		history:   newHistory(opts.Store),
		templates: template.Must(template.New("pages").Funcs(functions).ParseFS(assets, "templates/*.html")),
	}
	if err := s.bind(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) bind(ctx context.Context) error {
	if len(s.opts.ListenAddresses) == 0 {
		return errors.New("no address to listen on; give at least one host:port")
	}
	for _, address := range s.opts.ListenAddresses {
		l, err := listen(ctx, address, "--web.listen-address")
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	if address := s.opts.GRPCHealthAddress; address != "" {
		l, err := listen(ctx, address, "--web.grpc-health-address")
		if err != nil {
			return err
		}
		s.health = newHealthServer(s, l)
	}
	return nil
}

// listen opens a listener. Its error names the address, only once, and the flag.
func listen(ctx context.Context, address, flag string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if _, _, notAddress := net.SplitHostPort(address); notAddress != nil {
		err = errors.New("it is not host:port; write it like 127.0.0.1:9802 or :9802")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w; see %s", address, err, flag)
	}
	return l, nil
}

// Addr returns the address of the first listener as host:port.
func (s *Server) Addr() string { return s.listeners[0].Addr().String() }

// Close closes the listeners of a server that does not run.
func (s *Server) Close() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	if s.health != nil {
		s.health.close()
	}
}

// Run serves until ctx is done or a listener fails. Then /-/ready fails, new connections are
// refused, and Run waits up to ten seconds for running requests.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		s.history.follow(ctx)
		return nil
	})
	handler := s.Handler()
	for _, l := range s.listeners {
		server := s.newHTTPServer(handler) // One per listener, since the toolkit wraps the handler in place.
		group.Go(func() error {
			err := toolkit.Serve(
				listener{l, s.connections},
				server,
				&toolkit.FlagConfig{WebConfigFile: &s.opts.WebConfigFile},
				s.logger,
			)
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return fmt.Errorf("serve %s: %w", l.Addr(), err)
		})
		group.Go(func() error {
			<-ctx.Done()
			s.drain(context.WithoutCancel(ctx), server)
			return nil
		})
	}
	if s.health != nil {
		group.Go(s.health.serve)
		context.AfterFunc(ctx, s.health.close)
	}
	return group.Wait()
}

// newHTTPServer returns a server with all limits. Without TLS it speaks HTTP/1.1 only.
func (s *Server) newHTTPServer(handler http.Handler) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ConnContext:       withConnection,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	if s.opts.WebConfigFile != "" {
		s.guard(server)
	}
	return server
}

// guard keeps the toolkit from reading the web configuration, for each handshake and request, or the files that it
// names, for each handshake, when one has become something that may have no end.
func (s *Server) guard(server *http.Server) {
	server.BaseContext = func(net.Listener) context.Context { // By then the toolkit has wrapped the handler.
		server.Handler = s.requireUsers(server.Handler)
		return context.Background()
	}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew && checkNamed(s.opts.WebConfigFile) != nil {
			_ = conn.Close()
		}
	}
}

// drain waits for running requests, and closes the connections of those that do not finish in
// time.
func (s *Server) drain(ctx context.Context, server *http.Server) {
	s.draining.Store(true)
	s.connections.draining.Store(true)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.logger.Warn("Answers did not finish in time and were cut off", "err", err)
		_ = server.Close()
	}
}

// hasUsers reports whether the web configuration has users. The toolkit validates the rest.
func hasUsers(name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	if err := regular.File(name); err != nil {
		return false, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	var config struct {
		Users map[string]any `yaml:"basic_auth_users"`
	}
	err = yaml.Unmarshal(text, &config)
	return len(config.Users) > 0, err
}

// checkNamed checks that the web configuration and the files that it names, such as the certificate, have an end.
func checkNamed(name string) error {
	if name == "" {
		return nil
	}
	if err := regular.File(name); err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var config struct {
		TLS map[string]any `yaml:"tls_server_config"`
	}
	if yaml.Unmarshal(text, &config) != nil {
		return nil //nolint:nilerr // The toolkit says why.
	}
	for key, value := range config.TLS {
		other, _ := value.(string)
		if !strings.HasSuffix(key, "_file") || other == "" {
			continue
		}
		if !filepath.IsAbs(other) {
			other = filepath.Join(filepath.Dir(name), other)
		}
		if err := regular.File(other); err != nil {
			return fmt.Errorf("%s: %s: %w", key, other, err)
		}
	}
	return nil
}

// requireUsers rejects requests while the file cannot be read, or has no users, if it had any at the start.
// The toolkit reads the file for each request, and without users, for example while the file is being
// written, it would serve everybody.
func (s *Server) requireUsers(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch users, err := hasUsers(s.opts.WebConfigFile); {
		case err != nil:
			http.Error(w, "The file of --web.config.file cannot be read", http.StatusInternalServerError)
		case s.authenticated && !users:
			http.Error(w, "The file of --web.config.file names no users any more; restart the exporter to "+
				"serve everybody", http.StatusInternalServerError)
		default:
			handler.ServeHTTP(w, r)
		}
	})
}

// Options configures a [Server]. Functions may be called concurrently.
type Options struct {
	// ListenAddresses lists host:port; with port 0 the system chooses the port.
	ListenAddresses []string
	// WebConfigFile is a web configuration file of exporter-toolkit with TLS and users, empty for
	// plain HTTP.
	WebConfigFile string
	// EnableLifecycle enables /-/reload and /config.
	EnableLifecycle bool
	// MaxInFlight limits concurrent requests; 0 means DefaultMaxInFlight. MaxConnections
	// additionally limits the connections; 0 means no additional limit.
	MaxInFlight, MaxConnections int
	Version                     string
	// Runbook is the URL of a runbook that replaces the built-in one, Grafana the URL of the
	// dashboards; empty if there is none.
	Runbook, Grafana string
	// ConfigFile is the configuration file that commands on the pages name, empty if there is
	// none.
	ConfigFile string

	Store *snapshot.Store
	// Registry holds the metrics of the exporter's process. The server adds its own.
	Registry *prometheus.Registry
	Configuration
	Probes
	// Searches returns what discovery found for each pool.
	Searches func() []target.PoolDiscovery
	// Ready reports whether all targets are known. The server waits until each was tried.
	Ready  func() bool
	Logger *slog.Logger
}

// Configuration gives access to the current configuration.
type Configuration struct {
	Exposition func() exposition.Config
	// Pools returns what is configured of all pools by id, including pools without replicas.
	Pools func() map[string]PoolConfig
	// ConfigText returns the configuration, and Reload reloads it. Clients see the text and the
	// error, which must not contain secrets.
	ConfigText func() string
	Reload     func() error
}

// Probes configures the probes of replicas.
type Probes struct {
	// GRPCHealthAddress is host:port of the gRPC health service, without TLS; empty to disable it.
	GRPCHealthAddress string
	// Unjudged is the answer for replicas that are not judged. It defaults to UnjudgedServer.
	Unjudged Unjudged
	// IgnoreCanary keeps a replica ready while only its canary fails.
	IgnoreCanary bool
	// Readiness asks the server of a replica; known is false if it does not answer.
	Readiness func(ctx context.Context, key string) (ready, known bool)
}

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// Path prefixes of the probes: for a replica by name, and for the only replica.
const (
	probesPath = "/-/replicas/"
	probePath  = "/-/replica/"
)

// probeRoute returns the route of a probe. It reports false for other paths.
func (s *Server) probeRoute(r *http.Request) (label string, found route, ok bool) {
	for _, label := range []string{probesPath, probePath} {
		if strings.HasPrefix(r.URL.EscapedPath(), label) {
			return label, route{
				// OPTIONS is what HAProxy asks by default.
				methods: []string{http.MethodGet, http.MethodHead, http.MethodOptions},
				serve: func(w http.ResponseWriter, r *http.Request) {
					code, text := s.probe(r.Context(), r.URL.EscapedPath(), r.Host)
					writeLine(w, code, text)
				},
			}, true
		}
	}
	return "", route{}, false
}

// Unjudged selects the readiness answer for replicas about which the exporter knows too little.
type Unjudged string

// Values of Unjudged: ask the server itself, always ready, never ready.
const (
	UnjudgedServer  Unjudged = "server"
	UnjudgedReady   Unjudged = "ready"
	UnjudgedUnready Unjudged = "unready"
)

// readinessTimeout bounds the request to the server; it is shorter than the timeouts of probes.
const readinessTimeout = time.Second

// probe returns status code and text for a path: the last judgment of the replica, or, if it was
// never judged, what its server answers.
func (s *Server) probe(ctx context.Context, path, host string) (code int, text string) {
	slot, question, problem := s.probedReplica(path, host)
	switch {
	case problem != "" && s.ready():
		return http.StatusNotFound, problem
	case problem != "": // The replica may be found soon.
		code = http.StatusOK
		if s.opts.Unjudged == UnjudgedUnready && !strings.HasSuffix(path, "/live") {
			code = http.StatusServiceUnavailable
		}
		return code, "Not judged: not every target was tried yet."
	}
	r := s.readReplica(slot)
	if reason := r.unjudged(); reason != "" {
		return s.probeUnjudged(ctx, r, question, "Not judged: "+reason)
	}
	verdict := "Ready: "
	passes := r.Status.ProbeReady || s.opts.IgnoreCanary && assess.State(r.State) == assess.CanaryFailing
	if question == "live" {
		verdict, passes = "Live: ", r.Status.ProbeLive
	}
	code = http.StatusOK
	if !passes {
		code = http.StatusServiceUnavailable
		verdict = "Not " + strings.ToLower(verdict)
	}
	return code, verdict + sentence(r.Status.StateReason) + r.outdated(time.Now())
}

// probeUnjudged returns the answer about a replica that is not judged. The server is not asked
// whether it is live, since a hanging server does not answer.
func (s *Server) probeUnjudged(ctx context.Context, r *replica, question, reason string) (code int, text string) {
	switch {
	case question == "live":
		return http.StatusOK, reason
	case s.opts.Unjudged == UnjudgedUnready:
		return http.StatusServiceUnavailable, reason
	case s.opts.Unjudged == UnjudgedReady || r.Target.Silent:
		return http.StatusOK, reason
	}
	// Concurrent probes share one request to the server.
	shared, _, _ := s.probing.Do(r.Key(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readinessTimeout)
		defer cancel()
		ready, known := s.opts.Readiness(ctx, r.Key())
		return [2]bool{ready, known}, nil
	})
	switch shared {
	case [2]bool{true, true}:
		return http.StatusOK, reason + " Its server answers that it is ready."
	case [2]bool{false, true}:
		return http.StatusServiceUnavailable, reason + " Its server answers that it is not ready."
	}
	return http.StatusOK, reason
}

// probedReplica returns the replica that a path names, and the question: ready or live. If there
// is no such replica, problem explains why.
func (s *Server) probedReplica(path, host string) (slot *snapshot.Slot, question, problem string) {
	if suffix, ok := strings.CutPrefix(path, probePath); ok {
		slots := s.replicas()
		if len(slots) != 1 {
			return nil, "", fmt.Sprintf("%s is for an exporter of one replica, this one has %d: ask "+
				"%sPOOL/REPLICA/ready", probePath, len(slots), probesPath)
		}
		slot, question = slots[0], suffix
	} else if slot, question, problem = s.namedReplica(strings.TrimPrefix(path, probesPath), host); problem != "" {
		return nil, "", problem
	}
	if question != "ready" && question != "live" {
		return nil, "", "The path must end in /ready or /live"
	}
	return slot, question, ""
}

// replicas returns the slots of the targets that are replicas, as far as is known. Other programs, and ranks without
// a port, count only if there is nothing else.
func (s *Server) replicas() []*snapshot.Slot {
	all := s.opts.Store.Slots()
	replicas := slices.DeleteFunc(slices.Clone(all), func(slot *snapshot.Slot) bool {
		return slot.Status().State == string(assess.Silent)
	})
	if len(replicas) == 0 {
		return all
	}
	return replicas
}

// namedReplica returns the replica for POOL/REPLICA/QUESTION, or for POOL/QUESTION and the host:
// Envoy probes all servers of a cluster at the same path, and can set the host for each.
func (s *Server) namedReplica(path, host string) (slot *snapshot.Slot, question, problem string) {
	parts := strings.Split(path, "/")
	question = parts[len(parts)-1]
	var names []string
	switch {
	case len(parts) == 3:
		names = parts[1:2]
		names[0], _ = url.PathUnescape(names[0]) // An invalid name matches no replica.
	case len(parts) == 2 && (question == "ready" || question == "live"):
		names = []string{host}
		if name, _, err := net.SplitHostPort(host); err == nil {
			names = append(names, name)
		}
	default:
		return nil, "", "The path is " + probesPath + "POOL/REPLICA/ready or " + probesPath +
			"POOL/REPLICA/live; without REPLICA the host names it"
	}
	pool, _ := url.PathUnescape(parts[0])
	for _, name := range names {
		if slot := s.opts.Store.Slot(pool + "/" + name); slot != nil {
			return slot, question, ""
		}
	}
	return nil, "", fmt.Sprintf("No replica is named %q; / lists them", pool+"/"+strings.Join(names, " or "))
}

// unjudged explains why the replica was never judged. It returns an empty string if it was.
func (r *replica) unjudged() string {
	s := &r.Status
	switch {
	case s.Judged:
		return ""
	case s.LastScrape.IsZero():
		return "it was not tried yet."
	default:
		why := cmp.Or(s.LastError, s.LastReason)
		return "its page was never read (" + why + "), which says little about its requests."
	}
}

// outdated says that a judgment is old, as while the exporter cannot scrape.
func (r *replica) outdated(now time.Time) string {
	if !r.overdue(now) {
		return ""
	}
	return " This was judged at the last scrape, " + age(now.Sub(r.Status.LastScrape)) + " ago."
}

// Limits of the gRPC health service; all connections together fit a sidecar of 64 MiB. A call beyond
// healthStreams of a connection waits and hears nothing, so its watches leave one for checks.
const (
	healthStreams     = 4
	connectionWatches = healthStreams - 1
	healthWatches     = 200
	healthMessage     = 2 << 10
	healthIdle        = 2 * time.Minute
	watchInterval     = time.Second
)

// healthServer serves the probes over the gRPC health protocol. The service name is the path of a
// probe without /-/, such as replica/ready. An empty name means replica/ready if there is only
// one replica, else the exporter itself.
type healthServer struct {
	healthpb.UnimplementedHealthServer

	web      *Server
	listener net.Listener
	grpc     *grpc.Server
	watches  watches
}

// watches counts the running watches, by the address of the client's end of their connection.
type watches struct {
	mu    sync.Mutex
	total int
	of    map[string]int
}

// begin counts a watch, or returns what refuses it.
func (w *watches) begin(client string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.total >= healthWatches:
		return status.Error(codes.ResourceExhausted, "too many watches at once; use Check")
	case w.of[client] >= connectionWatches:
		return status.Errorf(
			codes.ResourceExhausted,
			"a connection may hold %d watches; use Check, or another connection for more",
			connectionWatches,
		)
	}
	w.total++
	w.of[client]++
	return nil
}

func (w *watches) end(client string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total--
	w.of[client]--
	if w.of[client] == 0 {
		delete(w.of, client)
	}
}

func newHealthServer(s *Server, l net.Listener) *healthServer {
	h := &healthServer{web: s, listener: listener{l, s.connections}, watches: watches{of: map[string]int{}}}
	h.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(healthMessage),
		grpc.MaxHeaderListSize(healthMessage),
		grpc.MaxConcurrentStreams(healthStreams),
		grpc.ReadBufferSize(healthMessage),
		grpc.WriteBufferSize(healthMessage),
		grpc.ConnectionTimeout(readHeaderTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: healthIdle}),
	)
	healthpb.RegisterHealthServer(h.grpc, h)
	return h
}

func (h *healthServer) serve() error {
	err := h.grpc.Serve(h.listener)
	if err == nil || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("serve gRPC health at %s: %w", h.listener.Addr(), err)
}

// close ends every call and closes the listener, which a gRPC server that never served leaves
// open.
func (h *healthServer) close() {
	h.grpc.Stop()
	_ = h.listener.Close()
}

// Check implements the health service.
func (h *healthServer) Check(
	ctx context.Context,
	r *healthpb.HealthCheckRequest,
) (answer *healthpb.HealthCheckResponse, err error) {
	serving, text := h.judge(ctx, r.GetService())
	if serving == healthpb.HealthCheckResponse_SERVICE_UNKNOWN {
		return nil, status.Error(codes.NotFound, text)
	}
	return &healthpb.HealthCheckResponse{Status: serving}, nil
}

// Watch implements the health service: it sends the status at once and whenever it changes.
func (h *healthServer) Watch(r *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	client := ""
	if end, ok := peer.FromContext(stream.Context()); ok {
		client = end.Addr.String()
	}
	if err := h.watches.begin(client); err != nil {
		return err
	}
	defer h.watches.end(client)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	previous := healthpb.HealthCheckResponse_ServingStatus(-1)
	for {
		now, _ := h.judge(stream.Context(), r.GetService())
		if now != previous {
			if err := stream.Send(&healthpb.HealthCheckResponse{Status: now}); err != nil {
				return fmt.Errorf("send health: %w", err)
			}
			previous = now
		}
		select {
		case <-tick.C:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// judge returns the answer of the probe for a service name.
func (h *healthServer) judge(
	ctx context.Context,
	service string,
) (serving healthpb.HealthCheckResponse_ServingStatus, text string) {
	defer func() {
		if bug := recover(); bug != nil {
			h.web.logPanic("gRPC health", bug)
			serving = healthpb.HealthCheckResponse_UNKNOWN
		}
	}()
	if service == "" {
		if len(h.web.replicas()) != 1 {
			return healthpb.HealthCheckResponse_SERVING, ""
		}
		service = "replica/ready"
	}
	code, text := http.StatusNotFound, "Services are named replica/ready or replicas/POOL/REPLICA/ready"
	if path := "/-/" + service; strings.HasPrefix(path, probePath) || strings.HasPrefix(path, probesPath) {
		code, text = h.web.probe(ctx, path, authority(ctx))
	}
	switch code {
	case http.StatusOK:
		return healthpb.HealthCheckResponse_SERVING, text
	case http.StatusNotFound:
		return healthpb.HealthCheckResponse_SERVICE_UNKNOWN, text
	}
	return healthpb.HealthCheckResponse_NOT_SERVING, text
}

func authority(ctx context.Context) string {
	sent, _ := metadata.FromIncomingContext(ctx)
	if all := sent.Get(":authority"); len(all) > 0 {
		return all[0]
	}
	return ""
}

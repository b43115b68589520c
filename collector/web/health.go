package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The limits of the gRPC health protocol.
const (
	healthStreams = 16
	healthWatches = 200
	healthMessage = 4 << 10
	healthIdle    = 2 * time.Minute
	watchInterval = time.Second
)

// healthServer serves the probes in the gRPC health protocol. The name of a service is the path of
// a probe without /-/, such as replica/ready. The empty name is replica/ready for an exporter of
// one replica, else the exporter itself.
type healthServer struct {
	healthpb.UnimplementedHealthServer

	web      *Server
	listener net.Listener
	grpc     *grpc.Server
	watches  atomic.Int64
}

func newHealthServer(s *Server, l net.Listener) *healthServer {
	h := &healthServer{web: s, listener: listener{l, s.connections}}
	h.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(healthMessage), grpc.MaxHeaderListSize(maxHeaderBytes), grpc.MaxConcurrentStreams(healthStreams),
		grpc.ConnectionTimeout(readHeaderTimeout), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: healthIdle}),
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

// close ends every call, and closes the listener, which a server that never served leaves open.
func (h *healthServer) close() {
	h.grpc.Stop()
	_ = h.listener.Close()
}

// Check implements the health service.
func (h *healthServer) Check(ctx context.Context, r *healthpb.HealthCheckRequest) (answer *healthpb.HealthCheckResponse, err error) {
	serving, text := h.judge(ctx, r.GetService())
	if serving == healthpb.HealthCheckResponse_SERVICE_UNKNOWN {
		return nil, status.Error(codes.NotFound, text)
	}
	return &healthpb.HealthCheckResponse{Status: serving}, nil
}

// Watch implements the health service: it sends the status at once and whenever it changes.
func (h *healthServer) Watch(r *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	if h.watches.Add(1) > healthWatches {
		h.watches.Add(-1)
		return status.Error(codes.ResourceExhausted, "too many watches at once")
	}
	defer h.watches.Add(-1)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	last := healthpb.HealthCheckResponse_ServingStatus(-1)
	for {
		now, _ := h.judge(stream.Context(), r.GetService())
		if now != last {
			if err := stream.Send(&healthpb.HealthCheckResponse{Status: now}); err != nil {
				return fmt.Errorf("send health: %w", err)
			}
			last = now
		}
		select {
		case <-tick.C:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// judge returns the answer of the probe with a name.
func (h *healthServer) judge(ctx context.Context, service string) (serving healthpb.HealthCheckResponse_ServingStatus, text string) {
	defer func() {
		if bug := recover(); bug != nil {
			h.web.logPanic("gRPC health", bug)
			serving = healthpb.HealthCheckResponse_UNKNOWN
		}
	}()
	if service == "" {
		if len(h.web.opts.Store.Slots()) != 1 {
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

package web

import (
	"context"
	"net"
)

// Listen replaces the server's listeners by one of the test's.
func (s *Server) Listen(l net.Listener) {
	s.Close()
	s.listeners = []net.Listener{l}
}

// WriteTimeout and ReadHeaderTimeout are the bounds that readers meet.
const (
	WriteTimeout      = writeTimeout
	ReadHeaderTimeout = readHeaderTimeout
)

// Follow takes samples for the pages, as Run does.
func (s *Server) Follow(ctx context.Context) { s.history.Follow(ctx) }

// HeldOf is what slow readers may hold with a memory limit.
func HeldOf(limit int64) int64 { return heldOf(limit) }

// GRPCHealthAddr is the address of the gRPC health protocol as host:port; empty
// where that is not served.
func (s *Server) GRPCHealthAddr() string {
	if s.health == nil {
		return ""
	}
	return s.health.listener.Addr().String()
}

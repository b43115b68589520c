package web

import (
	"context"
	"net"
)

// Listen replaces the server's listeners by one of a test.
func (s *Server) Listen(l net.Listener) {
	s.Close()
	s.listeners = []net.Listener{l}
}

// WriteTimeout and ReadHeaderTimeout are the limits of readers.
const (
	WriteTimeout      = writeTimeout
	ReadHeaderTimeout = readHeaderTimeout
)

// SharedMemory returns how many bytes answers to slow clients may have.
func SharedMemory() int64 { return sharedMemory() }

// Follow samples the history, as Run does.
func (s *Server) Follow(ctx context.Context) { s.history.follow(ctx) }

// GRPCHealthAddr returns the address of the gRPC health protocol; empty if it is not served.
func (s *Server) GRPCHealthAddr() string {
	if s.health == nil {
		return ""
	}
	return s.health.listener.Addr().String()
}

// Addrs returns the addresses of all listeners.
func (s *Server) Addrs() []string {
	return mapped(s.listeners, func(l net.Listener) string { return l.Addr().String() })
}

package web

import "net"

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

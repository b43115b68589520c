//go:build !linux

package simulate

import (
	"context"
	"net"
)

// reserve finds a free port, which another program may take while it is closed.
func reserve(ctx context.Context, hostport string) (addr string, hold func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", hostport)
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), func() {}, l.Close()
}

func listen(addr string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
}

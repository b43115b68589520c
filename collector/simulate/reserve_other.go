//go:build !linux

package simulate

import (
	"context"
	"net"
)

// reserve finds a free port. These systems cannot reserve it, so another program may
// take it while the replica's listener is closed.
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

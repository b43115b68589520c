package simulate

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// soReusePort is SO_REUSEPORT, which package syscall lacks on some machines.
const soReusePort = 0xf

// reserve binds a port without listening on it: connections are refused, and no
// other program gets the port while the replica's own listener comes and goes.
func reserve(_ context.Context, hostport string) (addr string, hold func(), err error) {
	ap, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return "", nil, fmt.Errorf("host must be an IP address: %w", err)
	}
	family, sa := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().Unmap().As4()})
	if !ap.Addr().Unmap().Is4() {
		family, sa = syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16()}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("socket: %w", err)
	}
	// SO_REUSEADDR lets the port be taken although connections of an earlier
	// process linger; without it afterwards nobody else can bind beside us, and
	// SO_REUSEPORT lets our own listener.
	err = setSocket(fd, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, sa)
	}
	if err == nil {
		err = setSocket(fd, syscall.SO_REUSEADDR, 0)
	}
	if err == nil {
		err = setSocket(fd, soReusePort, 1)
	}
	var bound syscall.Sockaddr
	if err == nil {
		bound, err = syscall.Getsockname(fd)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return "", nil, fmt.Errorf("bind %s: %w", hostport, err)
	}
	number := int(ap.Port())
	switch b := bound.(type) {
	case *syscall.SockaddrInet4:
		number = b.Port
	case *syscall.SockaddrInet6:
		number = b.Port
	}
	return net.JoinHostPort(ap.Addr().String(), strconv.Itoa(number)), func() { _ = syscall.Close(fd) }, nil
}

func setSocket(fd, option, value int) error {
	return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, option, value)
}

// listen opens a reserved port.
func listen(addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = setSocket(int(fd), soReusePort, 1)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	return lc.Listen(context.Background(), "tcp", addr)
}

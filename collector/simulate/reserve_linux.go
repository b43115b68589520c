package simulate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// soReusePort is SO_REUSEPORT, which package syscall lacks on some architectures.
const soReusePort = 0xf

// reserve binds a port without listening on it: connections are refused, and no other
// program can take the port while the replica's listener is closed.
func reserve(_ context.Context, hostport string) (addr string, hold func(), err error) {
	want, err := netip.ParseAddrPort(hostport)
	if err != nil || !want.Addr().Is4() {
		return "", nil, fmt.Errorf("host must be an IPv4 address: %s", hostport)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("socket: %w", err)
	}
	hold = func() { _ = syscall.Close(fd) }
	// SO_REUSEADDR allows the bind although connections of an earlier process linger.
	// Without it afterwards nobody else can bind, except our listener with SO_REUSEPORT.
	err = errors.Join(
		setSocket(fd, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(want.Port()), Addr: want.Addr().As4()}),
		setSocket(fd, syscall.SO_REUSEADDR, 0),
		setSocket(fd, soReusePort, 1),
	)
	bound, nameErr := syscall.Getsockname(fd)
	address, ok := bound.(*syscall.SockaddrInet4)
	if err = errors.Join(err, nameErr); err != nil || !ok {
		hold()
		return "", nil, fmt.Errorf("bind %s: %w", hostport, err)
	}
	return netip.AddrPortFrom(want.Addr(), uint16(address.Port)).String(), hold, nil
}

func setSocket(fd, option, value int) error {
	return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, option, value)
}

// listen listens on a reserved port.
func listen(addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = setSocket(int(fd), soReusePort, 1) })
		return errors.Join(failed, err)
	}}
	return lc.Listen(context.Background(), "tcp", addr)
}

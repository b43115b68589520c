package scrape

import (
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// hasLanes says whether this system has what lanes are made of.
const hasLanes = true

// connect begins to connect to an address, without waiting for it.
func connect(to netip.AddrPort) (fd int, err error) {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		disconnect(fd)
		return -1, err
	}
	return fd, nil
}

// disconnect closes a connection. How that ends is of no interest any more.
func disconnect(fd int) { _ = unix.Close(fd) }

// silent says whether a connection that was kept is open and nothing came that
// nobody asked for.
func silent(fd int) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return errors.Is(err, unix.EAGAIN)
}

// receive reads what came; blocked is true when nothing is there yet.
func receive(fd int, into []byte) (n int, blocked bool, err error) {
	return again(func() (int, error) { return unix.Read(fd, into) })
}

// transmit writes what it can; blocked is true when it can nothing yet.
func transmit(fd int, text []byte) (n int, blocked bool, err error) {
	return again(func() (int, error) { return unix.Write(fd, text) })
}

// again does what a signal may interrupt.
func again(do func() (int, error)) (n int, blocked bool, err error) {
	for {
		switch n, err = do(); {
		case err == nil:
			return n, false, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, true, nil
		case !errors.Is(err, unix.EINTR):
			return 0, false, err
		}
	}
}

// await waits until something happens to one of the flights, or the time is
// over, and says which of them can go on.
func await(open []*flight, longest time.Duration) []bool {
	fds := make([]unix.PollFd, len(open))
	for i, f := range open {
		fds[i] = unix.PollFd{Fd: int32(f.fd), Events: unix.POLLIN}
		if len(f.unsent) > 0 {
			fds[i].Events = unix.POLLOUT
		}
	}
	// An interrupted or failed wait is one without news.
	_, _ = unix.Poll(fds, int((longest+time.Millisecond-1)/time.Millisecond))
	ready := make([]bool, len(open))
	for i := range fds {
		ready[i] = fds[i].Revents != 0
	}
	return ready
}

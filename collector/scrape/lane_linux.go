package scrape

import (
	"errors"
	"net/netip"

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

// watch is what the system is asked about connections, with memory of its own.
type watch struct {
	fds   []unix.PollFd
	ready []bool
}

// look says, without waiting, to which flights something happened: an answer or
// anything else came, or the connection ended; where something is to be sent, that
// it can be. When that cannot be said it may be any. What it returns is valid until it is called again.
func (w *watch) look(open []*flight) []bool {
	w.fds, w.ready = w.fds[:0], w.ready[:0]
	for _, f := range open {
		events := int16(unix.POLLIN)
		if f.sending() {
			events = unix.POLLOUT
		}
		w.fds = append(w.fds, unix.PollFd{Fd: int32(f.fd), Events: events})
	}
	// A look that is interrupted has seen that nothing happened.
	_, err := unix.Poll(w.fds, 0)
	failed := err != nil && !errors.Is(err, unix.EINTR)
	for i := range w.fds {
		w.ready = append(w.ready, failed || w.fds[i].Revents != 0)
	}
	return w.ready
}

package lane

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supported is true where the system has what lanes are made of.
const supported = true

// What is asked of the system for each page, and returns at once, is asked raw: of
// any other call the runtime takes note, and the first of a slot wakes its monitor,
// which then looks every 20 µs whether one takes long. That was a fifth of the
// processor time of a process that sleeps most of the time.

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
	// Where the system does not note when something came, that is not known.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if err = unix.Connect(fd, address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		disconnect(fd)
		return -1, err
	}
	return fd, nil
}

// disconnect closes a connection. How that ends is of no interest any more.
func disconnect(fd int) { _ = unix.Close(fd) }

// inbox is memory for what the system gets and gives when bytes are read.
type inbox struct {
	message unix.Msghdr
	into    unix.Iovec
	notes   [64]byte
}

// receive reads what came; blocked is true when nothing is there yet. Came is when
// the last of it did by the clock on the wall, which the system noted; 0 where it
// did not. There has to be room for a byte.
func (b *inbox) receive(fd int, into []byte) (n int, came int64, blocked bool, err error) {
	b.into.Base = unsafe.SliceData(into)
	b.into.SetLen(len(into))
	n, blocked, err = again(func() (int, error) { return b.recvmsg(fd) })
	b.into.Base = nil
	if blocked || err != nil {
		return n, 0, blocked, err
	}
	return n, noteOf(b.notes[:b.message.Controllen]), false, nil
}

// recvmsg is unix.RecvmsgBuffers without memory for an address, which a connection
// says nothing of, and raw.
func (b *inbox) recvmsg(fd int) (int, error) {
	b.message = unix.Msghdr{Iov: &b.into, Control: &b.notes[0]}
	b.message.SetIovlen(1)
	b.message.SetControllen(len(b.notes))
	n, _, failed := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.message)), 0)
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
}

// noteOf is when something came, in nanoseconds since 1970; 0 where that was not
// noted.
func noteOf(notes []byte) int64 {
	for len(notes) >= unix.SizeofCmsghdr {
		head, data, rest, err := unix.ParseOneSocketControlMessage(notes)
		if err != nil {
			return 0
		}
		// Seconds and nanoseconds as this machine has them, where it has 64 bits.
		if head.Level == unix.SOL_SOCKET && head.Type == unix.SO_TIMESTAMPNS && len(data) == 16 {
			seconds, nanos := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			return int64(seconds)*int64(time.Second) + int64(nanos)
		}
		notes = rest
	}
	return 0
}

// transmit writes what it can; blocked is true when it can nothing yet.
func transmit(fd int, text []byte) (n int, blocked bool, err error) {
	return again(func() (int, error) { return write(fd, text) })
}

// write is unix.Write, raw.
func write(fd int, text []byte) (int, error) {
	n, _, failed := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(len(text)))
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
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

// poller is what the system is asked about connections, with memory of its own.
type poller struct {
	fds   []unix.PollFd
	ready []bool
}

// look says, without waiting, to which requests something happened: an answer or
// anything else came, or the connection ended; where something is to be sent, that
// it can be. When that cannot be said it may be any. What it returns is valid until
// it is called again.
func (p *poller) look(open []*request) []bool {
	p.fds, p.ready = p.fds[:0], p.ready[:0]
	for _, f := range open {
		events := int16(unix.POLLIN)
		if f.sending() {
			events = unix.POLLOUT
		}
		p.fds = append(p.fds, unix.PollFd{Fd: int32(f.fd), Events: events})
	}
	// A look that is interrupted has seen that nothing happened.
	err := p.poll()
	failed := err != 0 && !errors.Is(err, unix.EINTR)
	for i := range p.fds {
		p.ready = append(p.ready, failed || p.fds[i].Revents != 0)
	}
	return p.ready
}

// poll is unix.Poll that does not wait, raw.
func (p *poller) poll() unix.Errno {
	var none unix.Timespec // How long it waits.
	_, _, failed := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(p.fds))), uintptr(len(p.fds)), uintptr(unsafe.Pointer(&none)), 0, 0, 0)
	return failed
}

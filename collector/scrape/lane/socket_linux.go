package lane

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supported is true if the operating system has the system calls of a lane.
const supported = true

// The system calls for each page return at once and are made raw. The runtime tracks any
// other system call, and the first after a pause wakes its monitor, which then checks every
// 20 µs whether a call takes long. That took a fifth of the CPU time of a process that sleeps
// most of the time.

func connect(to netip.AddrPort) (fd int, err error) {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	// Without it there are no timestamps of what is received.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if err = unix.Connect(fd, address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		disconnect(fd)
		return -1, err
	}
	return fd, nil
}

func disconnect(fd int) { _ = unix.Close(fd) }

// inbox is memory for the arguments of recvmsg.
type inbox struct {
	message unix.Msghdr
	into    unix.Iovec
	control [64]byte
}

// receive reads what arrived; blocked is true if nothing did yet. Received is the kernel's
// timestamp of the last bytes, in Unix nanoseconds; 0 if unknown. A connected socket fills no
// address.
func (b *inbox) receive(fd int, into []byte) (n int, received int64, blocked bool, err error) {
	b.into.Base = unsafe.SliceData(into)
	b.into.SetLen(len(into))
	b.message = unix.Msghdr{Iov: &b.into, Control: &b.control[0]}
	b.message.SetIovlen(1)
	b.message.SetControllen(len(b.control))
	size, _, failed := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.message)), 0)
	b.into.Base = nil
	if n, blocked, err = result(size, failed); blocked || err != nil {
		return n, 0, blocked, err
	}
	return n, timestampOf(b.control[:b.message.Controllen]), false, nil
}

// result returns the result of a non-blocking system call. A call that a signal interrupts
// counts as blocked, and is repeated with the next poll.
func result(n uintptr, failed unix.Errno) (size int, blocked bool, err error) {
	if failed == unix.EAGAIN || failed == unix.EINTR {
		return 0, true, nil
	}
	if failed != 0 {
		return 0, false, failed
	}
	return int(n), false, nil
}

// timestampOf returns the timestamp in a control message, in Unix nanoseconds; 0 if it has none.
func timestampOf(control []byte) int64 {
	for len(control) >= unix.SizeofCmsghdr {
		head, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return 0
		}
		// Seconds and nanoseconds in native byte order, 64 bits each on a 64-bit machine.
		if head.Level == unix.SOL_SOCKET && head.Type == unix.SO_TIMESTAMPNS && len(data) == 16 {
			seconds, nanos := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			return int64(seconds)*int64(time.Second) + int64(nanos)
		}
		control = rest
	}
	return 0
}

// transmit writes as much as possible; blocked is true if that is nothing yet.
func transmit(fd int, text []byte) (n int, blocked bool, err error) {
	size, _, failed := unix.RawSyscall(
		unix.SYS_WRITE,
		uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(text))),
		uintptr(len(text)),
	)
	return result(size, failed)
}

// poller is memory for the arguments and results of ppoll.
type poller struct {
	fds   []unix.PollFd
	ready []bool
}

// poll reports, without waiting, for which requests something happened: data arrived, the
// connection ended or, while a request is being sent, more can be written. If the system call
// fails, it reports all. The result is valid until the next call.
func (p *poller) poll(pending []*request) []bool {
	p.fds, p.ready = p.fds[:0], p.ready[:0]
	for _, r := range pending {
		events := int16(unix.POLLIN)
		if r.sending() {
			events = unix.POLLOUT
		}
		p.fds = append(p.fds, unix.PollFd{Fd: int32(r.fd), Events: events})
	}
	// It is unix.Ppoll without a signal mask or waiting, raw.
	var noWait unix.Timespec
	_, _, err := unix.RawSyscall6(
		unix.SYS_PPOLL,
		uintptr(unsafe.Pointer(unsafe.SliceData(p.fds))),
		uintptr(len(p.fds)),
		uintptr(unsafe.Pointer(&noWait)),
		0,
		0,
		0,
	)
	failed := err != 0 && !errors.Is(err, unix.EINTR) // When a signal interrupts it, nothing happened yet.
	for i := range p.fds {
		p.ready = append(p.ready, failed || p.fds[i].Revents != 0)
	}
	return p.ready
}

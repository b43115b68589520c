//go:build !linux

package lane

import (
	"errors"
	"net/netip"
)

// supported is false: every request goes through net/http.
const supported = false

func connect(netip.AddrPort) (int, error) { return -1, errors.ErrUnsupported }

func disconnect(int) {}

type inbox struct{}

func (*inbox) receive(int, []byte) (int, int64, bool, error) {
	return 0, 0, false, errors.ErrUnsupported
}

func transmit(int, []byte) (int, bool, error) { return 0, false, errors.ErrUnsupported }

type poller struct{}

func (*poller) poll(pending []*request) []bool { return make([]bool, len(pending)) }

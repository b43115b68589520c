//go:build !linux

package scrape

import (
	"errors"
	"net/netip"
)

// hasLanes says whether this system has what lanes are made of: here every
// question goes through net/http.
const hasLanes = false

func connect(netip.AddrPort) (int, error) { return -1, errors.ErrUnsupported }

func disconnect(int) {}

type inbox struct{}

func (*inbox) receive(int, []byte) (int, int64, bool, error) {
	return 0, 0, false, errors.ErrUnsupported
}

func transmit(int, []byte) (int, bool, error) { return 0, false, errors.ErrUnsupported }

type watch struct{}

func (*watch) look(open []*flight) []bool { return make([]bool, len(open)) }

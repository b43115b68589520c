//go:build !linux

package scrape

import (
	"errors"
	"net/netip"
	"time"
)

// hasLanes says whether this system has what lanes are made of: here every
// question goes through net/http.
const hasLanes = false

func connect(netip.AddrPort) (int, error) { return -1, errors.ErrUnsupported }

func disconnect(int) {}

func silent(int) bool { return false }

func receive(int, []byte) (int, bool, error) { return 0, false, errors.ErrUnsupported }

func transmit(int, []byte) (int, bool, error) { return 0, false, errors.ErrUnsupported }

func await(open []*flight, _ time.Duration) []bool { return make([]bool, len(open)) }

package scrape

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

type controlFunc = func(ctx context.Context, network, address string, conn syscall.RawConn) error

// guard decides which addresses may be dialed. It is immutable.
type guard struct {
	deny, allow []netip.Prefix
}

func (d *DialConfig) guard() (*guard, error) {
	deny, denyErr := prefixes("dial.deny", d.Deny)
	allow, allowErr := prefixes("dial.allow", d.Allow)
	return &guard{deny: deny, allow: allow}, errors.Join(denyErr, allowErr)
}

func prefixes(key string, texts []string) ([]netip.Prefix, error) {
	var (
		out  []netip.Prefix
		errs []error
	)
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil && address.Zone() == "" {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s[%d]: %q is not a network; write it like 10.0.0.0/8", key, i, text))
			continue
		}
		out = append(out, unmapped(prefix).Masked())
	}
	return out, errors.Join(errs...)
}

// unmapped converts a network of IPv4-mapped IPv6 addresses to IPv4, the form in which
// addresses are checked.
func unmapped(prefix netip.Prefix) netip.Prefix {
	const mappedBits = 96
	if address := prefix.Addr(); address.Is4In6() && prefix.Bits() >= mappedBits {
		return netip.PrefixFrom(address.Unmap(), prefix.Bits()-mappedBits)
	}
	return prefix
}

// check returns an error unless the address may be dialed. IPv4-mapped IPv6 addresses count
// as IPv4, and zones are ignored.
func (g *guard) check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	for _, denied := range g.deny {
		if denied.Contains(address) &&
			!slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(address) }) {
			return failf(
				ReasonConnect, ClassDenied, "%s is in dial.deny %s; add it to dial.allow if the target is intended",
				address, denied,
			)
		}
	}
	return nil
}

func (g *guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return failf(ReasonConnect, ClassDenied, "the address %q is not an IP address and port", address)
	}
	return g.check(resolved.Addr())
}

// checkHost checks a host if it is an address. Names cannot be checked, since a proxy
// resolves them.
func (g *guard) checkHost(host string) error {
	if address, err := netip.ParseAddr(host); err == nil {
		return g.check(address)
	}
	return nil
}

package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// CheckListen reports static targets that are this exporter, which listens on addr
// (host:port; without a host on every address of the machine).
func (f *File) CheckListen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w; write it like :9400", addr, err)
	}
	var errs []error
	for i := range f.Pools {
		for j, g := range f.Pools[i].Discovery.StaticConfigs {
			for k, t := range g.Targets {
				target := string(t[model.AddressLabel])
				targetHost, targetPort, err := net.SplitHostPort(target)
				if err != nil || targetPort != port || !sameHost(host, targetHost) {
					continue
				}
				errs = append(errs, fmt.Errorf("pools[%d].static_configs[%d].targets[%d]: %q is this exporter itself, which listens on %s; name the server's metrics port", i, j, k, target, addr))
			}
		}
	}
	return errors.Join(errs...)
}

// sameHost reports whether a listener on host listen receives what is sent to host
// target.
func sameHost(listen, target string) bool {
	listenIP, targetIP := net.ParseIP(listen), net.ParseIP(target)
	everywhere := listen == "" || (listenIP != nil && listenIP.IsUnspecified())
	loopback := listen == "localhost" || (listenIP != nil && listenIP.IsLoopback())
	targetLocal := strings.EqualFold(target, "localhost") || (targetIP != nil && (targetIP.IsLoopback() || targetIP.IsUnspecified()))
	switch {
	case everywhere:
		return targetLocal || isHostname(target) || isLocalAddress(targetIP)
	case loopback:
		return targetLocal
	case listenIP != nil && targetIP != nil:
		return listenIP.Equal(targetIP)
	}
	return strings.EqualFold(listen, target)
}

// isHostname reports whether a host is the name of this machine.
func isHostname(host string) bool {
	name, err := os.Hostname()
	return err == nil && strings.EqualFold(name, host)
}

// isLocalAddress reports whether an address belongs to an interface of this machine.
func isLocalAddress(ip net.IP) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil || ip == nil {
		return false
	}
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(ip)
	})
}

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

// CheckListen refuses static targets that are the exporter itself, when it
// listens on addr (host:port; no host means every address of the machine).
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

// sameHost reports whether a listener on host listen gets what is sent to host target.
func sameHost(listen, target string) bool {
	listenIP, targetIP := net.ParseIP(listen), net.ParseIP(target)
	everywhere := listen == "" || (listenIP != nil && listenIP.IsUnspecified())
	loopback := listen == "localhost" || (listenIP != nil && listenIP.IsLoopback())
	targetLocal := strings.EqualFold(target, "localhost") || (targetIP != nil && (targetIP.IsLoopback() || targetIP.IsUnspecified()))
	switch {
	case everywhere:
		return targetLocal || isOwnName(target) || isOwnAddress(targetIP)
	case loopback:
		return targetLocal
	case listenIP != nil && targetIP != nil:
		return listenIP.Equal(targetIP)
	}
	return strings.EqualFold(listen, target)
}

// isOwnName reports whether a host is the name of this machine.
func isOwnName(host string) bool {
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(own, host)
}

// isOwnAddress reports whether an address belongs to an interface of this machine.
func isOwnAddress(ip net.IP) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil || ip == nil {
		return false
	}
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(ip)
	})
}

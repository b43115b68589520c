package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// validateTargets checks that every pool has a source of targets, and that static targets are
// host:port and have unique names.
func validateTargets(pools []Pool) error {
	var errs keyErrors
	owners := map[[2]string]string{}
	for i := range pools {
		pool, path := &pools[i], fmt.Sprintf("pools[%d]", i)
		errs.addIf(pool.Discovery.Sources() == 0,
			"%s: has no source of targets; add static_configs, file_sd_configs, http_sd_configs, dns_sd_configs or "+
				"kubernetes_sd_configs", path)
		for j, g := range pool.Discovery.StaticConfigs {
			errs = append(errs, validateGroup(fmt.Sprintf("%s.static_configs[%d]", path, j), g, pool, owners))
		}
	}
	return errors.Join(errs...)
}

// validateGroup checks one entry of static_configs and adds its replicas to owners.
func validateGroup(path string, g *targetgroup.Group, pool *Pool, owners map[[2]string]string) error {
	var errs keyErrors
	errs.addIf(len(g.Targets) == 0, "%s.targets: is empty; list targets as host:port", path)
	for k, t := range g.Targets {
		targetPath := fmt.Sprintf("%s.targets[%d]", path, k)
		if t[model.AddressLabel] == "" {
			continue // Package discovery says so.
		}
		if err := CheckAddress(string(t[model.AddressLabel])); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", targetPath, err))
			continue
		}
		owner, clash := ownerOf(path, g, t, pool)
		if other, duplicate := owners[owner]; duplicate {
			errs = append(errs, fmt.Errorf("%s: %s", targetPath, clash(other)))
			continue
		}
		owners[owner] = targetPath
	}
	return errors.Join(errs...)
}

// ownerOf returns the key that must be unique among static targets, and a function that returns
// the message for a target that clashes with another. Relabeling may rename replicas, so with it
// only targets with the same labels clash, which no rule can tell apart.
func ownerOf(
	path string,
	g *targetgroup.Group,
	t model.LabelSet,
	pool *Pool,
) (owner [2]string, clash func(first string) string) {
	address := string(t[model.AddressLabel])
	if len(pool.RelabelConfigs) > 0 {
		poolPath, _, _ := strings.Cut(path, ".")
		return [2]string{poolPath, g.Labels.Merge(t).String()}, func(first string) string {
			return fmt.Sprintf("%s has the labels of %s, and no rule can tell them apart; list it once", address, first)
		}
	}
	owner = [2]string{
		cmp.Or(string(g.Labels[relabel.LabelPoolID]), pool.PoolID),
		cmp.Or(string(g.Labels[relabel.LabelReplicaID]), address),
	}
	return owner, func(first string) string {
		return fmt.Sprintf("pool_id %q and replica_id %q are already used by %s; give each target its "+
			"own replica_id", owner[0], owner[1], first)
	}
}

// isPattern reports whether an address stands for several, or has characters that no host has.
func isPattern(address string) bool {
	before := address[:max(strings.LastIndexByte(address, ':'), 0)]
	if _, err := netip.ParsePrefix(before); err == nil {
		return true
	}
	host, _, _ := strings.Cut(address, "/")
	if inner, isIPv6 := strings.CutPrefix(host, "["); isIPv6 {
		inside, rest, closed := strings.Cut(inner, "]")
		if _, err := netip.ParseAddr(inside); closed && err == nil {
			host = rest
		}
	}
	return strings.ContainsFunc(host, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._:%", r)
	})
}

// CheckAddress returns an error if address is not host:port. The error quotes nothing that may
// be secret.
func CheckAddress(address string) error {
	switch {
	case strings.Contains(address, "@"):
		return errors.New("has a user name or password; write host:port and use basic_auth")
	case strings.ContainsAny(address, "?#"):
		return errors.New("has a query or fragment; leave out everything from ? or # on")
	case strings.Contains(address, "$"):
		return fmt.Errorf("%q is not host:port; environment variables are not expanded: write the value", address)
	case strings.ContainsAny(address, " \t"):
		return fmt.Errorf("%q is not host:port; write it like 10.0.0.1:8002", address)
	}
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		host = zoneOfURL.ReplaceAllString(host, "$1%$2")
		if path == "" {
			return fmt.Errorf("%q has a scheme; write %q and scheme: %s", address, host, scheme)
		}
		return fmt.Errorf("%q has a scheme and a path; write %q, scheme: %s and metrics_path: /%s",
			address, host, scheme, path)
	}
	if isPattern(address) {
		return fmt.Errorf("%q is not the address of one host; patterns, lists and networks are not expanded, so list each "+
			"address like 10.0.0.1:8002", address)
	}
	if host, _, ok := strings.Cut(address, "/"); ok {
		return fmt.Errorf("%q has a path; write %q and put the path into metrics_path", address, host)
	}
	host, port, err := net.SplitHostPort(address)
	_, noPort := strconv.Atoi(address)
	switch number, notNumber := strconv.Atoi(port); {
	case err != nil && strings.Count(address, ":") == 2 && strings.Contains(address, "."):
		return fmt.Errorf("%q has two ports; write it like 10.0.0.1:8002", address)
	case err != nil && strings.Count(address, ":") > 1:
		return fmt.Errorf("%q is not host:port; write an IPv6 address like [::1]:8002", address)
	case err != nil && noPort == nil:
		return fmt.Errorf("%q is a port alone; write it like localhost:%s", address, address)
	case err != nil:
		return fmt.Errorf("%q has no port; write it like %s:8002", address, address)
	case zoneOfURL.MatchString(address):
		return fmt.Errorf("%q spells its zone as URLs do; write %q", address, zoneOfURL.ReplaceAllString(address, "$1%$2"))
	case host == "":
		return fmt.Errorf("%q has no host; write it like localhost%s", address, address)
	case notNumber != nil || number < 1 || number > 65535:
		return fmt.Errorf("%q has the port %q; use 1 to 65535", address, port)
	}
	return nil
}

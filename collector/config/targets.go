package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// defaultPort is the port of Triton's metrics.
const defaultPort = "8002"

// FromTargets returns a document for the URLs of the flag --target. They share the settings of
// pool, whose pool_id defaults to "default"; the replica_id is host:port. Errors name the flag.
func FromTargets(urls []string, pool Pool) (*File, error) {
	if len(urls) == 0 {
		return nil, errors.New("--target: none is given; give a URL like http://localhost:8002, or a file with " +
			"--config.file")
	}
	pool.PoolID = cmp.Or(pool.PoolID, "default")
	seen := map[string]bool{}
	for _, raw := range urls {
		g, err := targetOf(raw)
		if err != nil {
			return nil, fmt.Errorf("--target %q: %w", redactURL(raw), err)
		}
		replica := string(g.Labels[relabel.LabelReplicaID])
		if seen[replica] {
			return nil, fmt.Errorf("--target %q: %s is given twice; give each replica once", redactURL(raw), replica)
		}
		seen[replica] = true
		pool.Discovery.StaticConfigs = append(pool.Discovery.StaticConfigs, g)
	}
	f := DefaultFile
	f.Pools, f.Kinds = []Pool{pool}, pool.Kinds
	// There is no flag for the window.
	f.Global.Window = max(f.Global.Window, 2*pool.ScrapeInterval)
	f.Resolve()
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("--target: %w", err)
	}
	return &f, nil
}

// namesSeveral reports whether a URL goes on with a comma and another address.
func namesSeveral(raw string) bool {
	_, rest, _ := strings.Cut(raw, "://")
	host, path, _ := strings.Cut(rest, "/")
	return strings.Contains(host, ",") || strings.Contains(path, "://")
}

func targetOf(raw string) (*targetgroup.Group, error) {
	u, err := url.Parse(raw)
	switch {
	case namesSeveral(raw):
		return nil, errors.New("names several servers; give the flag once for each")
	case err != nil:
		return nil, errors.New("is not a URL; write it like http://localhost:8002")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("does not begin with http:// or https://; write it like http://localhost:8002")
	case u.Hostname() == "":
		return nil, errors.New("has no host; write it like http://localhost:8002")
	case u.User != nil:
		return nil, errors.New("has a user name or password, which the process list would show; use basic_auth " +
			"with password_file in a configuration file")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("has a query or fragment; leave out everything from ? or # on")
	}
	port := cmp.Or(u.Port(), defaultPort)
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return nil, fmt.Errorf("port %s is out of range; use 1 to 65535", port)
	}
	address := net.JoinHostPort(u.Hostname(), port)
	g := &targetgroup.Group{
		Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(address)}},
		Labels: model.LabelSet{
			relabel.LabelReplicaID: model.LabelValue(address),
			model.SchemeLabel:      model.LabelValue(u.Scheme),
		},
	}
	if u.Path != "" && u.Path != "/" {
		g.Labels[model.MetricsPathLabel] = model.LabelValue(u.Path)
	}
	return g, nil
}

package web

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options configure a [Server]. Functions may be called concurrently.
type Options struct {
	// ListenAddresses are host:port; port 0 lets the system choose.
	ListenAddresses []string
	// WebConfigFile is a file of exporter-toolkit with TLS and users; empty serves plain HTTP to
	// everybody.
	WebConfigFile string
	// EnableLifecycle enables /-/reload and /config.
	EnableLifecycle bool
	// MaxInFlight limits concurrent requests; 0 is DefaultMaxInFlight. MaxConnections further
	// limits the connections that it allows; 0 does not.
	MaxInFlight, MaxConnections int
	Version                     string
	// Runbook is the address of a runbook other than the one that is served, Grafana that of the
	// dashboards; empty for none.
	Runbook, Grafana string
	// ConfigFile is the configuration file that commands on the pages name; empty for none.
	ConfigFile string

	Store *snapshot.Store
	// Registry has the metrics of the exporter's process; the server adds its own.
	Registry *prometheus.Registry
	Configuration
	Probes
	// Searches returns what discovery found for each pool.
	Searches func() []target.PoolDiscovery
	// Ready reports whether all targets are known. The server itself waits until each was tried.
	Ready  func() bool
	Logger *slog.Logger
}

// Configuration gives access to the configuration that is in force when a function is called.
type Configuration struct {
	Exposition func() exposition.Config
	// Pools returns the objectives of all pools by id, also of pools without replicas.
	Pools func() map[string][]Objective
	// ConfigText returns the configuration, and Reload applies it again. Clients see the text and
	// the error, which must hold no secrets.
	ConfigText func() string
	Reload     func() error
}

// Probes configure the probes of replicas.
type Probes struct {
	// GRPCHealthAddress is a host:port that serves them in the gRPC health protocol too, without
	// TLS; empty for none.
	GRPCHealthAddress string
	// Unjudged is the answer for replicas that are not judged; empty is UnjudgedServer.
	Unjudged Unjudged
	// IgnoreCanary keeps a replica ready if only its canary fails.
	IgnoreCanary bool
	// Readiness asks the server of the replica with a key whether it is ready; known is false if
	// it does not answer.
	Readiness func(ctx context.Context, key string) (ready, known bool)
}

package web

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options are what a [Server] needs. Functions may be called concurrently.
type Options struct {
	// ListenAddresses are host:port pairs; port 0 lets the system choose.
	ListenAddresses []string
	// WebConfigFile is a file of exporter-toolkit with TLS and users; empty
	// serves plain HTTP to everybody.
	WebConfigFile string
	// EnableLifecycle opens /-/reload and /config.
	EnableLifecycle bool
	// MaxInFlight bounds the requests at work; 0 is DefaultMaxInFlight.
	MaxInFlight int
	// MaxConnections bounds the connections of readers, as far as MaxInFlight does not;
	// 0 leaves it to that.
	MaxConnections int
	// Version is shown to people.
	Version string
	// Runbook is the address of another runbook than the one that is served, Grafana that
	// of the dashboards; empty where there is none.
	Runbook, Grafana string
	// ConfigFile is the configuration, for commands that are shown; empty for none.
	ConfigFile string

	// Store holds the snapshots to serve.
	Store *snapshot.Store
	// Registry holds the metrics of the exporter's own process; the server
	// adds its own.
	Registry *prometheus.Registry
	Configuration
	Probes
	// Searches say what discovery found of every pool.
	Searches func() []target.PoolDiscovery
	// Ready reports whether the targets are known; the server sees by itself
	// whether each of them was tried once.
	Ready  func() bool
	Logger *slog.Logger
}

// Configuration is what is known of the configuration in force, at the moment of
// each call.
type Configuration struct {
	Exposition func() exposition.Config
	// Pools are the ids of its pools, with replicas or without.
	Pools func() []string
	// ConfigText is all of it without its secrets.
	ConfigText func() string
	// Reload applies it again; its error is shown to the caller of /-/reload and must
	// hold no secrets.
	Reload func() error
}

// Probes are how probes of replicas are answered.
type Probes struct {
	// GRPCHealthAddress is a host:port where they are served in the gRPC health
	// protocol too, in the clear; empty serves it nowhere.
	GRPCHealthAddress string
	// Unjudged is what they answer of a replica that is not judged; empty is
	// UnjudgedServer.
	Unjudged Unjudged
	// IgnoreCanary keeps a replica ready whose canary fails while nothing else is
	// wrong with it.
	IgnoreCanary bool
	// Readiness asks the server of the replica with that key whether it is ready;
	// known is false when it does not answer.
	Readiness func(ctx context.Context, key string) (ready, known bool)
}

package config

import (
	"path/filepath"
	"time"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Protocols of a server's API.
const (
	ProtocolHTTP = "http"
	ProtocolGRPC = "grpc"
)

// EngineAuto is the engine of pools whose kind of server is detected.
const EngineAuto = "auto"

// Engines returns the valid values of the key engine. An unknown server counts as a replica if the
// operator says so.
func Engines(kinds *engine.Kinds) []string {
	return append([]string{EngineAuto, string(engine.Unknown)}, kinds.Names()...)
}

// Pool describes replicas that serve the same model in the same way.
type Pool struct {
	// PoolID is the value of the label pool_id. It is required and unique.
	PoolID string `yaml:"pool_id"`
	// Engine is one of [Engines].
	Engine string `yaml:"engine"`

	// ScrapeInterval and ScrapeTimeout default to the global settings.
	ScrapeInterval model.Duration `yaml:"scrape_interval,omitempty"`
	ScrapeTimeout  model.Duration `yaml:"scrape_timeout,omitempty"`
	// IdentityInterval is the time between two queries for versions and models.
	IdentityInterval model.Duration `yaml:"identity_interval"`
	// StartBudget is how long a new replica may take to load its models: until then its state is
	// unknown, afterwards down.
	StartBudget model.Duration `yaml:"start_budget"`
	// StallAfter and FailingMin are set by the global block.
	StallAfter model.Duration `yaml:"-"`
	FailingMin int            `yaml:"-"`
	// Kinds are the kinds of servers that the document knows.
	Kinds *engine.Kinds `yaml:"-"`

	// Scheme is http or https.
	Scheme string `yaml:"scheme"`
	// MetricsPath is the path of the metrics page; it defaults to the engine's.
	MetricsPath string `yaml:"metrics_path,omitempty"`
	// APIProtocol is http or grpc, which only Triton supports.
	APIProtocol string `yaml:"api_protocol"`
	// APIPort is the port of the server's API; it defaults to the engine's.
	APIPort int `yaml:"api_port,omitempty"`
	// APIPath is the path prefix of the server's API; it defaults to the prefix of the page's path.
	APIPath string `yaml:"api_path,omitempty"`
	// APIScheme is http or https; it defaults to the scheme of the metrics page.
	APIScheme string `yaml:"api_scheme,omitempty"`

	// EngineVersion and TRTLLMVersion take precedence over what the server reports.
	EngineVersion string `yaml:"engine_version,omitempty"`
	TRTLLMVersion string `yaml:"trtllm_version,omitempty"`
	// EngineDir is the directory of the TensorRT engine, if the exporter can read it; its
	// config.json has the version that built it.
	EngineDir string `yaml:"engine_dir,omitempty"`

	// Silent marks replicas without a port, like the worker ranks of a server with several
	// processes. They are listed, but never scraped.
	Silent bool `yaml:"silent,omitempty"`
	// IterationStats enables reading trtllm-serve's iteration statistics, which removes them for
	// every other reader.
	IterationStats bool `yaml:"iteration_stats,omitempty"`
	// Canary configures the canary requests.
	Canary canary.Config `yaml:"canary"`

	// Discovery lists the sources of targets.
	Discovery discovery.Config `yaml:",inline"`

	// ModelIDs maps a public model id to the names that the server has for the model and its
	// parts.
	ModelIDs map[string][]string `yaml:"model_ids,omitempty"`
	// Expect is the expected configuration of the pool and its replicas.
	Expect Expect `yaml:"expect,omitempty"`
	// SLO holds the objectives of the pool; none by default.
	SLO derive.SLO `yaml:"slo,omitempty"`
	// Cost is the declared cost of a replica; nil if none is.
	Cost *Cost `yaml:"cost,omitempty"`

	// HonorLabels keeps a target's own labels if they collide with those from discovery;
	// identity labels are never replaced.
	HonorLabels bool `yaml:"honor_labels"`
	// RelabelConfigs are applied to targets, MetricRelabelConfigs to series.
	RelabelConfigs       relabel.Rules `yaml:"relabel_configs,omitempty"`
	MetricRelabelConfigs relabel.Rules `yaml:"metric_relabel_configs,omitempty"`

	// HTTP configures requests to the replicas: credentials, TLS, proxy.
	HTTP scrape.Config `yaml:",inline"`
	// Limits limits what one target may send.
	Limits Limits `yaml:"limits"`
}

// DefaultPool is the default pool.
var DefaultPool = Pool{
	Engine:           EngineAuto,
	IdentityInterval: model.Duration(30 * time.Second),
	StartBudget:      model.Duration(20 * time.Minute),
	Scheme:           "http",
	APIProtocol:      ProtocolHTTP,
	Canary:           canary.DefaultConfig,
	HTTP:             scrape.DefaultConfig,
	Limits:           DefaultLimits,
}

// Expect is what the operator expects of a pool and its replicas; unset keys are not checked.
type Expect struct {
	EngineVersion string `yaml:"engine_version,omitempty"`
	TRTLLMVersion string `yaml:"trtllm_version,omitempty"`
	// Determinism expects the same answer to the same request.
	Determinism bool `yaml:"determinism,omitempty"`
	// Replicas is the number of replicas; nil if it is not set.
	Replicas *Replicas `yaml:"replicas,omitempty"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Pool) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultPool
	type plain Pool
	return unmarshal((*plain)(c))
}

// resolve sets unset fields from the global settings. The interval of the pool caps the global
// timeout.
func (c *Pool) resolve(global *Global) {
	if c.ScrapeInterval == 0 {
		c.ScrapeInterval = global.ScrapeInterval
	}
	if c.ScrapeTimeout == 0 {
		c.ScrapeTimeout = min(global.ScrapeTimeout, c.ScrapeInterval)
	}
	c.StallAfter, c.FailingMin = global.StallAfter, global.FailingMin
	c.HTTP.Limits = c.Limits.Page
}

// setDirectory prepends dir to the relative file names of the pool.
func (c *Pool) setDirectory(dir string) {
	c.Discovery.SetDirectory(dir)
	c.HTTP.SetDirectory(dir)
	if c.EngineDir != "" && !filepath.IsAbs(c.EngineDir) {
		c.EngineDir = filepath.Join(dir, c.EngineDir)
	}
}

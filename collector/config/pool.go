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

// The protocols in which an API can be asked.
const (
	ProtocolHTTP = "http"
	ProtocolGRPC = "grpc"
)

// EngineAuto leaves the server kind of a pool to detection.
const EngineAuto = "auto"

// Engines lists what key engine of a pool may be.
func Engines() []string {
	names := []string{EngineAuto}
	for _, e := range engine.All() {
		names = append(names, string(e.Kind()))
	}
	return names
}

// Pool describes replicas that serve the same model in the same way. Its blocks
// without a name of their own are written in the pool itself.
type Pool struct {
	// PoolID is the value of label pool_id; required and unique.
	PoolID string `yaml:"pool_id"`
	// Engine is one of [Engines].
	Engine string `yaml:"engine"`

	Times    `yaml:",inline"`
	Address  `yaml:",inline"`
	Declared `yaml:",inline"`

	// Silent says that the replicas bind no port, like the follower ranks of a
	// server of several processes: they are known and never scraped.
	Silent bool `yaml:"silent,omitempty"`
	// IterationStats reads trtllm-serve's iteration statistics, which takes them
	// away from every other reader.
	IterationStats bool `yaml:"iteration_stats,omitempty"`
	// Canary reports whether and how the canary asks the replicas.
	Canary canary.Config `yaml:"canary"`

	// Discovery holds the sources of targets: static_configs and the like.
	Discovery discovery.Config `yaml:",inline"`

	// ModelIDs maps a public model id to the server's names of the model and
	// of its parts.
	ModelIDs map[string][]string `yaml:"model_ids,omitempty"`
	// Expect is what the pool and every replica of it should be.
	Expect Expect `yaml:"expect,omitempty"`
	// SLO are the objectives of the pool; none by default.
	SLO derive.SLO `yaml:"slo,omitempty"`

	Labelling `yaml:",inline"`

	// HTTP says how the replicas are asked: credentials, TLS, proxy.
	HTTP scrape.Config `yaml:",inline"`
	// Limits bound what one target may send.
	Limits Limits `yaml:"limits"`
}

// Times say how often the replicas are asked, and for how long they may take.
type Times struct {
	// ScrapeInterval and ScrapeTimeout are those of the global block when 0.
	ScrapeInterval model.Duration `yaml:"scrape_interval,omitempty"`
	ScrapeTimeout  model.Duration `yaml:"scrape_timeout,omitempty"`
	// IdentityInterval is the time between two rounds of the slow questions:
	// versions and models.
	IdentityInterval model.Duration `yaml:"identity_interval"`
	// StartBudget is how long a replica that was never seen may load its models: up
	// to then it is unknown, and down afterwards.
	StartBudget model.Duration `yaml:"start_budget"`
	// StallAfter and FailingMin are those of the global block.
	StallAfter model.Duration `yaml:"-"`
	FailingMin int            `yaml:"-"`
}

// Address says where on the hosts of the targets the metrics and the API are.
type Address struct {
	// Scheme is http or https.
	Scheme string `yaml:"scheme"`
	// MetricsPath is the path of the metrics; the engine's default when empty.
	MetricsPath string `yaml:"metrics_path,omitempty"`
	// APIProtocol is http or grpc; the latter is Triton's alone.
	APIProtocol string `yaml:"api_protocol"`
	// APIPort is the port of the server's API; the engine's default when 0.
	APIPort int `yaml:"api_port,omitempty"`
	// APIPath is what comes before the paths of the server's API; where its page is
	// when empty.
	APIPath string `yaml:"api_path,omitempty"`
	// APIScheme is http or https; that of the metrics when empty.
	APIScheme string `yaml:"api_scheme,omitempty"`
}

// Declared is what the operator knows better than the server reports.
type Declared struct {
	EngineVersion string `yaml:"engine_version,omitempty"`
	TRTLLMVersion string `yaml:"trtllm_version,omitempty"`
	// EngineDir is the folder of the TensorRT engine, for an exporter that runs
	// next to the server and sees it; its config.json says what built it.
	EngineDir string `yaml:"engine_dir,omitempty"`
}

// Labelling says what becomes of the labels of targets and series.
type Labelling struct {
	// HonorLabels keeps a target's own labels when they collide with those
	// that discovery gave it; identity labels are never given up.
	HonorLabels bool `yaml:"honor_labels"`
	// RelabelConfigs are applied to targets, MetricRelabelConfigs to series.
	RelabelConfigs       relabel.Rules `yaml:"relabel_configs,omitempty"`
	MetricRelabelConfigs relabel.Rules `yaml:"metric_relabel_configs,omitempty"`
}

// DefaultPool is a pool that sets no key.
var DefaultPool = Pool{
	Engine:  EngineAuto,
	Times:   Times{IdentityInterval: model.Duration(30 * time.Second), StartBudget: model.Duration(20 * time.Minute)},
	Address: Address{Scheme: "http", APIProtocol: ProtocolHTTP},
	Canary:  canary.DefaultConfig,
	HTTP:    scrape.DefaultConfig,
	Limits:  DefaultLimits,
}

// Expect is what the operator expects of a pool and of every replica of it; what
// is not set is not checked.
type Expect struct {
	EngineVersion string `yaml:"engine_version,omitempty"`
	TRTLLMVersion string `yaml:"trtllm_version,omitempty"`
	// Determinism says that the same request has to give the same answer.
	Determinism bool `yaml:"determinism,omitempty"`
	// Replicas is how many replicas the pool should have; nil where nobody says.
	Replicas *Replicas `yaml:"replicas,omitempty"`
}

// UnmarshalYAML reads the configuration over the defaults.
func (c *Pool) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultPool
	type plain Pool
	return unmarshal((*plain)(c))
}

// resolve takes from the global block what the pool does not set. A pool that is
// scraped faster than the global timeout allows gets a shorter timeout.
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

// setDirectory puts dir in front of the relative file names of the pool.
func (c *Pool) setDirectory(dir string) {
	c.Discovery.SetDirectory(dir)
	c.HTTP.SetDirectory(dir)
	if c.EngineDir != "" && !filepath.IsAbs(c.EngineDir) {
		c.EngineDir = filepath.Join(dir, c.EngineDir)
	}
}

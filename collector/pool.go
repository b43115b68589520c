package collector

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
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

// PoolConfig describes replicas that serve the same model in the same way.
type PoolConfig struct {
	// PoolID is the value of label pool_id; required and unique.
	PoolID string `yaml:"pool_id"`
	// Engine is one of [Engines].
	Engine string `yaml:"engine"`

	// ScrapeInterval and ScrapeTimeout are those of the global block when 0.
	ScrapeInterval model.Duration `yaml:"scrape_interval,omitempty"`
	ScrapeTimeout  model.Duration `yaml:"scrape_timeout,omitempty"`
	// IdentityInterval is the time between two rounds of the slow questions:
	// versions, models, health.
	IdentityInterval model.Duration `yaml:"identity_interval"`

	// Scheme is http or https.
	Scheme string `yaml:"scheme"`
	// MetricsPath is the path of the page; the engine's own when empty.
	MetricsPath string `yaml:"metrics_path,omitempty"`
	// APIProtocol is http or grpc; the latter is Triton's alone.
	APIProtocol string `yaml:"api_protocol"`
	// APIPort is the port of the server's API; the engine's own rule when 0.
	APIPort int `yaml:"api_port,omitempty"`
	// APIScheme is http or https; that of the page when empty.
	APIScheme string `yaml:"api_scheme,omitempty"`

	// EngineVersion and TRTLLMVersion are what the operator knows better than
	// the server says.
	EngineVersion string `yaml:"engine_version,omitempty"`
	TRTLLMVersion string `yaml:"trtllm_version,omitempty"`

	// EngineDir is the folder of the TensorRT engine, for an exporter that runs
	// beside the server and sees it; its config.json tells what built it.
	EngineDir string `yaml:"engine_dir,omitempty"`
	// Silent says that the replicas bind no port, as the follower ranks of a
	// server of several processes: they are known and never scraped.
	Silent bool `yaml:"silent,omitempty"`
	// IterationStats reads trtllm-serve's iteration statistics, which takes them
	// away from every other reader.
	IterationStats bool `yaml:"iteration_stats,omitempty"`
	// Canary says whether and how the canary asks the replicas.
	Canary canary.Config `yaml:"canary"`
	// StallAfter is that of the global block.
	StallAfter model.Duration `yaml:"-"`

	// Discovery holds the sources of targets: static_configs and the like.
	Discovery discovery.Config `yaml:",inline"`

	// ModelIDs maps a public model id to the server's names of the model and
	// of its parts.
	ModelIDs map[string][]string `yaml:"model_ids,omitempty"`
	// Expect is what every replica of the pool is to be.
	Expect ExpectConfig `yaml:"expect,omitempty"`

	// HonorLabels keeps a target's own labels when they collide with those
	// that discovery gave it; identity labels are never given up.
	HonorLabels bool `yaml:"honor_labels"`
	// RelabelConfigs are applied to targets, MetricRelabelConfigs to series.
	RelabelConfigs       relabel.Rules `yaml:"relabel_configs,omitempty"`
	MetricRelabelConfigs relabel.Rules `yaml:"metric_relabel_configs,omitempty"`

	// HTTP says how the pages are asked for: credentials, TLS, proxy.
	HTTP scrape.Config `yaml:",inline"`
	// Limits bound what one target may send.
	Limits LimitsConfig `yaml:"limits"`
}

// DefaultPoolConfig is the configuration of a pool that says nothing.
var DefaultPoolConfig = PoolConfig{
	Engine:           EngineAuto,
	IdentityInterval: model.Duration(30 * time.Second),
	Scheme:           "http",
	APIProtocol:      ProtocolHTTP,
	Canary:           canary.DefaultConfig,
	HTTP:             scrape.DefaultConfig,
	Limits:           DefaultLimitsConfig,
}

// ExpectConfig is what the operator expects of every replica of a pool; what is
// not set is not checked.
type ExpectConfig struct {
	EngineVersion string `yaml:"engine_version,omitempty"`
	TRTLLMVersion string `yaml:"trtllm_version,omitempty"`
	// Determinism says that the same request has to give the same answer.
	Determinism bool `yaml:"determinism,omitempty"`
}

// UnmarshalYAML reads the configuration over the defaults.
func (c *PoolConfig) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultPoolConfig
	type plain PoolConfig
	return unmarshal((*plain)(c))
}

// resolve takes from the global block what the pool leaves open. A pool that is
// scraped faster than the global timeout allows takes a timeout of its own.
func (c *PoolConfig) resolve(global *GlobalConfig) {
	if c.ScrapeInterval == 0 {
		c.ScrapeInterval = global.ScrapeInterval
	}
	if c.ScrapeTimeout == 0 {
		c.ScrapeTimeout = min(global.ScrapeTimeout, c.ScrapeInterval)
	}
	c.StallAfter = global.StallAfter
	c.HTTP.Limits = c.Limits.Page
}

// SetDirectory puts dir in front of the relative file names of the pool.
func (c *PoolConfig) SetDirectory(dir string) {
	c.Discovery.SetDirectory(dir)
	c.HTTP.SetDirectory(dir)
	if c.EngineDir != "" && !filepath.IsAbs(c.EngineDir) {
		c.EngineDir = filepath.Join(dir, c.EngineDir)
	}
}

// Validate says everything that is wrong with the pool; each error begins with
// the key.
func (c *PoolConfig) Validate() error {
	errs := []error{checkName("pool_id", c.PoolID)}
	if !slices.Contains(Engines(), c.Engine) {
		errs = append(errs, fmt.Errorf("engine: %q is unknown; use %s", c.Engine, strings.Join(Engines(), ", ")))
	}
	errs = append(errs, c.validateTimes(), c.validateAddress(), c.validateProtocol(), c.validateIterations(), c.validateCanary(), c.validateModels(), c.validateVersions())
	for _, room := range []struct {
		key string
		err error
	}{
		{"", c.Discovery.Validate()},
		{"relabel_configs", c.RelabelConfigs.Validate()},
		{"metric_relabel_configs", c.MetricRelabelConfigs.ValidateSeries()},
		{"", c.HTTP.Validate()},
		{"limits.", c.Limits.validateSeries()},
	} {
		if room.err != nil {
			errs = append(errs, prefixed(room.key, room.err))
		}
	}
	return errors.Join(errs...)
}

// checkName says what keeps a text from naming a pool or a replica.
func checkName(key, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s: is required; give a name that is unique in this file", key)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s: %q is not valid UTF-8; write it in UTF-8", key, name)
	case strings.ContainsFunc(name, unicode.IsControl) || strings.TrimSpace(name) != name:
		return fmt.Errorf("%s: %q has control characters or blanks at an end; remove them", key, name)
	case strings.Contains(name, "/"):
		return fmt.Errorf("%s: %q has a slash, which divides pool and replica; use - instead", key, name)
	}
	return nil
}

func (c *PoolConfig) validateTimes() error {
	var errs []error
	if c.ScrapeInterval < 0 {
		errs = append(errs, errors.New("scrape_interval: must be longer than 0; leave it out to take the global one"))
	}
	if c.ScrapeTimeout < 0 {
		errs = append(errs, errors.New("scrape_timeout: must be longer than 0; leave it out to take the global one"))
	}
	if c.ScrapeTimeout > c.ScrapeInterval && c.ScrapeInterval > 0 {
		errs = append(errs, fmt.Errorf("scrape_timeout: %s is longer than scrape_interval %s; lower the timeout or raise the interval", c.ScrapeTimeout, c.ScrapeInterval))
	}
	if c.IdentityInterval <= 0 {
		errs = append(errs, errors.New("identity_interval: must be longer than 0; the default is 30s"))
	}
	return errors.Join(errs...)
}

func (c *PoolConfig) validateAddress() error {
	var errs []error
	if c.Scheme != "http" && c.Scheme != "https" {
		errs = append(errs, fmt.Errorf("scheme: %q is unknown; use http or https", c.Scheme))
	}
	if c.APIScheme != "" && c.APIScheme != "http" && c.APIScheme != "https" {
		errs = append(errs, fmt.Errorf("api_scheme: %q is unknown; use http or https", c.APIScheme))
	}
	if c.APIScheme != "" && c.APIPort == 0 {
		errs = append(errs, errors.New("api_scheme: has no effect without api_port; set api_port too"))
	}
	if c.MetricsPath != "" && !strings.HasPrefix(c.MetricsPath, "/") {
		errs = append(errs, fmt.Errorf("metrics_path: %q does not start with a slash; write /%s", c.MetricsPath, c.MetricsPath))
	}
	if strings.ContainsAny(c.MetricsPath, "?#") {
		errs = append(errs, fmt.Errorf("metrics_path: %q is more than a path; leave out everything from ? or # on", c.MetricsPath))
	}
	if c.APIPort < 0 || c.APIPort > 65535 {
		errs = append(errs, fmt.Errorf("api_port: %d is not a port; use 1 to 65535, or leave it out to take the engine's own", c.APIPort))
	}
	if strings.ContainsFunc(c.EngineDir, unicode.IsControl) || strings.TrimSpace(c.EngineDir) != c.EngineDir {
		errs = append(errs, fmt.Errorf("engine_dir: %q has control characters or blanks at an end; write the path of the folder that holds the engine's config.json", c.EngineDir))
	}
	return errors.Join(errs...)
}

func (c *PoolConfig) validateModels() error {
	var errs []error
	owner := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(c.ModelIDs)) {
		names := c.ModelIDs[id]
		path := "model_ids." + id
		switch {
		case id == "":
			errs = append(errs, errors.New("model_ids: one id is empty; give the model a public name"))
		case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
			errs = append(errs, fmt.Errorf("model_ids: %q has characters that no label may hold; use plain text", id))
		case len(names) == 0:
			errs = append(errs, fmt.Errorf("%s: has no names; list the server's names of the model", path))
		}
		for _, name := range names {
			other, taken := owner[name]
			switch {
			case name == "":
				errs = append(errs, fmt.Errorf("%s: one name is empty; write the name as the server's label model has it", path))
			case taken && other == id:
				errs = append(errs, fmt.Errorf("%s: %q is listed twice; name it once", path, name))
			case taken:
				errs = append(errs, fmt.Errorf("%s: %q belongs to %q already; a server name has one id", path, name, other))
			default:
				owner[name] = id
			}
		}
	}
	return errors.Join(errs...)
}

// versionPattern is a version as the servers write it: 2.64.0, 1.2.0rc1, 25.10-py3.
const versionPattern = `^v?\d+(\.\d+)*([-+.]?[A-Za-z0-9]+)*$`

func (c *PoolConfig) validateVersions() error {
	pattern := regexp.MustCompile(versionPattern)
	var errs []error
	for _, v := range []struct{ key, value string }{
		{"engine_version", c.EngineVersion},
		{"trtllm_version", c.TRTLLMVersion},
		{"expect.engine_version", c.Expect.EngineVersion},
		{"expect.trtllm_version", c.Expect.TRTLLMVersion},
	} {
		if v.value != "" && !pattern.MatchString(v.value) {
			errs = append(errs, fmt.Errorf("%s: %q is not a version; write it like 2.64.0 or 1.2.0rc1", v.key, v.value))
		}
	}
	return errors.Join(errs...)
}

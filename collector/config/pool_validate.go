package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate returns all errors of the pool, each beginning with its key.
func (c *Pool) Validate() error {
	errs := keyErrors{checkName("pool_id", c.PoolID)}
	kinds := Engines(c.Kinds)
	errs.addIf(!slices.Contains(kinds, c.Engine), "engine: %q is unknown%s", c.Engine,
		cmp.Or(nearestHint(c.Engine, kinds), "; use "+strings.Join(kinds, ", ")+", or declare it in kinds_file"))
	errs.addIf(c.ScrapeInterval < 0, "scrape_interval: must be longer than 0; leave it out to use the global one")
	errs.addIf(c.ScrapeTimeout < 0, "scrape_timeout: must be longer than 0; leave it out to use the global one")
	errs.addIf(c.ScrapeTimeout > c.ScrapeInterval && c.ScrapeInterval > 0,
		"scrape_timeout: %s is longer than scrape_interval %s; lower the timeout or raise "+
			"the interval", c.ScrapeTimeout, c.ScrapeInterval)
	errs.addIf(c.StartBudget <= 0, "start_budget: must be longer than 0; the default is 20m")
	errs.addIf(c.IdentityInterval <= 0, "identity_interval: must be longer than 0; the default is 30s")
	return errors.Join(append(errs,
		c.validateAddress(), c.validateProtocol(), c.validateIterations(), c.validateCanary(),
		c.validateModels(), c.validateVersions(),
		c.Discovery.Validate(),
		prefixed("relabel_configs", c.RelabelConfigs.Validate()),
		prefixed("metric_relabel_configs", c.MetricRelabelConfigs.ValidateSeries()),
		c.HTTP.Validate(),
		prefixed("limits.", c.Limits.validateSeries()),
		prefixed("slo.", c.SLO.Validate()),
		prefixed("cost.", c.Cost.Validate()),
	)...)
}

func checkName(key, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s: is required; give a name that is unique in this file", key)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s: %q is not valid UTF-8; write it in UTF-8", key, name)
	case strings.ContainsFunc(name, unicode.IsControl) || strings.TrimSpace(name) != name:
		return fmt.Errorf("%s: %q has control characters, or spaces at its start or end; remove them", key, name)
	case strings.Contains(name, "/"):
		return fmt.Errorf("%s: %q has a slash, which separates pool and replica; use - instead", key, name)
	}
	return nil
}

func (c *Pool) validateAddress() error {
	var errs keyErrors
	errs.addIf(
		c.Scheme != "http" && c.Scheme != "https",
		"scheme: %q is unknown; use http or https",
		redactURL(c.Scheme),
	)
	errs.addIf(c.APIScheme != "" && c.APIScheme != "http" && c.APIScheme != "https",
		"api_scheme: %q is unknown; use http or https", redactURL(c.APIScheme))
	errs.addIf(c.APIScheme != "" && c.APIPort == 0 && c.APIPath == "", "api_scheme: has no effect without "+
		"api_port; set api_port too")
	errs.addPath("api_path", c.APIPath)
	errs.addIf(c.APIPath != "" && c.APIProtocol == ProtocolGRPC, "api_path: has no effect with api_protocol grpc; "+
		"leave it out")
	errs.addPath("metrics_path", c.MetricsPath)
	errs.addIf(c.APIPort < 0 || c.APIPort > 65535,
		"api_port: %d is not a port; use 1 to 65535, or leave it out to use the default of the engine", c.APIPort)
	errs.addIf(strings.ContainsFunc(c.EngineDir, unicode.IsControl) || strings.TrimSpace(c.EngineDir) != c.EngineDir,
		"engine_dir: %q has control characters, or spaces at its start or end; write the path of the folder that "+
			"holds the engine's config.json", c.EngineDir)
	return errors.Join(errs...)
}

func (c *Pool) validateModels() error {
	var errs []error
	owners := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(c.ModelIDs)) {
		names := c.ModelIDs[id]
		path := "model_ids." + id
		switch {
		case id == "":
			errs = append(errs, errors.New("model_ids: one id is empty; give the model a public name"))
		case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
			errs = append(errs, fmt.Errorf("model_ids: %q has control characters or is not UTF-8; use plain text", id))
		case len(names) == 0:
			errs = append(errs, fmt.Errorf("%s: has no names; list the server's names of the model", path))
		}
		for _, name := range names {
			other, duplicate := owners[name]
			switch {
			case name == "":
				errs = append(errs, fmt.Errorf("%s: one name is empty; write the name as in the "+
					"server's label model", path))
			case duplicate && other == id:
				errs = append(errs, fmt.Errorf("%s: %q is listed twice; name it once", path, name))
			case duplicate:
				errs = append(
					errs,
					fmt.Errorf("%s: %q already belongs to %q; a server's name has one id", path, name, other),
				)
			default:
				owners[name] = id
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Pool) validateVersions() error {
	// Servers write 2.64.0, 1.2.0rc1 or 25.10-py3.
	pattern := regexp.MustCompile(`^v?\d+(\.\d+)*([-+.]?[A-Za-z0-9]+)*$`)
	var errs keyErrors
	for _, v := range []struct{ key, value string }{
		{"engine_version", c.EngineVersion},
		{"trtllm_version", c.TRTLLMVersion},
		{"expect.engine_version", c.Expect.EngineVersion},
		{"expect.trtllm_version", c.Expect.TRTLLMVersion},
	} {
		errs.addIf(v.value != "" && !pattern.MatchString(v.value),
			"%s: %q is not a version; write it like 2.64.0 or 1.2.0rc1", v.key, v.value)
	}
	return errors.Join(errs...)
}

func (c *Pool) validateProtocol() error {
	if c.APIProtocol != ProtocolHTTP && c.APIProtocol != ProtocolGRPC {
		return fmt.Errorf("api_protocol: %q is unknown; use %s or %s", c.APIProtocol, ProtocolHTTP, ProtocolGRPC)
	}
	if c.APIProtocol == ProtocolHTTP {
		return nil
	}
	var errs keyErrors
	errs.addIf(c.Engine != EngineAuto && !c.hasGRPC(c.Engine),
		"api_protocol: servers of engine %s have no gRPC API; use %s", c.Engine, ProtocolHTTP)
	errs.addIf(c.HTTP.Proxy.Proxy() != nil, "api_protocol: gRPC does not go through a proxy; remove the proxy "+
		"keys or use http")
	return errors.Join(errs...)
}

func (c *Pool) validateIterations() error {
	if !c.IterationStats || c.Engine == EngineAuto || c.hasIterations(c.Engine) {
		return nil
	}
	supported := slices.DeleteFunc(Engines(c.Kinds), func(kind string) bool { return !c.hasIterations(kind) })
	return fmt.Errorf("iteration_stats: servers of engine %s have no iteration statistics; remove it, or set "+
		"engine to %s", c.Engine, strings.Join(supported, " or "))
}

func (c *Pool) validateCanary() error {
	errs := keyErrors{prefixed("canary.", c.Canary.Validate())}
	if !c.Canary.Enabled {
		return errors.Join(errs...)
	}
	within := c.Canary.CancelWithin
	errs.addIf(within > 0 && within < 2*c.ScrapeInterval, "canary.cancel_within: %s is shorter than two scrape "+
		"intervals of %s, so no page may arrive in time; raise it or lower scrape_interval", within, c.ScrapeInterval)
	errs.addIf(c.Silent, "canary.enabled: silent replicas have no API to ask; remove one of the two")
	return errors.Join(errs...)
}

func (c *Pool) hasGRPC(kind string) bool {
	e, ok := c.Kinds.Named(kind)
	if ok {
		_, ok = e.GRPCPort(0)
	}
	return ok
}

func (c *Pool) hasIterations(kind string) bool {
	e, ok := c.Kinds.Named(kind)
	return ok && e.Iterations != ""
}

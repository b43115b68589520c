package search

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// target builds a target from its labels; nil when relabeling drops it.
func (p pool) target(lset labels.Labels) (*target.Target, error) {
	lset, keep := p.RelabelConfigs.Target(lset)
	if !keep {
		return nil, nil //nolint:nilnil // a dropped target is neither a target nor an error.
	}
	address := lset.Get(model.AddressLabel)
	if address == "" {
		return nil, fmt.Errorf("target %s has no %s after relabel_configs: set it or drop the target", withoutParams(lset), model.AddressLabel)
	}
	t := &target.Target{
		PoolID:        cmp.Or(lset.Get(relabel.LabelPoolID), p.PoolID),
		ReplicaID:     cmp.Or(lset.Get(relabel.LabelReplicaID), address),
		Engine:        cmp.Or(lset.Get(relabel.LabelEngine), p.Engine),
		EngineVersion: cmp.Or(lset.Get(relabel.LabelEngineVersion), p.EngineVersion),
		TRTLLMVersion: cmp.Or(lset.Get(relabel.LabelTRTLLMVersion), p.TRTLLMVersion),
		Labels:        further(lset),
		Interval:      time.Duration(p.ScrapeInterval),
		Timeout:       time.Duration(p.ScrapeTimeout),
	}
	if kinds := config.Engines(); !slices.Contains(kinds, t.Engine) {
		return nil, fmt.Errorf("target %q has %s %q: write one of %s", withoutSecrets(address), relabel.LabelEngine, t.Engine, strings.Join(kinds, ", "))
	}
	var err error
	if t.Silent, err = p.silent(lset.Get(SilentLabel)); err != nil {
		return nil, err
	}
	page, err := pageOf(address, lset)
	if err != nil {
		return nil, err
	}
	t.MetricsURL = page.String()
	t.APIURL = p.api(page, lset.Get(APIAddressLabel), cmp.Or(lset.Get(APIPathLabel), p.APIPath))
	return t, nil
}

// pageOf is the URL of a target's page. No error quotes what may hold a secret.
func pageOf(address string, lset labels.Labels) (*url.URL, error) {
	page := &url.URL{
		Scheme: strings.ToLower(lset.Get(model.SchemeLabel)), Host: address, Path: lset.Get(model.MetricsPathLabel),
		RawQuery: params(lset).Encode(),
	}
	if public := withoutSecrets(address); public != address {
		return nil, fmt.Errorf("target %q is no address: it has a user, a password or a query; write host:port", public)
	}
	if page.Scheme != "http" && page.Scheme != "https" {
		return nil, fmt.Errorf("target %q has %s %q: write http or https", address, model.SchemeLabel, lset.Get(model.SchemeLabel))
	}
	if _, err := url.Parse(page.String()); err != nil {
		// The outer error repeats the URL, whose query may hold a secret.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return nil, fmt.Errorf("target %q is no address: %w", address, err)
	}
	return page, nil
}

// withoutSecrets is an address without what is before its host or behind its path,
// which may hold a password or a token.
func withoutSecrets(address string) string {
	address = address[strings.LastIndex(address, "@")+1:]
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		address = address[:end]
	}
	return address
}

// podNameLabel is how discovery in Kubernetes names the pod behind a target.
const podNameLabel = "__meta_kubernetes_pod_name"

// SilentLabel is the label by which discovery or relabeling says that one
// target binds no port; true or false.
const SilentLabel = "__silent__"

// silent says whether a target binds no port: its label, else the pool.
func (p pool) silent(label string) (bool, error) {
	if label == "" {
		return p.Silent, nil
	}
	silent, err := strconv.ParseBool(label)
	if err != nil {
		return false, fmt.Errorf("label %s is %q: write true or false", SilentLabel, label)
	}
	return silent, nil
}

// APIAddressLabel is the label by which discovery or relabeling gives one
// target's API an address of its own, host:port.
const APIAddressLabel = "__api_address__"

// APIPathLabel is the label by which they say what comes before the paths of one
// target's API.
const APIPathLabel = "__api_path__"

// api is the base of the server's API where the target or the pool says it; a path
// alone is one on the port of the page.
func (p pool) api(page *url.URL, address, path string) string {
	if address == "" && p.APIPort != 0 {
		address = net.JoinHostPort(page.Hostname(), strconv.Itoa(p.APIPort))
	}
	if address == "" && path != "" {
		address = page.Host
	}
	if address == "" {
		return ""
	}
	before := (&url.URL{Path: strings.TrimRight(path, "/")}).EscapedPath()
	return api.Base(p.APIProtocol == config.ProtocolGRPC, cmp.Or(p.APIScheme, page.Scheme), address) + before
}

// params are the query parameters that __param_ labels give.
func params(lset labels.Labels) url.Values {
	values := url.Values{}
	lset.Range(func(l labels.Label) {
		if name, ok := strings.CutPrefix(l.Name, model.ParamLabelPrefix); ok {
			values.Set(name, l.Value)
		}
	})
	return values
}

// withoutParams are labels that may be logged: parameters may hold a secret.
func withoutParams(lset labels.Labels) labels.Labels {
	return lset.DropReserved(func(name string) bool { return strings.HasPrefix(name, model.ParamLabelPrefix) })
}

// further are the labels of a target other than its identity.
func further(lset labels.Labels) map[string]string {
	var m map[string]string
	lset.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.ReservedLabelPrefix) || slices.Contains(relabel.Names(), l.Name) {
			return
		}
		if m == nil {
			m = make(map[string]string)
		}
		m[l.Name] = l.Value
	})
	return m
}

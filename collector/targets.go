package collector

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// targets turns what discovery found into targets, and says what became of the
// others. One that cannot be used is left out, with a word in the log.
func (p *pool) targets(groups []*targetgroup.Group, log *slog.Logger) ([]*target.Target, target.Search) {
	var found []*target.Target
	search := target.Search{PoolID: p.cfg.PoolID, Answered: true}
	for _, g := range groups {
		search.Found += len(g.Targets)
		for _, lset := range g.Targets {
			before := p.labels(g.Labels, lset)
			switch t, err := p.target(before); {
			case err != nil:
				log.Warn("Target left out", "pool_id", p.cfg.PoolID, "source", g.Source, "err", err)
				search.LeftOut++
				search.Error = cmp.Or(search.Error, err.Error())
			case t == nil:
				p.dropped(&search, g.Source, before)
			case p.shard.keeps(t.Key()):
				found = append(found, t)
			default:
				search.Elsewhere++
			}
		}
	}
	return found, search
}

// dropped notes a target that relabeling dropped; of the first ones also the rule.
func (p *pool) dropped(s *target.Search, source string, lset labels.Labels) {
	s.Dropped++
	if len(s.Drops) == target.MaxDrops {
		return
	}
	s.Drops = append(s.Drops, target.Drop{
		Source: source, Address: lset.Get(model.AddressLabel), Rule: p.cfg.RelabelConfigs.DroppedBy(lset),
	})
}

// labels are a target's labels before relabeling.
func (p *pool) labels(group, own model.LabelSet) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(relabel.LabelPoolID, p.cfg.PoolID)
	b.Set(model.SchemeLabel, p.cfg.Scheme)
	b.Set(model.MetricsPathLabel, p.cfg.MetricsPath)
	for _, set := range []model.LabelSet{group, own} {
		for name, value := range set {
			b.Set(string(name), string(value))
		}
	}
	if pod := podName(b); pod != "" && b.Get(relabel.LabelReplicaID) == "" {
		b.Set(relabel.LabelReplicaID, pod)
	}
	return b.Labels()
}

// podName is the pod behind a target that discovery in Kubernetes found. An
// endpoint may be known before its pod is, and Prometheus does not look again
// when the pod comes; but the endpoint itself says whose it is.
func podName(b *labels.Builder) string {
	for _, of := range [...]string{"endpointslice_address", "endpoint_address"} {
		if b.Get(podNameLabel) == "" && b.Get("__meta_kubernetes_"+of+"_target_kind") == "Pod" {
			return b.Get("__meta_kubernetes_" + of + "_target_name")
		}
	}
	return b.Get(podNameLabel)
}

// target builds a target from its labels; nil when relabeling drops it.
func (p *pool) target(lset labels.Labels) (*target.Target, error) {
	lset, keep := p.cfg.RelabelConfigs.Target(lset)
	if !keep {
		return nil, nil //nolint:nilnil // a dropped target is neither a target nor an error.
	}
	address := lset.Get(model.AddressLabel)
	if address == "" {
		return nil, fmt.Errorf("target %s has no %s after relabel_configs: set it or drop the target", withoutParams(lset), model.AddressLabel)
	}
	t := &target.Target{
		PoolID:        lset.Get(relabel.LabelPoolID),
		ReplicaID:     lset.Get(relabel.LabelReplicaID),
		Engine:        p.cfg.Engine,
		EngineVersion: cmp.Or(lset.Get(relabel.LabelEngineVersion), p.cfg.EngineVersion),
		TRTLLMVersion: cmp.Or(lset.Get(relabel.LabelTRTLLMVersion), p.cfg.TRTLLMVersion),
		Labels:        further(lset),
		Interval:      time.Duration(p.cfg.ScrapeInterval),
		Timeout:       time.Duration(p.cfg.ScrapeTimeout),
	}
	if t.ReplicaID == "" {
		t.ReplicaID = address
	}
	var err error
	if t.Silent, err = p.silent(lset.Get(SilentLabel)); err != nil {
		return nil, err
	}
	if engine := lset.Get(relabel.LabelEngine); engine != "" {
		t.Engine = engine
	}
	page := url.URL{
		Scheme: lset.Get(model.SchemeLabel), Host: address, Path: lset.Get(model.MetricsPathLabel),
		RawQuery: params(lset).Encode(),
	}
	if _, err := url.Parse(page.String()); err != nil {
		// The outer error repeats the URL, whose query may hold a secret.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return nil, fmt.Errorf("target %q is no address: %w", address, err)
	}
	t.MetricsURL = page.String()
	t.APIURL = p.api(&page, lset.Get(APIAddressLabel))
	return t, nil
}

// podNameLabel is how discovery in Kubernetes names the pod behind a target.
const podNameLabel = "__meta_kubernetes_pod_name"

// SilentLabel is the label by which discovery or relabeling says that one
// target binds no port; true or false.
const SilentLabel = "__silent__"

// silent says whether a target binds no port: its label, else the pool.
func (p *pool) silent(label string) (bool, error) {
	if label == "" {
		return p.cfg.Silent, nil
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

// api is the base of the server's API where the target or the pool says it.
func (p *pool) api(page *url.URL, address string) string {
	if address == "" && p.cfg.APIPort != 0 {
		address = net.JoinHostPort(page.Hostname(), strconv.Itoa(p.cfg.APIPort))
	}
	if address == "" {
		return ""
	}
	return api.Base(p.shared.GRPC, cmp.Or(p.cfg.APIScheme, page.Scheme), address)
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
	b := labels.NewBuilder(lset)
	lset.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.ParamLabelPrefix) {
			b.Del(l.Name)
		}
	})
	return b.Labels()
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

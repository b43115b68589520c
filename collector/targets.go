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

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// targetsOf returns the targets of a shard from the groups that discovery found for a pool, and a
// summary. It logs targets that cannot be used. It does not change the groups and is safe for
// concurrent use.
func targetsOf(
	cfg *config.Pool, part config.Sharding, groups []*targetgroup.Group, log *slog.Logger,
) (found []*target.Target, search target.PoolDiscovery) {
	var all []candidate
	p := targetMaker{cfg}
	search = target.PoolDiscovery{PoolID: cfg.PoolID, Answered: true}
	for _, g := range groups {
		for _, lset := range g.Targets {
			search.Found++
			switch t, err := p.found(g, lset, &search); {
			case err != nil:
				search.LeftOut++
				reason := target.Shortened(err.Error())
				if search.LeftOut <= maxLogged {
					log.Warn("Target left out", "pool_id", p.PoolID, "source", target.Scrub(g.Source), "err", reason)
				}
				search.Error = cmp.Or(search.Error, reason)
			case t.Target != nil:
				all = append(all, t)
			}
		}
	}
	for _, t := range onePerPage(all, &search) {
		if keeps(part, t.Key()) {
			found = append(found, t)
			continue
		}
		search.Elsewhere++
	}
	return found, search
}

const (
	// maxTargets is the number of targets of one pool, and maxFound the size of the labels that discovery
	// found for one, in bytes. Kubernetes allows for 256 KiB of annotations of an object, and some targets
	// have those of several.
	maxTargets, maxFound = 1 << 16, 1 << 20
	// maxShown is the size of the labels of a target that all of its series have.
	maxShown = 16 << 10
)

type targetMaker struct{ *config.Pool }

// found makes a target from what a source found. It has no Target if it is dropped. Whatever is found
// costs only that target.
func (p targetMaker) found(
	g *targetgroup.Group, lset model.LabelSet, search *target.PoolDiscovery,
) (t candidate, err error) {
	if search.Found > maxTargets {
		return candidate{}, fmt.Errorf("the pool has more than %d targets: use sharding, or several pools", maxTargets)
	}
	size := 0
	for _, set := range []model.LabelSet{g.Labels, lset} {
		for name, value := range set {
			size += len(name) + len(value)
		}
	}
	if size > maxFound {
		return candidate{}, fmt.Errorf(
			"target %.100q has labels of %d bytes, and %d are allowed: shorten them at their source",
			withoutSecrets(string(lset[model.AddressLabel])), size, maxFound,
		)
	}
	defer func() {
		if panicked := recover(); panicked != nil { // Rules may make one label of many.
			t, err = candidate{}, fmt.Errorf("target %.100q: its labels cannot be relabeled: %v",
				withoutSecrets(string(lset[model.AddressLabel])), panicked)
		}
	}()
	discovered := p.labels(g.Labels, lset)
	address := strings.Clone(target.Shortened(withoutSecrets(discovered.Get(model.AddressLabel))))
	if rule := ended(discovered); rule != "" {
		search.Drop(g.Source, address, rule)
		return candidate{}, nil
	}
	t = candidate{source: g.Source, address: address, standing: standingOf(discovered)}
	t.Target, err = p.target(discovered)
	if t.Target == nil && err == nil {
		p.dropped(search, g.Source, discovered)
	}
	return t, err
}

// shownSize is the size of the labels that all series of a target have.
func shownSize(t *target.Target) int {
	size := len(t.PoolID) + len(t.ReplicaID) + len(t.EngineVersion) + len(t.TRTLLMVersion)
	for name, value := range t.Labels {
		size += len(name) + len(value)
	}
	return size
}

// ended says why a target is none: Kubernetes lists a pod that has ended until somebody deletes it,
// and another pod may have its address by then. It is empty for a pod that still runs, also while
// it is being deleted.
func ended(lset labels.Labels) string {
	switch phase := lset.Get(podPhaseLabel); phase {
	case "Failed", "Succeeded":
		return "the pod has ended: " + podPhaseLabel + " is " + phase
	}
	return ""
}

// dropped records a target that relabeling dropped, and the rule that did.
func (p targetMaker) dropped(s *target.PoolDiscovery, source string, lset labels.Labels) {
	address := lset.Get(model.AddressLabel)
	public := withoutSecrets(address)
	rule := p.RelabelConfigs.DroppedBy(lset)
	if public != address {
		// A rule that matches the address quotes it.
		rule = strings.ReplaceAll(rule, strings.Trim(strconv.Quote(address), `"`), public)
	}
	s.Drop(source, target.Shortened(public), target.Shortened(rule))
}

func (p targetMaker) labels(group, single model.LabelSet) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(relabel.LabelPoolID, p.PoolID)
	b.Set(model.SchemeLabel, p.Scheme)
	b.Set(model.MetricsPathLabel, p.MetricsPath)
	for _, set := range []model.LabelSet{group, single} {
		for name, value := range set {
			b.Set(string(name), string(value))
		}
	}
	if pod := podName(b); pod != "" && b.Get(relabel.LabelReplicaID) == "" {
		b.Set(relabel.LabelReplicaID, pod)
	}
	return b.Labels()
}

// podName returns the name of the pod of a target found in Kubernetes. Prometheus may see an
// endpoint before its pod, and then never adds the pod's labels; but the endpoint names its
// target.
func podName(b *labels.Builder) string {
	for _, role := range [...]string{"endpointslice_address", "endpoint_address"} {
		if b.Get(podNameLabel) == "" && b.Get("__meta_kubernetes_"+role+"_target_kind") == "Pod" {
			return b.Get("__meta_kubernetes_" + role + "_target_name")
		}
	}
	return b.Get(podNameLabel)
}

// target makes a target from its labels. It returns nil if relabeling drops the target.
func (p targetMaker) target(lset labels.Labels) (*target.Target, error) {
	pod := podName(labels.NewBuilder(lset))
	lset, keep := p.RelabelConfigs.Target(lset)
	if !keep {
		return nil, nil //nolint:nilnil // a dropped target is neither a target nor an error.
	}
	address := lset.Get(model.AddressLabel)
	if address == "" {
		// Parameters may contain a secret.
		public := lset.DropReserved(func(name string) bool { return strings.HasPrefix(name, model.ParamLabelPrefix) })
		return nil, fmt.Errorf(
			"target %s has no %s after relabel_configs: set it or drop the target", public, model.AddressLabel,
		)
	}
	// A label is a part of one text with all of them, which the target must not keep.
	label := func(name, otherwise string) string { return cmp.Or(strings.Clone(lset.Get(name)), otherwise) }
	t := &target.Target{
		PoolID:        label(relabel.LabelPoolID, p.PoolID),
		ReplicaID:     label(relabel.LabelReplicaID, strings.Clone(address)),
		Engine:        label(relabel.LabelEngine, p.Engine),
		EngineVersion: label(relabel.LabelEngineVersion, p.EngineVersion),
		TRTLLMVersion: label(relabel.LabelTRTLLMVersion, p.TRTLLMVersion),
		Labels:        extraLabels(lset),
		Interval:      time.Duration(p.ScrapeInterval),
		Timeout:       time.Duration(p.ScrapeTimeout),
	}
	if kinds := config.Engines(p.Kinds); !slices.Contains(kinds, t.Engine) {
		return nil, fmt.Errorf(
			"target %q has %s %q: write one of %s", withoutSecrets(address), relabel.LabelEngine, t.Engine,
			strings.Join(kinds, ", "),
		)
	}
	if size := shownSize(t); size > maxShown {
		return nil, fmt.Errorf(
			"target %.100q has labels of %d bytes after relabel_configs, which all of its series would have, and %d "+
				"are allowed: shorten or drop them", withoutSecrets(address), size, maxShown,
		)
	}
	t.Pod = pod != "" && t.ReplicaID == pod
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

// pageOf returns the URL of a target's page. Errors quote nothing that may be secret.
func pageOf(address string, lset labels.Labels) (*url.URL, error) {
	params := url.Values{}
	lset.Range(func(l labels.Label) {
		if name, ok := strings.CutPrefix(l.Name, model.ParamLabelPrefix); ok {
			params.Set(name, l.Value)
		}
	})
	page := &url.URL{
		Scheme:   strings.ToLower(lset.Get(model.SchemeLabel)),
		Host:     address,
		Path:     lset.Get(model.MetricsPathLabel),
		RawQuery: params.Encode(),
	}
	if public := withoutSecrets(address); public != address {
		return nil, fmt.Errorf(
			"target %q is not an address: it has a user, a password or a query; write host:port", public,
		)
	}
	if page.Scheme != "http" && page.Scheme != "https" {
		return nil, fmt.Errorf(
			"target %q has %s %q: write http or https", address, model.SchemeLabel, lset.Get(model.SchemeLabel),
		)
	}
	if _, err := url.Parse(page.String()); err != nil {
		// A url.Error repeats the URL, whose query may contain a secret, and other words than those about
		// static targets are of no more help.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		if other := config.CheckAddress(address); other != nil {
			err = errors.New("it " + strings.TrimPrefix(other.Error(), strconv.Quote(address)+" "))
		}
		return nil, fmt.Errorf("target %q is not an address: %w", address, err)
	}
	return page, nil
}

// withoutSecrets strips user, password and query from an address.
func withoutSecrets(address string) string {
	address = address[strings.LastIndex(address, "@")+1:]
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		address = address[:end]
	}
	return address
}

// podNameLabel is the label in which Kubernetes discovery stores the name of the pod.
const podNameLabel = "__meta_kubernetes_pod_name"

// podPhaseLabel is the label in which Kubernetes discovery stores the phase of the pod.
const podPhaseLabel = "__meta_kubernetes_pod_phase"

// SilentLabel is the label that marks a target without a port: true or false.
const SilentLabel = "__silent__"

// silent reports whether a target has no port, according to its label or else its pool.
func (p targetMaker) silent(label string) (bool, error) {
	if label == "" {
		return p.Silent, nil
	}
	silent, err := strconv.ParseBool(label)
	if err != nil {
		return false, fmt.Errorf("label %s is %q: write true or false", SilentLabel, label)
	}
	return silent, nil
}

// APIAddressLabel is the label that sets the address of a target's API, host:port.
const APIAddressLabel = "__api_address__"

// APIPathLabel is the label that sets the prefix of the paths of a target's API.
const APIPathLabel = "__api_path__"

// api returns the base URL of the server's API, if the target or the pool sets it. A path without
// an address is on the port of the page.
func (p targetMaker) api(page *url.URL, address, path string) string {
	if address == "" && p.APIPort != 0 {
		address = net.JoinHostPort(page.Hostname(), strconv.Itoa(p.APIPort))
	}
	if address == "" && path != "" {
		address = page.Host
	}
	if address == "" {
		return ""
	}
	prefix := (&url.URL{Path: strings.TrimRight(path, "/")}).EscapedPath()
	scheme := cmp.Or(p.APIScheme, page.Scheme)
	if p.APIProtocol == config.ProtocolGRPC {
		scheme = engine.GRPCScheme(scheme)
	}
	return engine.BaseURL(scheme, address) + prefix
}

// extraLabels returns the labels that all series of a target have besides its identity, as texts of their own.
func extraLabels(lset labels.Labels) map[string]string {
	var m map[string]string
	lset.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.ReservedLabelPrefix) || slices.Contains(relabel.IdentityLabels(), l.Name) {
			return
		}
		if m == nil {
			m = make(map[string]string)
		}
		m[strings.Clone(l.Name)] = strings.Clone(l.Value)
	})
	return m
}

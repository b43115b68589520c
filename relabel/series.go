package relabel

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
)

// Reasons why a series is dropped.
const (
	// ReasonDropped means that a rule drops the series.
	ReasonDropped = "relabel"
	// ReasonInvalidName means that the rules leave the series without a valid name.
	ReasonInvalidName = "invalid_name"
	// ReasonInvalidLabels means that a label is not valid UTF-8 or has an empty name, which
	// labelmap can create.
	ReasonInvalidLabels = "invalid_labels"
)

// Result is the result for one series.
type Result struct {
	// Labels are the labels of the series on the exporter's page, empty if it is dropped.
	Labels labels.Labels
	// Keep is false if the series is dropped. Reason is the reason then.
	Keep   bool
	Reason string
	// Collisions are the target's labels that were renamed to exported_<name>, sorted.
	Collisions []string
}

// Relabeler relabels the series of one target. It is not safe for concurrent use; its results are.
type Relabeler struct {
	rules    Rules
	target   TargetLabels
	attached []attachedLabel
	builder  *labels.Builder
	moved    []labels.Label
}

// New returns a Relabeler for a target with the given metric_relabel_configs.
func New(rules Rules, t TargetLabels) *Relabeler {
	t.PoolID, t.ReplicaID = clean(cmp.Or(t.PoolID, Unknown)), clean(cmp.Or(t.ReplicaID, Unknown))
	t.ModelLabels = slices.Clone(t.ModelLabels)
	return &Relabeler{rules: rules, target: t, attached: t.attached(), builder: labels.NewBuilder(labels.EmptyLabels())}
}

// Series attaches the identity, then applies the rules.
//
// The rules work as in Prometheus, with two exceptions: pool_id and replica_id are restored,
// because nothing else separates the series of two targets on one page, and labels that begin
// with __ are removed, except the name.
func (r *Relabeler) Series(in labels.Labels) Result {
	r.builder.Reset(in)
	return r.apply(Result{Collisions: r.identify(in)})
}

// ApplyRules is [Relabeler.Series] without the identity, for the exporter's own series
// about the target.
func (r *Relabeler) ApplyRules(in labels.Labels) Result {
	r.builder.Reset(in)
	return r.apply(Result{})
}

func (r *Relabeler) apply(res Result) Result {
	if len(r.rules) > 0 {
		if !prometheus.ProcessBuilder(r.builder, r.rules...) {
			res.Reason = ReasonDropped
			return res
		}
		r.restore()
	}
	out := r.builder.Labels()
	if res.Reason = r.invalid(out); res.Reason == "" {
		res.Labels, res.Keep = out, true
	}
	return res
}

// identify attaches the identity and renames the target's own labels with the same names.
func (r *Relabeler) identify(in labels.Labels) (collisions []string) {
	r.moved = r.moved[:0]
	for _, l := range r.attached {
		original := in.Get(l.name)
		if original != "" && r.target.HonorLabels && !l.identity {
			continue
		}
		value := l.value
		if l.name == LabelModelID {
			value = r.model(in)
		}
		if original != "" {
			r.moved = append(r.moved, labels.Label{Name: l.name, Value: original})
			collisions = append(collisions, l.name)
		}
		if original != "" || value != "" {
			r.builder.Set(l.name, value)
		}
	}
	if len(r.moved) > 0 {
		r.export()
	}
	return collisions
}

// export renames each moved label to exported_<name>, prefixed again until the name is
// free. Like Prometheus, it starts with the shortest names.
func (r *Relabeler) export() {
	slices.SortStableFunc(r.moved, func(a, b labels.Label) int { return len(a.Name) - len(b.Name) })
	for _, l := range r.moved {
		name := model.ExportedLabelPrefix + l.Name
		for r.builder.Get(name) != "" {
			name = model.ExportedLabelPrefix + name
		}
		r.builder.Set(name, l.Value)
	}
}

func (r *Relabeler) model(in labels.Labels) string {
	if r.target.ModelID == nil {
		return ""
	}
	for _, label := range r.target.ModelLabels {
		if name := in.Get(label); name != "" {
			return clean(r.target.ModelID(name))
		}
	}
	return ""
}

// restore restores pool_id and replica_id, and removes labels that begin with __.
func (r *Relabeler) restore() {
	r.builder.Set(LabelPoolID, r.target.PoolID)
	r.builder.Set(LabelReplicaID, r.target.ReplicaID)
	r.builder.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel && strings.HasPrefix(l.Name, model.ReservedLabelPrefix) {
			r.builder.Del(l.Name)
		}
	})
}

// invalid returns the reason to drop a series, empty for a valid one. Only rules can create
// invalid labels, since the parser has checked the page.
func (r *Relabeler) invalid(out labels.Labels) string {
	if !model.UTF8Validation.IsValidMetricName(out.Get(model.MetricNameLabel)) {
		return ReasonInvalidName
	}
	if len(r.rules) > 0 && !out.IsValid(model.UTF8Validation) {
		return ReasonInvalidLabels
	}
	return ""
}

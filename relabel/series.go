package relabel

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
)

// Why a series is not kept.
const (
	// ReasonDropped is a rule that drops the series.
	ReasonDropped = "relabel"
	// ReasonInvalidName is a series that the rules left without a valid name.
	ReasonInvalidName = "invalid_name"
	// ReasonInvalidLabels is a label whose name or value is not valid UTF-8, or
	// whose name is empty, as labelmap can make it.
	ReasonInvalidLabels = "invalid_labels"
)

// Result is what became of one series.
type Result struct {
	// Labels are those of the series on our page; empty when it is not kept.
	Labels labels.Labels
	// Keep is false for a series that is not to be shown; Reason says why.
	Keep   bool
	Reason string
	// Collisions names the labels of the target that had to give way to ours
	// and moved to exported_<name>, in the order of their names; nil when
	// there were none.
	Collisions []string
}

// Relabeler gives the series of one target their labels. It reuses one builder
// and is not safe for concurrent use; its results stay valid.
type Relabeler struct {
	rules     Rules
	owned     []owned
	modelID   func(string) string
	models    []string
	honor     bool
	poolID    string
	replicaID string
	builder   *labels.Builder
	moved     []labels.Label
}

// New returns the Relabeler of a target. The rules are those of
// metric_relabel_configs; they are only read.
func New(rules Rules, id Identity) *Relabeler {
	return &Relabeler{
		rules:     rules,
		owned:     id.owned(),
		modelID:   id.ModelID,
		models:    slices.Clone(id.ModelLabels),
		honor:     id.HonorLabels,
		poolID:    clean(cmp.Or(id.PoolID, Unknown)),
		replicaID: clean(cmp.Or(id.ReplicaID, Unknown)),
		builder:   labels.NewBuilder(labels.EmptyLabels()),
	}
}

// Series attaches the identity, then applies the rules.
//
// The rules may do to a series what they may do in Prometheus, with two
// exceptions. Pool_id and replica_id are put back after them, because nothing
// else keeps the series of two targets apart on one page; all other identity
// labels are the operator's to rename or drop. And labels that begin with __,
// which rules use among themselves, are removed at the end, the name aside.
func (r *Relabeler) Series(in labels.Labels) Result {
	r.builder.Reset(in)
	return r.apply(Result{Collisions: r.identify(in)})
}

// Own applies the rules to a series of the exporter about the target, which has
// the identity already; the same exceptions hold.
func (r *Relabeler) ApplyRules(in labels.Labels) Result {
	r.builder.Reset(in)
	return r.apply(Result{})
}

// apply applies the rules to the labels in the builder.
func (r *Relabeler) apply(res Result) Result {
	if len(r.rules) > 0 {
		if !prometheus.ProcessBuilder(r.builder, r.rules...) {
			res.Reason = ReasonDropped
			return res
		}
		r.tidy()
	}
	out := r.builder.Labels()
	if res.Reason = r.fault(out); res.Reason == "" {
		res.Labels, res.Keep = out, true
	}
	return res
}

// identify writes our labels over the target's own, which move aside.
func (r *Relabeler) identify(in labels.Labels) (collisions []string) {
	r.moved = r.moved[:0]
	for _, o := range r.owned {
		own := in.Get(o.name)
		if own != "" && r.honor && !o.identity {
			continue
		}
		value := o.value
		if o.name == LabelModelID {
			value = r.model(in)
		}
		if own != "" {
			r.moved = append(r.moved, labels.Label{Name: o.name, Value: own})
			collisions = append(collisions, o.name)
		}
		if own != "" || value != "" {
			r.builder.Set(o.name, value)
		}
	}
	if len(r.moved) > 0 {
		r.export()
	}
	return collisions
}

// export gives each label that moved the name exported_<name>, repeated until
// it is free. This is Prometheus' rule, shorter names first, so that a name that
// is exported already ends behind the one it was exported from.
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

// model gives the public id of the model that a series belongs to, empty when
// it belongs to none.
func (r *Relabeler) model(in labels.Labels) string {
	if r.modelID == nil {
		return ""
	}
	for _, label := range r.models {
		if name := in.Get(label); name != "" {
			return clean(r.modelID(name))
		}
	}
	return ""
}

// tidy undoes what rules may not leave behind.
func (r *Relabeler) tidy() {
	r.builder.Set(LabelPoolID, r.poolID)
	r.builder.Set(LabelReplicaID, r.replicaID)
	r.builder.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel && strings.HasPrefix(l.Name, model.ReservedLabelPrefix) {
			r.builder.Del(l.Name)
		}
	})
}

// fault says why a series cannot be shown. Rules are the only source of bad
// labels here, for the parser has checked the page.
func (r *Relabeler) fault(out labels.Labels) string {
	if !model.UTF8Validation.IsValidMetricName(out.Get(model.MetricNameLabel)) {
		return ReasonInvalidName
	}
	if len(r.rules) > 0 && !out.IsValid(model.UTF8Validation) {
		return ReasonInvalidLabels
	}
	return ""
}

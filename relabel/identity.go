package relabel

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// Identity labels.
const (
	LabelEngine        = "engine"
	LabelEngineVersion = "engine_version"
	LabelTRTLLMVersion = "trtllm_version"
	LabelPoolID        = "pool_id"
	LabelReplicaID     = "replica_id"
	LabelModelID       = "model_id"
)

// Unknown is the value of identity labels that are not known. They are never absent.
const Unknown = "unknown"

// IdentityLabels lists the identity labels. A target cannot set any of them.
func IdentityLabels() []string {
	return []string{
		LabelEngine, LabelEngineVersion, LabelTRTLLMVersion,
		LabelPoolID, LabelReplicaID, LabelModelID,
	}
}

// VersionsMode selects where engine_version and trtllm_version are exposed: on every series (the
// default), on an info metric, which is up to the caller, or both.
type VersionsMode string

// Values of VersionsMode.
const (
	VersionsSeries VersionsMode = "series"
	VersionsInfo   VersionsMode = "info"
	VersionsBoth   VersionsMode = "both"
)

// TargetLabels are what is attached to the series of a target: its identity, and labels of its own.
// Empty values are written as [Unknown].
type TargetLabels struct {
	Engine        string
	EngineVersion string
	TRTLLMVersion string
	PoolID        string
	ReplicaID     string
	// Labels are additional labels of the target. Identity labels, invalid names and names that
	// begin with __ are ignored.
	Labels map[string]string
	// ModelID returns the public id for the server's name of a model. If it is nil or returns an
	// empty string, series have no model_id.
	ModelID func(name string) string
	// Versions defaults to [VersionsSeries].
	Versions VersionsMode
	// HonorLabels gives the target's own labels precedence over Labels, but not over the identity.
	HonorLabels bool
	// ModelLabels are the server's labels that name a model. The first one that a series has wins.
	ModelLabels []string
}

// attachedLabel is a label that is attached to the target's series.
type attachedLabel struct {
	name  string
	value string
	// identity is false if HonorLabels keeps the target's own label instead.
	identity bool
}

// attached returns the labels to attach, sorted by name as in Prometheus. The value of model_id
// depends on the series. An empty value only renames the target's own label.
func (t *TargetLabels) attached() []attachedLabel {
	list := []attachedLabel{
		{LabelEngine, cmp.Or(t.Engine, Unknown), true},
		{LabelEngineVersion, cmp.Or(t.EngineVersion, Unknown), true},
		{LabelTRTLLMVersion, cmp.Or(t.TRTLLMVersion, Unknown), true},
		{LabelPoolID, cmp.Or(t.PoolID, Unknown), true},
		{LabelReplicaID, cmp.Or(t.ReplicaID, Unknown), true},
		{LabelModelID, "", true},
	}
	if t.Versions == VersionsInfo {
		list[1].value, list[2].value = "", ""
	}
	names := IdentityLabels()
	for name, value := range t.Labels {
		if value != "" && !slices.Contains(names, name) && !strings.HasPrefix(name, model.ReservedLabelPrefix) &&
			model.UTF8Validation.IsValidLabelName(name) {
			list = append(list, attachedLabel{name, value, false})
		}
	}
	for i := range list {
		list[i].value = clean(list[i].value)
	}
	slices.SortFunc(list, func(a, b attachedLabel) int { return strings.Compare(a.name, b.name) })
	return list
}

// clean replaces invalid UTF-8, which a server may report as its version.
func clean(value string) string {
	return strings.ToValidUTF8(value, "\uFFFD")
}

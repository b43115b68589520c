package relabel

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// The labels that say who a series comes from.
const (
	LabelEngine        = "engine"
	LabelEngineVersion = "engine_version"
	LabelTRTLLMVersion = "trtllm_version"
	LabelPoolID        = "pool_id"
	LabelReplicaID     = "replica_id"
	LabelModelID       = "model_id"
)

// Unknown is the value of an identity label whose value is not known; the
// label itself is never absent.
const Unknown = "unknown"

// IdentityLabels lists the identity labels. A target cannot speak in any of them.
func IdentityLabels() []string {
	return []string{
		LabelEngine, LabelEngineVersion, LabelTRTLLMVersion,
		LabelPoolID, LabelReplicaID, LabelModelID,
	}
}

// VersionsMode says where engine_version and trtllm_version are written.
type VersionsMode string

// The places of the versions. Series is the default; with info they are left
// to an info metric, which is not this package's.
const (
	VersionsSeries VersionsMode = "series"
	VersionsInfo   VersionsMode = "info"
	VersionsBoth   VersionsMode = "both"
)

// Identity is who the target of a series is. An empty value is written as
// [Unknown].
type Identity struct {
	Engine        string
	EngineVersion string
	TRTLLMVersion string
	PoolID        string
	ReplicaID     string
	// Labels are further labels of the target. Those named like an identity
	// label, beginning with __ or not valid as a name are not written.
	Labels map[string]string
	// ModelID gives the public id of a model by the server's name of it; an
	// empty answer, or no function, leaves model_id away.
	ModelID func(name string) string
	// Versions is [VersionsSeries] when empty.
	Versions VersionsMode
	// HonorLabels keeps the target's own value where it collides with one of
	// Labels. Identity labels are never given up.
	HonorLabels bool
	// ModelLabels are the server's labels that name a model, the first that a
	// series has winning.
	ModelLabels []string
}

// owned is a label that the target may not set: our value takes its place.
type owned struct {
	name  string
	value string
	// Further labels, which HonorLabels gives up, are no identity.
	identity bool
}

// owned lists the labels of the identity in the order of their names, which is
// the order in which Prometheus attaches a target's labels. The value of
// model_id differs from series to series and is filled in later; an empty value
// keeps the name free of the target's own.
func (id *Identity) owned() []owned {
	list := []owned{
		{LabelEngine, cmp.Or(id.Engine, Unknown), true},
		{LabelEngineVersion, cmp.Or(id.EngineVersion, Unknown), true},
		{LabelTRTLLMVersion, cmp.Or(id.TRTLLMVersion, Unknown), true},
		{LabelPoolID, cmp.Or(id.PoolID, Unknown), true},
		{LabelReplicaID, cmp.Or(id.ReplicaID, Unknown), true},
		{LabelModelID, "", true},
	}
	if id.Versions == VersionsInfo {
		list[1].value, list[2].value = "", ""
	}
	names := IdentityLabels()
	for name, value := range maps.All(id.Labels) {
		if value != "" && !slices.Contains(names, name) && !strings.HasPrefix(name, model.ReservedLabelPrefix) && model.UTF8Validation.IsValidLabelName(name) {
			list = append(list, owned{name, value, false})
		}
	}
	for i := range list {
		list[i].value = clean(list[i].value)
	}
	slices.SortFunc(list, func(a, b owned) int { return strings.Compare(a.name, b.name) })
	return list
}

// clean makes a value fit for a page, where text has to be UTF-8; versions come
// from servers, which may answer anything.
func clean(value string) string {
	return strings.ToValidUTF8(value, "\uFFFD")
}

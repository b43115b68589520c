package assess

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// GroupOf returns the group of a family of the catalogue, or of a metric of the exporter.
func GroupOf(family string) exposition.Group { return byName()[family].Group }

//nolint:gochecknoglobals // constant data, built on first use.
var byName = sync.OnceValue(func() map[string]derive.Family {
	all := make(map[string]derive.Family)
	for _, f := range Catalogue() {
		all[f.Name] = f
	}
	for _, m := range ExporterMetrics() {
		all[m.Name] = derive.Family{Family: m.Family, Group: m.Group}
	}
	return all
})

// Families of states, of which one is 1.
const (
	stateFamily      = derive.Prefix + "state"
	modelStateFamily = derive.Prefix + "model_state"
)

// FollowedStates returns the states of a family that always have a series, because rules ask how long something was
// in them, or count it; canary_failing only if the pool has a canary. Of the others only the current one has a series,
// as the rest would say nothing more.
func FollowedStates(family string) []string {
	switch family {
	case stateFamily:
		return []string{string(Ready), string(NotReady), string(Unserved), string(CanaryFailing), string(Down)}
	case modelStateFamily:
		return []string{strings.ToLower(engine.ModelReady)}
	}
	return nil
}

// saysState reports whether a state of a family has a series.
func saysState(family, state, current string) bool {
	return state == current || slices.Contains(FollowedStates(family), state)
}

// GroupOfSeries returns the group of a series of the catalogue or of the exporter's own. It is false for other series.
func GroupOfSeries(series labels.Labels) (exposition.Group, bool) {
	f, suffix, known := familyOf(series.Get(model.MetricNameLabel))
	if !known {
		return 0, false
	}
	return f.GroupOf(suffix, series), true
}

var (
	selector   = regexp.MustCompile(`([a-zA-Z_:][\w:]*)(\{[^{}]*\})?`)
	percentile = regexp.MustCompile(`percentile="(\d+)"`)
)

// Reads returns the families of the catalogue and the metrics of the exporter that a PromQL query selects, with the
// groups that have what it selects of each.
func Reads(query string) map[string]exposition.Groups {
	all := make(map[string]exposition.Groups)
	for _, m := range selector.FindAllStringSubmatch(query, -1) {
		if f, suffix, known := familyOf(m[1]); known {
			all[f.Name] |= selected(&f, suffix, m[2])
		}
	}
	return all
}

// GroupsRead returns the groups that have what a PromQL query selects.
func GroupsRead(query string) (all exposition.Groups) {
	for _, groups := range Reads(query) {
		all |= groups
	}
	return all
}

// familyOf returns the family of a series by its name.
func familyOf(series string) (f derive.Family, suffix string, known bool) {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(series, suffix); ok {
			if f, known := byName()[name]; known {
				return f, suffix, true
			}
		}
	}
	return f, "", false
}

// selected returns the groups of the series that a selector with matchers selects.
func selected(f *derive.Family, suffix, matchers string) exposition.Groups {
	of := func(pairs ...string) exposition.Groups {
		return exposition.GroupsOf(f.GroupOf(suffix, labels.FromStrings(pairs...)))
	}
	switch {
	case suffix == "_bucket" && strings.Contains(matchers, `le="+Inf"`):
		return of(model.BucketLabel, "+Inf")
	case suffix == "_bucket":
		return of(model.BucketLabel, "1")
	case !strings.HasSuffix(f.Name, "_percentile_seconds"):
		return of()
	}
	if m := percentile.FindStringSubmatch(matchers); m != nil {
		return of("percentile", m[1])
	}
	return of("percentile", "50") | of("percentile", "95")
}

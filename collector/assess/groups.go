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

// GroupOf returns the group of a family of the catalogue.
func GroupOf(family string) exposition.Group { return byName()[family].Group }

//nolint:gochecknoglobals // constant data, built on first use.
var byName = sync.OnceValue(func() map[string]derive.Family {
	all := make(map[string]derive.Family)
	for _, f := range Catalogue() {
		all[f.Name] = f
	}
	return all
})

// Families with a series for each state, of which one is 1.
const (
	stateFamily      = derive.Prefix + "state"
	modelStateFamily = derive.Prefix + "model_state"
)

// FollowedStates returns the states of a family whose series group core always has, because its rules ask how
// long something was in them, or count it. Of the others it has that of the current state: the rest is 0, and
// group details has it.
func FollowedStates(family string) []string {
	switch family {
	case stateFamily:
		return []string{string(Ready), string(NotReady), string(Unserved), string(CanaryFailing), string(Down)}
	case modelStateFamily:
		return []string{strings.ToLower(engine.ModelReady)}
	}
	return nil
}

// GroupOfSeries returns the group of a series of the catalogue that has a value. It is false for other series.
func GroupOfSeries(series labels.Labels, v float64) (exposition.Group, bool) {
	f, suffix, known := familyOf(series.Get(model.MetricNameLabel))
	if !known {
		return 0, false
	}
	if isImplied(f.Name, v, series.Get("state")) {
		return exposition.GroupDetails, true
	}
	return f.GroupOf(suffix, series), true
}

// isImplied reports whether a series only says that something is not in a state, which that of its current state
// says as well.
func isImplied(family string, v float64, state string) bool {
	if v != 0 || state == "" {
		return false
	}
	followed := FollowedStates(family)
	return followed != nil && !slices.Contains(followed, state)
}

var (
	selector   = regexp.MustCompile(`([a-zA-Z_:][\w:]*)(\{[^{}]*\})?`)
	percentile = regexp.MustCompile(`percentile="(\d+)"`)
)

// Reads returns the families of the catalogue that a PromQL query selects, with the groups that have what it
// selects of each.
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

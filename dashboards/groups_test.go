package dashboards_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// ofCore names the dashboards that work with group core alone.
func ofCore() []string { return []string{"trtllm-fleet", "trtllm-latency", "trtllm-capacity"} }

// queriesOfCore returns what the alerts and the dashboards of group core ask for, with the rules that they read,
// by name.
func queriesOfCore(t *testing.T) map[string]string {
	t.Helper()
	reads, err := alerts.DefaultReads()
	require.NoError(t, err)
	_, all := reads.Alerts()
	for _, d := range dashboards.All() {
		if !slices.Contains(ofCore(), d.UID) {
			continue
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				all[d.Title+" / "+p.Title+" / "+q.RefID] = reads.Expand(q.Expr)
			}
		}
		for _, v := range d.Templating.List {
			all[d.Title+" / variable "+v.Name] = reads.Expand(v.Definition)
		}
	}
	return all
}

// TestCoreIsWhatAlertsAndItsDashboardsRead compares the list of package derive in both directions, and that of the
// states whose series are always there.
func TestCoreIsWhatAlertsAndItsDashboardsRead(t *testing.T) {
	t.Parallel()
	read, core := make(map[string]bool), exposition.GroupsOf(exposition.GroupCore)
	for name, query := range queriesOfCore(t) {
		for family, groups := range assess.Reads(query) {
			if strings.HasPrefix(family, "llm_server_") {
				read[family] = true
			}
			require.Equal(t, core, groups, "%s reads series of %s that are in no group core", name, family)
		}
	}
	var listed []string
	for _, f := range assess.Catalogue() {
		if f.Group == exposition.GroupCore {
			listed = append(listed, f.Name)
		}
	}
	slices.Sort(listed)
	require.Equal(t, slices.Sorted(maps.Keys(read)), listed, "correct the list core in collector/derive/exposed.go")
}

// TestCoreHasTheStatesThatRulesFollow finds the states whose series rules need also while something is in another
// state: over a range, counted, or at another time with any value. Elsewhere rules ask for 1, which a series that is
// absent is not either.
func TestCoreHasTheStatesThatRulesFollow(t *testing.T) {
	t.Parallel()
	found := 0
	for name, query := range queriesOfCore(t) {
		for _, followed := range []string{`(SELECTOR)\[`, `count by \([^)]*\) \((SELECTOR)\)`, `(SELECTOR) offset \w+\)*(?: [^=]|$)`} {
			pattern := strings.ReplaceAll(followed, "SELECTOR", `llm_server_(?:model_)?state(?:\{[^{}]*\})?`)
			for _, m := range regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(query, -1) {
				family, matchers, _ := strings.Cut(m[1], "{")
				states := regexp.MustCompile(`\bstate=~?"([^"]*)"`).FindStringSubmatch(matchers)
				require.NotNil(t, states, "%s follows every state: %s", name, m[0])
				found++
				for state := range strings.SplitSeq(states[1], "|") {
					require.Contains(t, assess.FollowedStates(family), state, "%s: %s", name, m[0])
				}
			}
		}
	}
	require.Positive(t, found)
}

// TestRulesBeyondCoreStandApart has a group of rules either need no more than group core, or need the same group of
// series with each rule, so that who does not expose it can leave the rules out.
func TestRulesBeyondCoreStandApart(t *testing.T) {
	t.Parallel()
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	text, err := alerts.Render(values)
	require.NoError(t, err)
	var rules file
	require.NoError(t, yaml.Unmarshal(text, &rules))
	reads := alerts.NewReads(text)
	for _, g := range rules.Groups {
		needs := make(map[exposition.Groups]string)
		for _, r := range g.Rules {
			record, _ := r["record"].(string)
			all := assess.GroupsRead(reads.Expand(fmt.Sprint(r["expr"])))
			needs[all.Without(exposition.GroupsOf(exposition.GroupCore))] = record
		}
		require.Len(t, needs, 1, g.Name)
	}
}

// TestPanelsNameTheGroupsThatTheyNeed has every panel that a setting leaves empty say why.
func TestPanelsNameTheGroupsThatTheyNeed(t *testing.T) {
	t.Parallel()
	beyond := 0
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			groups, err := p.Groups()
			require.NoError(t, err)
			for _, name := range groups.Without(exposition.GroupsOf(exposition.GroupCore)).Names() {
				beyond++
				require.NotContains(t, ofCore(), d.UID, "%s needs %s", p.Title, name)
				require.Contains(t, p.FieldConfig.Defaults.NoValue, name, "%s / %s", d.Title, p.Title)
				require.Contains(t, p.Description, name, "%s / %s", d.Title, p.Title)
			}
		}
	}
	require.Positive(t, beyond)
}

// TestEveryGroupHasFamilies has no group that does nothing.
func TestEveryGroupHasFamilies(t *testing.T) {
	t.Parallel()
	families := make(map[exposition.Group]int)
	for _, f := range assess.Catalogue() {
		families[f.Group]++
	}
	for _, g := range exposition.AllGroups() {
		require.Positive(t, families[g], g.String())
	}
}

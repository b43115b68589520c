package dashboards_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

func TestCommittedFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range dashboards.All() {
		want, err := dashboards.Encode(&d, dashboards.ClusterLabel)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("json", d.UID+".json"))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "run `make generate`")
		names = append(names, d.UID+".json")
	}
	found, err := os.ReadDir("json")
	require.NoError(t, err)
	for _, f := range found {
		require.Contains(t, names, f.Name(), "no dashboard writes this file")
	}
}

func TestEveryStateHasColor(t *testing.T) {
	t.Parallel()
	panels := 0
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if p.Type != "state-timeline" {
				continue
			}
			var names []assess.State
			for _, outcome := range p.FieldConfig.Defaults.Mappings[0].Options {
				names = append(names, assess.State(outcome.Text))
			}
			if slices.Contains(names, assess.Ready) && !strings.Contains(p.Targets[0].Expr, "llm_server_model_state") {
				panels++
				require.ElementsMatch(t, assess.States(), names, p.Title)
			}
		}
	}
	require.NotZero(t, panels)
}

func TestIdentifiersAreUnique(t *testing.T) {
	t.Parallel()
	uids, titles := make(map[string]bool), make(map[string]bool)
	for _, d := range dashboards.All() {
		require.False(t, uids[d.UID] || titles[d.Title], d.UID)
		uids[d.UID], titles[d.Title] = true, true
		require.LessOrEqual(t, len(d.UID), 40)
		require.NotEmpty(t, d.Description, d.Title)
		ids, panels := make(map[int]bool), make(map[string]bool)
		for _, p := range d.Panels {
			require.False(t, ids[p.ID], "%s: id %d", d.Title, p.ID)
			ids[p.ID] = true
			if p.Type != "row" {
				require.False(t, panels[p.Title], "%s has two panels %q", d.Title, p.Title)
				panels[p.Title] = true
			}
			refs := make(map[string]bool)
			for _, q := range p.Targets {
				require.False(t, refs[q.RefID], "%s / %s", d.Title, p.Title)
				refs[q.RefID] = true
			}
		}
	}
}

func TestPanelsFillTheGridWithoutOverlap(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards.All() {
		taken := make(map[[2]int]string)
		last := 0
		for _, p := range d.Panels {
			g := p.GridPos
			require.Positive(t, g.W*g.H, "%s / %s", d.Title, p.Title)
			require.LessOrEqual(t, g.X+g.W, 24, "%s / %s", d.Title, p.Title)
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					require.Empty(t, taken[[2]int{x, y}], "%s / %s overlaps", d.Title, p.Title)
					taken[[2]int{x, y}] = p.Title + " "
				}
			}
			last = max(last, g.Y+g.H)
		}
		require.Len(t, taken, 24*last, "%s has holes", d.Title)
	}
}

func TestQueriesUseGrafanaVariables(t *testing.T) {
	t.Parallel()
	fixed := regexp.MustCompile(`\[\d+[smhd]`)
	for _, d := range dashboards.All() {
		names := make(map[string]bool)
		for _, v := range d.Templating.List {
			names[v.Name] = true
			if v.Type == "query" {
				require.Equal(t, "${datasource}", v.Datasource.UID)
			}
		}
		require.True(t, names["datasource"] && names["cluster"], d.Title)
		if d.UID != "trtllm-exporter" {
			for _, v := range []string{"pool_id", "model_id", "replica_id", "engine"} {
				require.True(t, names[v], "%s has no choice of %s", d.Title, v)
			}
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				where := d.Title + " / " + p.Title
				require.Equal(t, "${datasource}", q.Datasource.UID, where)
				require.Equal(t, strings.Count(q.Expr, "{"), strings.Count(q.Expr, `{cluster=~"$cluster",`), where)
				require.NotRegexp(t, `\b(by|on) \((cluster, le\)|[^cl])`, q.Expr, "%s adds clusters up", where)
				require.NotRegexp(t, fixed, q.Expr, where)
				for _, used := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(q.Expr, -1) {
					replicaCount := names[used[1]] || slices.Contains([]string{"__rate_interval", "__range"}, used[1])
					require.True(t, replicaCount, "%s uses $%s", where, used[1])
				}
				require.NotEqual(t, q.Instant, q.Range, where)
			}
		}
	}
}

func TestLowerRowsAreCollapsed(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards.All() {
		text, err := dashboards.Encode(&d, dashboards.ClusterLabel)
		require.NoError(t, err)
		var got dashboards.Dashboard
		require.NoError(t, json.Unmarshal(text, &got))
		panels, bottom := 0, 0
		for _, p := range got.Panels {
			require.Equal(t, p.Type == "row" && *p.Collapsed, len(p.Panels) > 0, "%s / %s", d.Title, p.Title)
			require.GreaterOrEqual(t, p.GridPos.Y, bottom-p.GridPos.H, "%s / %s", d.Title, p.Title)
			bottom = max(bottom, p.GridPos.Y+p.GridPos.H)
			for _, inside := range p.Panels {
				require.Greater(t, inside.GridPos.Y, p.GridPos.Y, "%s / %s", d.Title, inside.Title)
			}
			panels += 1 + len(p.Panels)
		}
		require.Len(t, d.Panels, panels, d.Title)
		require.Less(t, bottom, 45, "%s is long when it is opened", d.Title)
	}
}

func TestReplicaSeriesLinkToReplica(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				if d.UID != "trtllm-replica" && strings.Contains(q.LegendFormat, "{{replica_id}}") {
					require.Len(t, p.FieldConfig.Defaults.Links, 1, "%s / %s", d.Title, p.Title)
					require.Contains(
						t,
						p.FieldConfig.Defaults.Links[0].URL,
						"&var-replica_id=${__field.labels.replica_id}&${__url_time_range}",
					)
				}
				if strings.Contains(q.LegendFormat, "{{replica_id}}") {
					require.Contains(
						t,
						q.LegendFormat,
						"{{pool_id}}",
						"%s / %s: two pools may have replicas of equal names",
						d.Title,
						p.Title,
					)
				}
			}
		}
	}
}

// Tables and series link to status pages and alerts to the runbook, where a deployment knows the address.
func TestLinksToAnExporterNeedItsAddress(t *testing.T) {
	t.Parallel()
	const exporter = "https://exporter.example"
	linked := make(map[string]bool)
	for _, d := range dashboards.All() {
		plain, err := dashboards.Encode(&d, dashboards.ClusterLabel)
		require.NoError(t, err)
		require.NotRegexp(t, `"url": "(http|/runbook|/replica|/\?)`, string(plain), d.UID)
		text, err := dashboards.Encode(d.With(&dashboards.Choices{Exporter: exporter}), dashboards.ClusterLabel)
		require.NoError(t, err)
		require.True(t, json.Valid(text), d.UID)
		for _, page := range []string{"/?pool=", "/replica?target=", "/runbook#"} {
			linked[page] = linked[page] || strings.Contains(string(text), exporter+page)
		}
	}
	require.Equal(t, map[string]bool{"/?pool=": true, "/replica?target=": true, "/runbook#": true}, linked)
}

func TestFullDiskLeavesDashboards(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, dashboards.All()[0].UID+".json")
	require.NoError(t, os.WriteFile(path, []byte("of yesterday"), 0o600))
	require.NoError(t, os.Symlink("/dev/full", path+".part"))
	require.ErrorIs(t, dashboards.Write(folder, "", &dashboards.Choices{}), syscall.ENOSPC)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "of yesterday", string(text))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

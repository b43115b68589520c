package assess_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestConfigsThatWereNotAskedForAreCounted(t *testing.T) {
	pending := func(unasked int) string {
		return text(after(t, func(b *assess.Basis) {
			for i := range unasked {
				b.Facts.Models = append(
					b.Facts.Models, engine.ModelFacts{Name: fmt.Sprint("m", i), State: "READY", Unasked: true},
				)
			}
		}).Series(labels.EmptyLabels()))
	}
	require.NotContains(t, pending(0), "model_configs_pending")
	require.Contains(t, pending(36), "model_configs_pending{} 36\n")
}

// TestModelsBeyondTheLimit examines a replica with many models: which get series of their own, and how
// the others are counted.
func TestModelsBeyondTheLimit(t *testing.T) {
	rows := func(n int, state, reason string) (all []engine.ModelState) {
		for i := range n {
			all = append(
				all,
				engine.ModelState{
					Name:    fmt.Sprintf("%s%04d", strings.ToLower(state), i),
					Version: "1",
					State:   state,
					Reason:  reason,
				},
			)
		}
		return all
	}
	ready := rows(320, "READY", "")
	unloaded := rows(400, "UNAVAILABLE", "unloaded")
	failed := rows(300, "UNAVAILABLE", "failed to load")
	broken := engine.ModelState{Name: "zzz_broken", Version: "1", State: "UNAVAILABLE", Reason: "failed to load"}
	var versions []engine.ModelState
	for i := range 400 {
		versions = append(
			versions,
			engine.ModelState{Name: fmt.Sprintf("few%02d", i/20), Version: strconv.Itoa(1 + i%20), State: "READY"},
		)
	}
	versions = append(versions, broken)
	for _, c := range []struct {
		name    string
		index   []engine.ModelState
		dropped map[string]int // Rows that the health check left out.
		busy    []string
		states  map[string]string
		leftOut string
	}{
		{
			"the last ones are in use and one is broken", append(ready[:320:320], broken), nil,
			[]string{"ready0318", "ready0319"},
			map[string]string{
				"ready0318": "ready", "ready0319": "ready", "zzz_broken": "unavailable", "ready0000": "ready",
				"ready0300": "",
			},
			"ready 65",
		},
		{
			"the broken one comes first", append([]engine.ModelState{broken}, ready...), nil,
			[]string{"ready0319"},
			map[string]string{"ready0319": "ready", "zzz_broken": "unavailable"},
			"ready 65",
		},
		{
			"none is in use", append(ready[:320:320], broken), nil, nil,
			map[string]string{"zzz_broken": "unavailable", "ready0000": "ready", "ready0254": "ready", "ready0255": ""},
			"ready 65",
		},
		{
			"most are unloaded", append(unloaded[:400:400], ready[:10]...), nil,
			[]string{"ready0009"},
			map[string]string{
				"ready0009": "ready", "ready0000": "ready", "unavailable0000": "unavailable", "unavailable0399": "",
			},
			"unavailable 154",
		},
		{
			"more failed than fit", append(failed[:300:300], ready[:10]...), nil,
			[]string{"ready0009"},
			map[string]string{"ready0009": "ready", "unavailable0000": "unavailable", "unavailable0299": ""},
			"unavailable 54",
		},
		{
			"more than the health check keeps", append(ready[:320:320], broken),
			map[string]int{"UNAVAILABLE": 7, "": 2},
			[]string{"ready0319"},
			map[string]string{"zzz_broken": "unavailable"},
			"unknown 2, ready 65, unavailable 7",
		},
		{
			"many versions of few models", versions, nil,
			[]string{"few19"},
			map[string]string{"few19": "ready", "zzz_broken": "unavailable", "few01": "ready", "few18": ""},
			"ready 145",
		},
		{
			"all fit", append(ready[:255:255], broken), nil, nil,
			map[string]string{"ready0254": "ready", "zzz_broken": "unavailable"},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var page strings.Builder
			for _, row := range c.index {
				if row.State == engine.ModelReady {
					requests := 0
					if strings.Contains(strings.Join(c.busy, " "), row.Name) {
						requests = 5
					}
					fmt.Fprintf(
						&page, "nv_inference_request_success{model=%q,version=%q} %d\n", row.Name, row.Version, requests,
					)
				}
			}
			f := after(t, func(b *assess.Basis) {
				b.Page = pageOf(t, b.Engine, page.String())
				b.Health.Models = c.index
				b.Health.LeftOut = c.dropped
				b.Facts = nil
			})
			require.LessOrEqual(t, len(f.Models), 256)
			states := make(map[string]string)
			for _, m := range f.Models {
				states[m.Name] = m.State
			}
			for name, want := range c.states {
				require.Equal(t, want, states[name], name)
			}
			series := text(f.Series(labels.EmptyLabels()))
			for name, want := range c.states {
				require.Equal(t, want != "", strings.Contains(series, fmt.Sprintf("model_state{model=%q", name)), name)
			}
			var leftOut []string
			for line := range strings.Lines(series) {
				if state, ok := strings.CutPrefix(line, `models_left_out{state="`); ok {
					leftOut = append(leftOut, strings.NewReplacer(`"}`, "", "\n", "").Replace(state))
				}
			}
			require.Equal(t, c.leftOut, strings.Join(leftOut, ", "))
		})
	}
}

package derive_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestAProcessThatBeganAgainIsSeenByItsCounters(t *testing.T) {
	const (
		prompt, tokens = "prompt_tokens_total{model_name=\"m\"} ", "generation_tokens_total{model_name=\"m\"} "
		failed         = "request_failure_total{model_name=\"m\"} "
		running        = "num_requests_running{model_name=\"m\"} "
	)
	lines := func(all ...string) string { return strings.Join(all, "\n") + "\n" }
	before := lines(prompt+"500", tokens+"900", failed+"3", running+"4")
	for _, c := range []struct {
		says, before, after string
		want                bool
	}{
		{"all go on", before, lines(prompt+"510", tokens+"905", failed+"3", running+"2"), false},
		{"all begin at 0", before, lines(prompt+"0", tokens+"0", failed+"0", running+"0"), true},
		{"all begin, and counted since", before, lines(prompt+"20", tokens+"40", failed+"1", running+"1"), true},
		{"one alone fell", before, lines(prompt+"510", tokens+"2", failed+"3", running+"4"), false},
		{"two fell and one is gone", before, lines(prompt+"5", tokens+"2", running+"4"), true},
		{"all are gone", before, lines(running + "0"), true},
		{"some are gone", before, lines(prompt+"510", running+"4"), false},
		{"of what counted nothing nobody knows", lines(prompt+"0", tokens+"0", failed+"0", running+"4"), lines(running + "0"), false},
		{"of two that counted both fell", lines(prompt+"5", tokens+"7", failed+"0", running+"4"), lines(prompt+"0", tokens+"0", failed+"0", running+"4"), true},
		{"the only one that counted fell", lines(prompt+"5", tokens+"0", failed+"0", running+"4"), lines(prompt+"2", tokens+"0", failed+"0", running+"4"), true},
		{"one fell and two are gone", before, lines(prompt+"5", running+"4"), true},
		{"gauges fall as they like", lines(prompt+"5", running+"9"), lines(prompt+"5", running+"0"), false},
	} {
		t.Run(c.says, func(t *testing.T) {
			e, ok := engine.Of("nim")
			require.True(t, ok)
			cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
			read := func(text string) (*exposition.Block, *engine.Page) {
				raw := cache.Block()
				require.NoError(t, cache.Parse(raw, []byte(text), ""))
				t.Cleanup(raw.Release)
				return raw, engine.ReadPage(e, raw)
			}
			var m derive.Marks
			raw, page := read(c.before)
			require.False(t, m.BeganAgain(raw, page), "there was no page before")
			m.Take(raw, page)
			raw, page = read(c.after)
			require.Equal(t, c.want, m.BeganAgain(raw, page))
		})
	}
}

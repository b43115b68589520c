package assess_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// shownText returns a block as written to /metrics.
func shownText(b *exposition.Block) string {
	var page []byte
	for i := range b.Shape().Families() {
		page = b.AppendFamily(page, i)
	}
	return string(page)
}

// facts returns the situation of a replica about which nothing is known.
func facts(own ...string) *assess.Situation {
	return &assess.Situation{
		Labels:  labels.FromStrings(own...),
		State:   assess.Ready,
		Answers: &engine.Answers{},
		Canary:  &canary.Record{},
		Asks:    true,
	}
}

// states returns the state series of a replica that is not suspected: that of its state, and those that rules follow.
func states(own string, state assess.State) string {
	var b strings.Builder
	for _, s := range assess.States() {
		value := "0"
		switch {
		case s == state:
			value = "1"
		case !slices.Contains(assess.FollowedStates("llm_server_state"), string(s)):
			continue
		}
		b.WriteString("llm_server_state{" + own + `state="` + string(s) + `"} ` + value + "\n")
	}
	value := strings.TrimSuffix("{"+strings.TrimSuffix(own, ",")+"}", "{}") + " 0\n"
	return "llm_server_serving" + value + b.String() + "llm_server_suspected" + value
}

func TestStateHasSeries(t *testing.T) {
	var k assess.ReplicaSeries
	now := facts("pool_id", "p")
	require.Equal(t, states(`pool_id="p",`, assess.Ready), shownText(k.Block(now)))
	now.State = assess.Failing
	require.Equal(t, states(`pool_id="p",`, assess.Failing), shownText(k.Block(now)))
	now.Serves, now.Suspected = true, true
	require.Contains(t, shownText(k.Block(now)), `llm_server_suspected{pool_id="p"} 1`)
	require.Contains(t, shownText(k.Block(now)), `llm_server_serving{pool_id="p"} 1`)
	now.Serves, now.Suspected = false, false
	now.Labels = labels.FromStrings("pool_id", "q")
	require.Equal(t, states(`pool_id="q",`, assess.Failing), shownText(k.Block(now)), "its labels are others")
	now.Asks = false
	require.NotContains(t, shownText(k.Block(now)), "canary_failing", "nobody asks it")
	now.State = assess.CanaryFailing
	require.Contains(t, shownText(k.Block(now)), `state="canary_failing"} 1`, "it was asked before a reload")
	now.State, now.Asks = assess.Failing, true
	now.Processes = 3
	require.Equal(
		t, "llm_server_processes{pool_id=\"q\"} 3\n"+states(`pool_id="q",`, assess.Failing), shownText(k.Block(now)),
	)
}

func TestHealthSeries(t *testing.T) {
	for _, c := range []struct {
		name   string
		health engine.Health
		want   string
	}{
		{"nothing is known", engine.Health{}, ""},
		{
			"it is ready",
			engine.Health{API: engine.APIReady, Live: true, LiveKnown: true},
			"llm_server_health_check_duration_seconds 0.25\nllm_server_live 1\nllm_server_ready 1\n",
		},
		{
			"it is not, and has no live",
			engine.Health{API: engine.APINotReady},
			"llm_server_health_check_duration_seconds 0.25\nllm_server_ready 0\n",
		},
		{
			"it is not live",
			engine.Health{API: engine.APINotReady, LiveKnown: true},
			"llm_server_health_check_duration_seconds 0.25\nllm_server_live 0\nllm_server_ready 0\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := facts()
			c.health.Duration = 250 * time.Millisecond
			now.Answers.Health = &c.health
			require.Equal(t, c.want+states("", assess.Ready), shownText(new(assess.ReplicaSeries).Block(now)))
		})
	}
}

func TestIterationSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k assess.ReplicaSeries
		now := facts()
		now.Answers.Iterations = &engine.Iterations{Failures: 2}
		require.Equal(
			t, "llm_server_iteration_stats_failures_total 2\n"+states("", assess.Ready), shownText(k.Block(now)),
			"none were read",
		)
		sums := engine.IterationSums{
			Iterations:      3,
			Missing:         1,
			GeneratedTokens: 5,
			ContextTokens:   7,
			Completed:       4,
			Queued:          new(6.0),
			Active:          new(8.0),
		}
		now.Answers.Iterations = &engine.Iterations{IterationSums: sums, Read: true}
		require.Equal(t, `llm_server_iteration_stats_active_requests 8
llm_server_iteration_stats_completed_requests_total 4
llm_server_iteration_stats_context_tokens_total 7
llm_server_iteration_stats_failures_total 0
llm_server_iteration_stats_foreign_reader 0
llm_server_iteration_stats_gaps_total 1
llm_server_iteration_stats_generation_tokens_estimated_total 5
llm_server_iteration_stats_queued_requests 6
llm_server_iteration_stats_read_total 3
`+states("", assess.Ready), shownText(k.Block(now)))
		sums.Queued, sums.Active = nil, nil
		now.Answers.Iterations = &engine.Iterations{IterationSums: sums, Read: true}
		page := shownText(k.Block(now))
		require.NotContains(t, page, "queued")
		require.NotContains(t, page, "active")
	})
}

func TestCanarySeriesNameModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k assess.ReplicaSeries
		now := facts("result", "of the target")
		now.Canary.Order(&canary.Order{ModelID: "llama"})
		now.Canary.Take(canary.Report{Result: canary.Stalled, At: time.Now()}, time.Minute)
		page := shownText(k.Block(now))
		require.Contains(t, page, `llm_server_canary_requests_total{model_id="llama",result="stalled"} 1`+"\n")
		require.Contains(t, page, `llm_server_canary_success{model_id="llama",result="of the target"} 0`+"\n")
		require.Contains(t, page, `llm_server_canary_active{result="of the target"} 1`+"\n")
	})
}

func TestConclusionsAppearWithEveryBlock(t *testing.T) {
	serve, ok := engine.ByName("trtllm-serve")
	require.True(t, ok, "trtllm-serve is a kind")
	var k assess.ReplicaSeries
	now := facts()
	built := func(version string) *assess.Findings {
		return assess.Examine(&assess.Basis{
			Engine:    serve,
			Knowledge: engine.Knowledge{Facts: &engine.Facts{BuildVersion: version}},
		})
	}
	now.Findings = built("1.0.0")
	for range 2 {
		require.Equal(
			t, `llm_server_engine_build_info{version="1.0.0"} 1`+"\n"+states("", assess.Ready), shownText(k.Block(now)),
		)
	}
	now.Findings = built("1.1.0")
	require.Contains(t, shownText(k.Block(now)), `llm_server_engine_build_info{version="1.1.0"} 1`)
}

func TestShapeIsReusedForSameSeries(t *testing.T) {
	var k assess.ReplicaSeries
	now := facts("pool_id", "p")
	first := k.Block(now)
	shape := first.Shape()
	now.State = assess.Down
	second := k.Block(now)
	require.Same(t, shape, second.Shape(), "only a value is another")
	now.Answers.Health = &engine.Health{API: engine.APIReady}
	third := k.Block(now)
	require.NotSame(t, shape, third.Shape())
}

// dropping returns a labeler that drops the series that have a label, and names all others x.
func dropping(name string) exposition.Labeler {
	return func(in labels.Labels) exposition.Labeled {
		return exposition.Labeled{Labels: labels.NewBuilder(in).Set("__name__", "x").Labels(), Keep: !in.Has(name)}
	}
}

func TestRelabelingOfReplicaSeries(t *testing.T) {
	k := assess.NewReplicaSeries(dropping("state"), 0)
	now := facts("pool_id", "p")
	now.Answers.Health = &engine.Health{LiveKnown: true, Live: true}
	require.Equal(t, "x{pool_id=\"p\"} 0\n", shownText(k.Block(now)), "the first of those that are left")
	page, err := exposition.NewCache(exposition.Options{}).Parse([]byte("x{pool_id=\"p\"} 7\n"), "", nil)
	require.NoError(t, err)
	require.Empty(t, shownText(k.Block(now, nil, page.Shape())))
	require.Equal(t, "x{pool_id=\"p\"} 0\n", shownText(k.Block(now)), "the first of those that are left")
}

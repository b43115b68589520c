package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// row returns one iteration with two decoding requests; more are further fields.
func row(iteration int, more ...string) string {
	return fmt.Sprintf(
		`{"iter":%d,"numActiveRequests":2,"numQueuedRequests":%d,"inflightBatchingStats":{"numGenRequests":2,"numCtxTokens":10}%s}`,
		iteration,
		iteration%10,
		strings.Join(append([]string{""}, more...), ","),
	)
}

// rows returns the iterations from first to last.
func rows(first, last int) string {
	var all []string
	for i := first; i <= last; i++ {
		all = append(all, row(i))
	}
	return list(all...)
}

func list(rows ...string) string { return "[" + strings.Join(rows, ",") + "]" }

func TestIterationsCountOnceAndGapsAreDetected(t *testing.T) {
	type answer struct {
		text string
		lost bool // The answer before this one was lost.
	}
	for _, c := range []struct {
		name          string
		answers       []answer
		read, missing uint64
		generated     float64
		queued        float64 // -1 for absent.
		foreign       bool
	}{
		{"nothing happened yet", []answer{{"[]", false}}, 0, 0, 0, -1, false},
		{"one answer", []answer{{rows(60, 69), false}}, 10, 0, 20, 9, false},
		{"iterations before the first answer are not missing", []answer{{rows(5000, 5001), false}}, 2, 0, 4, 1, false},
		{"two consecutive answers", []answer{{rows(1, 10), false}, {rows(11, 15), false}}, 15, 0, 30, 5, false},
		{"no new row", []answer{{rows(1, 10), false}, {"[]", false}}, 10, 0, 20, -1, false},
		{"repeated rows", []answer{{rows(1, 10), false}, {rows(8, 12), false}}, 12, 0, 24, 2, false},
		{
			"another reader took some between two answers",
			[]answer{{rows(1, 10), false}, {rows(15, 16), false}},
			12, 4, 24, 6, true,
		},
		{"another reader took some of the same answer", []answer{{list(row(1), row(3)), false}}, 2, 1, 4, 3, true},
		{
			"the other reader stopped",
			[]answer{{rows(1, 10), false}, {rows(15, 16), false}, {rows(17, 18), false}},
			14, 4, 28, 8, false,
		},
		{
			"an answer to the exporter was lost",
			[]answer{{rows(1, 10), false}, {rows(15, 16), true}},
			12, 4, 24, 6, false,
		},
		{
			"the server kept the last thousand",
			[]answer{{rows(1, 10), false}, {rows(1011, 2010), false}},
			1010, 1000, 2020, 0, false,
		},
		{
			"the server reports that it dropped them",
			[]answer{{list(row(1, `"statsDroppedFrames":0`)), false}, {list(row(5, `"statsDroppedFrames":3`)), false}},
			2, 3, 4, 5, false,
		},
		{
			"the server dropped fewer than are missing",
			[]answer{{list(row(1, `"statsDroppedFrames":7`)), false}, {list(row(5, `"statsDroppedFrames":8`)), false}},
			2, 3, 4, 5, true,
		},
		{
			"the server restarted and dropped some again",
			[]answer{
				{
					list(row(500, `"statsDroppedFrames":5`)), false,
				}, {list(row(0, `"statsDroppedFrames":0`)), false}, {list(row(2, `"statsDroppedFrames":1`)), false},
			},
			3, 1, 6, 2, false,
		},
		{
			"another reader took some after a restart and earlier drops",
			[]answer{
				{list(row(500, `"statsDroppedFrames":5`)), false},
				{list(row(0, `"statsDroppedFrames":0`), row(3, `"statsDroppedFrames":0`)), false},
			},
			3, 2, 6, 3, true,
		},
		{
			"another reader took some after drops before the first answer",
			[]answer{{list(row(11, `"statsDroppedFrames":7`), row(14, `"statsDroppedFrames":7`)), false}},
			2, 2, 4, 4, true,
		},
		{"the server restarted", []answer{{rows(500, 510), false}, {rows(0, 4), false}}, 16, 0, 32, 4, false},
		{
			"the server restarted after few iterations",
			[]answer{{rows(0, 10), false}, {list(row(0, `"timestamp":"later"`), row(1)), false}},
			13, 0, 26, 1, false,
		},
		{
			"the server restarted within an answer",
			[]answer{{list(row(509), row(0, `"attentionDpRank":1`), row(0), row(1)), false}},
			3, 0, 8, 1, false,
		},
		{
			"the server dropped some after another reader took some",
			[]answer{
				{list(row(1, `"statsDroppedFrames":0`)), false},
				{list(row(5)), false},
				{list(row(9, `"statsDroppedFrames":3`)), false},
			},
			3, 6, 6, 9, false,
		},
		{"a late row", []answer{{list(row(1), row(3), row(2), row(4)), false}}, 4, 1, 8, 4, true},
		{
			"ranks of data-parallel attention",
			[]answer{{list(
				row(7, `"attentionDpRank":0`, `"numNewActiveRequests":1`, `"numCompletedRequests":1`),
				row(7, `"attentionDpRank":1`, `"numNewActiveRequests":9`, `"numCompletedRequests":9`),
				row(8, `"attentionDpRank":1`), row(8, `"attentionDpRank":0`),
			), false}},
			2, 0, 9, 8, false,
		},
		{
			"another reader took rows of either rank",
			[]answer{{list(row(1), row(2, `"attentionDpRank":1`), row(3), row(4, `"attentionDpRank":1`)), false}},
			2, 1, 8, 3, true,
		},
		{
			"accepted drafts",
			[]answer{{list(row(1, `"specDecodingStats":{"numAcceptedTokens":3}`)), false}},
			1, 0, 5, 1, false,
		},
		{
			"fields of wrong sign count nothing",
			[]answer{{list(row(1, `"numNewActiveRequests":-9`, `"specDecodingStats":null`)), false}},
			1, 0, 0, 1, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var counter engine.IterationCounter
			var sums engine.IterationSums
			for _, a := range c.answers {
				var err error
				sums, err = counter.Add([]byte(a.text), !a.lost)
				require.NoError(t, err)
			}
			require.Equal(t, c.read, sums.Iterations, "read")
			require.Equal(t, c.missing, sums.Missing, "missing")
			require.Equal(t, c.generated, sums.GeneratedTokens, "generated")
			require.Equal(t, c.foreign, sums.Foreign, "another reader")
			if c.queued < 0 {
				require.Nil(t, sums.Queued)
				require.Nil(t, sums.Active)
				return
			}
			require.NotNil(t, sums.Queued)
			require.Equal(t, c.queued, *sums.Queued)
		})
	}
}

func TestAnswersWithoutIterationsAreErrors(t *testing.T) {
	for name, text := range map[string]string{
		"a page of metrics":      "# HELP x y\nx 1\n",
		"HTML":                   "<html>",
		"an object":              `{"detail":"Not Found"}`,
		"rows of something else": `[{"a":1}]`,
		"a row of a wrong type":  `[{"iter":"seven"}]`,
		"nothing":                "",
		"numbers":                "[1,2]",
	} {
		t.Run(name, func(t *testing.T) {
			var counter engine.IterationCounter
			_, err := counter.Add([]byte(rows(1, 3)), true)
			require.NoError(t, err)
			sums, err := counter.Add([]byte(text), true)
			require.Error(t, err)
			require.Equal(t, uint64(3), sums.Iterations, "what was read stays")
		})
	}
}

func TestLatestIterationsAreRecognized(t *testing.T) {
	var counter engine.IterationCounter
	_, _ = counter.Add([]byte(rows(0, 20_000)), true)
	sums, err := counter.Add([]byte(rows(20_001-4096, 20_000)), true)
	require.NoError(t, err)
	require.EqualValues(t, 20_001, sums.Iterations)
}

func TestRealIterationsAreRead(t *testing.T) {
	for file, want := range map[string]struct{ generated, context, queued float64 }{
		"trtllm-iteration-stats-trt-backend-1.0.0rc4.json": {1, 0, 0},
		"trtllm-iteration-stats-executor-api-2025-04.json": {1, 16000, 7},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(samples(t, file)[0])
			require.NoError(t, err)
			if text[0] == '{' {
				text = []byte("[" + string(text) + "]")
			}
			var counter engine.IterationCounter
			sums, err := counter.Add(text, true)
			require.NoError(t, err)
			require.Equal(t, want.generated, sums.GeneratedTokens)
			require.Equal(t, want.context, sums.ContextTokens)
			require.Equal(t, want.queued, *sums.Queued)
		})
	}
}

func TestIterationCounts(t *testing.T) {
	for _, c := range []struct {
		name, rows                    string
		generated, context, completed float64
		queued, active                any
	}{
		{"all of them", list(row(7, `"numNewActiveRequests":1`, `"numCompletedRequests":3`)), 3, 10, 3, 7.0, 2.0},
		{
			"several tokens for each request", // The TensorRT backend says how many; drafts are among them.
			list(`{"iter":1,"numNewActiveRequests":1,"inflightBatchingStats":{"numGenRequests":4,"avgNumDecodedTokensPerIter":2.5},"specDecodingStats":{"numAcceptedTokens":9}}`),
			11, 0, 0, nil, nil,
		},
		{
			"one token for each request",
			list(`{"iter":1,"inflightBatchingStats":{"numGenRequests":4,"avgNumDecodedTokensPerIter":1},"specDecodingStats":{"numAcceptedTokens":9}}`),
			13, 0, 0, nil, nil,
		},
		{
			"drafts of another rank are copies",
			list(row(1), row(1, `"attentionDpRank":1`, `"specDecodingStats":{"numAcceptedTokens":9}`)),
			4, 20, 0, 1.0, nil,
		},
		{
			"ranks with another key for their number",
			list(row(1, `"rank":0`), row(1, `"rank":1`), row(1, `"rank":2`, `"attentionDpRank":0`)),
			6, 30, 0, 1.0, nil,
		},
		{
			"counts below 0",
			list(`{"iter":1,"numQueuedRequests":-1,"numActiveRequests":0,"numCompletedRequests":-1}`),
			0, 0, 0, nil, 0.0,
		},
		{
			"more than a number can hold",
			list(`{"iter":1,"inflightBatchingStats":{"numGenRequests":1e300,"avgNumDecodedTokensPerIter":1e300}}`, row(2)),
			2, 10, 0, 2.0, 2.0,
		},
		{
			"only another rank",
			list(`{"iter":1,"attentionDpRank":1,"numQueuedRequests":1,"numCompletedRequests":1,"inflightBatchingStats":{"numGenRequests":1}}`),
			1, 0, 0, nil, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var counter engine.IterationCounter
			sums, err := counter.Add([]byte(c.rows), true)
			require.NoError(t, err)
			require.Equal(t, c.generated, sums.GeneratedTokens)
			require.Equal(t, c.context, sums.ContextTokens)
			require.Equal(t, c.completed, sums.Completed)
			for want, got := range map[*any]*float64{&c.queued: sums.Queued, &c.active: sums.Active} {
				if *want == nil {
					require.Nil(t, got)
				} else {
					require.NotNil(t, got)
					require.Equal(t, *want, *got)
				}
			}
		})
	}
}

func TestIterationsTellWhetherRanksShareRequests(t *testing.T) {
	const other = `"attentionDpRank":1`
	for _, c := range []struct {
		says    string
		answers []string
		want    engine.Ranks
	}{
		{"nothing was read", []string{list()}, 0},
		{"one row an iteration", []string{rows(1, 3)}, engine.RanksOne},
		{"one a rank", []string{list(row(1), row(1, other))}, engine.RanksApart},
		{"one a rank, by the other key", []string{list(row(1), row(1, `"rank":1`))}, engine.RanksApart},
		{"an answer that ends within an iteration", []string{list(row(1), row(1, other), row(2)), list(row(3))}, engine.RanksApart},
		{"the first of that kind", []string{list(row(1)), list(row(1, other))}, engine.RanksApart},
		{"an answer without rows", []string{list(row(1), row(1, other)), list()}, engine.RanksApart},
		{"a server that was started again with one", []string{list(row(900), row(900, other)), rows(1, 3)}, engine.RanksOne},
	} {
		t.Run(c.says, func(t *testing.T) {
			var counter engine.IterationCounter
			var sums engine.IterationSums
			for _, answer := range c.answers {
				var err error
				sums, err = counter.Add([]byte(answer), true)
				require.NoError(t, err)
			}
			require.Equal(t, c.want, sums.Ranks)
		})
	}
}

func TestRanksAreWhatIterationsTell(t *testing.T) {
	for _, told := range []engine.Ranks{engine.RanksOne, engine.RanksApart} {
		page := readPages(t, engine.TRTLLMServe, rankPage(1, "", 8, 8))
		require.False(t, page.LearnRanks(0), "no row was read")
		require.Equal(t, engine.RanksUnsure, page.Ranks())
		require.True(t, page.LearnRanks(told), "rows tell how many ranks there are")
		require.False(t, page.LearnRanks(told), "nothing new")
		require.Equal(t, told, page.Ranks())
		require.Equal(t, told == engine.RanksApart, page.Has(engine.EngineRanks), "its content is new too")
	}
	one := readPages(t, engine.TRTLLMServe, rankPage(1, ""))
	one.LearnRanks(engine.RanksApart)
	require.Equal(t, engine.RanksUnseen, one.Ranks(), "no batches, no sums")
}

package exposition_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// strictly are the options of a pool that takes no OpenMetrics but what keeps to
// all of its rules.
func strictly() exposition.Options {
	return exposition.Options{Limits: exposition.Limits{StrictOpenMetrics: true}}
}

func TestOpenMetricsSuite(t *testing.T) {
	bodies, good := suite(t)
	count := map[bool]int{}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			count[good[name]]++
			b, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, openMetrics)
			_, refused := parseWith(t, exposition.NewCache(strictly()), body, openMetrics)
			if good[name] {
				require.NoError(t, err)
				require.NoError(t, refused)
				want, err := readings([]byte(body), openMetrics)
				require.NoError(t, err)
				requireSameSamples(t, want, body, openMetrics)
				return
			}
			var parse *exposition.ParseError
			require.ErrorAs(t, refused, &parse)
			require.LessOrEqual(t, parse.Line, strings.Count(body, "\n")+1)
			if err == nil {
				page := render(t, &exposition.Merger{}, b)
				requireReadable(t, mustReadings(t, page), page)
			}
		})
	}
	require.Equal(t, map[bool]int{true: 44, false: 167}, count, "good and bad cases")
}

// strictCases are what only the strict mode refuses, and its words.
var strictCases = []struct{ name, body, want string }{
	{"a counter may not fall below zero", "# TYPE a counter\na_total -1\n", `line 2: "a_total": what is counted is negative`},
	{"a counter is a number", "# TYPE a counter\na_total NaN\n", `line 2: "a_total": what is counted is negative or no number`},
	{"observations are whole", "# TYPE a summary\na_count 1.5\na_sum 1\n", `line 2: "a_count": what is counted is negative or no number, or is no whole number of observations`},
	{"the last bucket is the count", "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_count 2\na_sum 1\n", `line 5: "a": the bucket +Inf is missing, or is not the count`},
	{"so it is of a group before the last", "# TYPE a histogram\na_bucket{x=\"1\",le=\"1\"} 1\na_bucket{x=\"2\",le=\"+Inf\"} 1\n", `line 3: "a_bucket": the bucket +Inf is missing`},
	{"buckets do not fall", "# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\n", `line 3: "a_bucket": buckets fall, or their bounds do`},
	{"bounds do not fall", "# TYPE a histogram\na_bucket{le=\"2\"} 1\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\n", `line 3: "a_bucket": buckets fall`},
	{"a count has a sum", "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_count 1\n", `line 4: "a": there is a sum without a count`},
	{"a bound is one", "# TYPE a histogram\na_bucket{le=\"x\"} 1\n", `line 2: "a_bucket": a bucket has no bound`},
	{"a quantile is one", "# TYPE a summary\na{quantile=\"2\"} 1\n", `line 2: "a": a quantile is not between 0 and 1`},
	{"samples of a group are together", "# TYPE a summary\na_sum{x=\"1\"} 1\na_sum{x=\"2\"} 1\na_count{x=\"1\"} 1\n", `line 4: "a_count": samples of one group are apart from each other`},
	{"a series comes once", "a{x=\"1\"} 1\na{x=\"1\"} 1\n", `line 2: "a": the series comes twice`},
	{"times go on", "a 1 2\na 1 1\n", `line 2: "a": some samples of a group have a time, or times go backwards`},
	{"a family has one place", "a 1\nb 1\na{x=\"1\"} 1\n", `line 4: "a" is a name of an earlier family too`},
	{"names of samples are nobody else's", "# TYPE a counter\na_total 1\n# TYPE a_total gauge\na_total{x=\"1\"} 1\n", `line 5: "a_total" is a name of an earlier family too`},
	{"TYPE comes before the samples", "a 1\n# TYPE a gauge\n", `line 2: "a": HELP, TYPE and UNIT come before the samples`},
	{"HELP is said once", "# HELP a x\n# HELP a x\na 1\n", `line 2: "a": said twice of one family`},
	{"an info is 1", "# TYPE a info\na_info 2\n", `line 2: "a_info": an info is not 1`},
	{"an info comes once, also without the time it had before", "# TYPE a info\na_info{x=\"1\"} 1 1\na_info{x=\"1\"} 1\n", `line 3: "a_info": the series comes twice`},
	{"a state is 0 or 1", "# TYPE a stateset\na{a=\"x\"} 2\n", `line 2: "a": a state has no label`},
	{"an info has no unit", "# TYPE a_s info\n# UNIT a_s s\n", `line 3: "a_s": the unit is not the end of the name`},
	{"a gauge has no exemplar", "# TYPE a gauge\na 1 # {x=\"1\"} 1\n", `line 2: "a": only buckets and counters have exemplars`},
	{"an exemplar is short", "# TYPE a counter\na_total 1 # {x=\"" + strings.Repeat("ü", 128) + "\"} 1\n", "line 2: the labels of an exemplar have more than 128 characters"},
	{"labels end without a comma", "a{x=\"1\",} 1\n", "line 1: a comma behind the last label"},
	{"a label comes once", "a{x=\"1\",x=\"1\"} 1\n", "line 1: label named twice"},
}

func TestStrictModeSaysWhichRuleIsBroken(t *testing.T) {
	for _, c := range strictCases {
		t.Run(c.name, func(t *testing.T) {
			body := c.body + "# EOF\n"
			_, err := parseWith(t, exposition.NewCache(strictly()), body, openMetrics)
			require.ErrorContains(t, err, c.want)
			_, err = parseWith(t, exposition.NewCache(exposition.Options{}), body, openMetrics)
			require.NoError(t, err, "without it the page is taken")
			_, err = parseWith(t, exposition.NewCache(strictly()), c.body, "")
			require.NotContains(t, fmt.Sprint(err), c.want, "text is none of its business")
		})
	}
}

// TestStrictModeJudgesValuesOfEveryPage: a page that differs from the last good
// one in nothing but its values is read by them alone, and judged all the same.
func TestStrictModeJudgesValuesOfEveryPage(t *testing.T) {
	c := exposition.NewCache(strictly())
	page := func(value string) string { return "# TYPE a counter\na_total " + value + "\n# EOF\n" }
	for _, value := range []string{"1", "2", "3"} {
		_, err := parseWith(t, c, page(value), openMetrics)
		require.NoError(t, err)
	}
	_, err := parseWith(t, c, page("NaN"), openMetrics)
	require.ErrorContains(t, err, "what is counted is negative or no number")
	_, err = parseWith(t, c, page("4"), openMetrics)
	require.NoError(t, err)
	fast, slow := c.Paths()
	require.Equal(t, []uint64{3, 1}, []uint64{fast, slow}, "pages by fast and slow path")
}

// TestOpenMetricsPagesThatStrictModeTakesAreStrict: pages of the suite with lines
// moved, doubled and left out, with other values and names. Those that the
// strict mode takes, the strict reader of prometheus_client takes, too.
func TestOpenMetricsPagesThatStrictModeTakesAreStrict(t *testing.T) {
	bodies, _ := suite(t)
	taken, refused := make(map[string]string), 0
	for name, body := range bodies {
		for seed := range uint64(20) {
			page := disturbed(rand.New(rand.NewPCG(seed, uint64(len(name)))), body, bodies["simple_histogram"])
			if exposition.Strict(page) != nil {
				refused++
				continue
			}
			taken[fmt.Sprintf("%s seed %d", name, seed)] = page
		}
	}
	require.Greater(t, len(taken), 200, "of %d", refused)
	require.Greater(t, refused, 1000)
	requireStrict(t, taken)
}

// disturbed is a page with a few of its lines, and those of another, elsewhere
// or otherwise.
func disturbed(r *rand.Rand, page, other string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(page, "# EOF\n"), "\n")
	for range 1 + r.IntN(3) {
		at, to := r.IntN(len(lines)), r.IntN(len(lines))
		switch r.IntN(5) {
		case 0:
			lines[at], lines[to] = lines[to], lines[at]
		case 1:
			lines = append(lines, lines[at])
		case 2:
			lines[at] = ""
		case 3:
			lines = append(lines, strings.Replace(strings.TrimSuffix(other, "# EOF\n"), " a", " "+[]string{"a", "b", "a_bucket"}[r.IntN(3)], 2))
		case 4:
			if blank := strings.LastIndexByte(lines[at], ' '); blank > 0 && lines[at][0] != '#' {
				lines[at] = lines[at][:blank+1] + []string{"NaN", "-1", "+Inf", "1.5", "0"}[r.IntN(5)] + "\n"
			}
		}
	}
	return strings.Join(lines, "") + "# EOF\n"
}

// BenchmarkStrict is what the strict mode adds to a page, next to what
// Prometheus' parser takes for the same page.
func BenchmarkStrict(b *testing.B) {
	for _, page := range benchPages {
		block := parse(b, replicaOptions("r"), string(simulate.BenchPage(page.kind, 0, 0)))
		var out bytes.Buffer
		var m exposition.Merger
		blocks := []*exposition.Block{block}
		require.NoError(b, m.Layout(blocks).WriteFormat(&out, blocks, formatOf(expfmt.TypeOpenMetrics, model.NoEscaping), nil))
		body := out.String()
		b.Run(fmt.Sprintf("samples=%d/strict", page.samples), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, exposition.Strict(body))
			}
		})
		b.Run(fmt.Sprintf("samples=%d/textparse", page.samples), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := readings([]byte(body), openMetrics)
				require.NoError(b, err)
			}
		})
	}
}

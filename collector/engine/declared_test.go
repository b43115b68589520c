package engine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// acme declares a small kind.
func acme(change func(d *engine.Declaration)) engine.Declaration {
	d := engine.Declaration{
		Name:   "acme",
		Prefix: "acme_",
		Series: []engine.DeclaredSeries{
			{Name: "running", Signal: engine.RequestsRunning.String()},
			{Name: "failed_total", Signal: engine.RequestsFailed.String(), Class: engine.ClassServer},
		},
	}
	change(&d)
	return d
}

// addSeries adds a series to acme.
func addSeries(s engine.DeclaredSeries) func(d *engine.Declaration) {
	return func(d *engine.Declaration) { d.Series = append(d.Series, s) }
}

func TestMistakesInDeclarations(t *testing.T) {
	text, percent, minutes, zero := "x", 0.01, 60.0, 0.0
	for _, c := range []struct {
		name   string
		change func(d *engine.Declaration)
		want   string
	}{
		{"nothing", func(*engine.Declaration) {}, ""},
		{"no name", func(d *engine.Declaration) { d.Name = "" }, "kinds[0].name: is required"},
		{
			"the name of a built-in kind",
			func(d *engine.Declaration) { d.Name = "vllm" },
			`kinds[0].name: "vllm" is a built-in kind; choose another name, or set extends: vllm`,
		},
		{"a reserved name", func(d *engine.Declaration) { d.Name = "auto" }, `kinds[0].name: "auto" is reserved`},
		{"a name that is no label", func(d *engine.Declaration) { d.Name = "A b" }, `kinds[0].name: "A b" has other`},
		{
			"names of a built-in kind as marks",
			func(d *engine.Declaration) { d.Marks = []string{"acme_", "vllm:num_"} },
			`kinds[0].marks[1]: "vllm:num_" begins names of vllm`,
		},
		{
			"half a mark of a built-in kind",
			func(d *engine.Declaration) { d.Prefix = "nv" },
			`kinds[0].prefix: "nv" begins names of`,
		},
		{
			"more than a mark of a built-in kind",
			func(d *engine.Declaration) { d.Marks = []string{"sglang:ours_"} },
			`kinds[0].marks[0]: "sglang:ours_" begins names of sglang`,
		},
		{
			"a mark of any program",
			func(d *engine.Declaration) { d.Marks = []string{"process_"} },
			`kinds[0].marks[0]: "process_" begins names that pages of any program may have`,
		},
		{
			"a mark of a companion",
			func(d *engine.Declaration) { d.Marks = []string{"vllm_router_x"} },
			`kinds[0].marks[0]: "vllm_router_x" begins names of vllm-router`,
		},
		{
			"a path without a slash",
			func(d *engine.Declaration) { d.Paths.Health = "health" },
			`kinds[0].paths.health: "health" is not a path`,
		},
		{
			"a misspelled signal",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: "requests_run"}),
			`kinds[0].series[2].signal: "requests_run" is unknown`,
		},
		{
			"a signal that needs code",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.ProcessUptime.String()}),
			`kinds[0].series[2].signal: "process_uptime_seconds" is unknown`,
		},
		{
			"a series twice",
			addSeries(engine.DeclaredSeries{Name: "running", Signal: engine.RequestsRunning.String()}),
			"kinds[0].series[2]: acme_running is listed twice",
		},
		{
			"series among all of a name",
			func(d *engine.Declaration) {
				d.Series[0].Where = []engine.DeclaredMatch{{Label: "a", Is: &text}}
				d.Series = append(d.Series, engine.DeclaredSeries{Name: "running", Signal: engine.RequestsRunning.String()})
			},
			"kinds[0].series[2]: acme_running counts series that acme_running [a=x] counts already; choose them apart",
		},
		{
			"series chosen apart",
			func(d *engine.Declaration) {
				d.Series[0].Where = []engine.DeclaredMatch{{Label: "a", Begins: &text}}
				y := "y"
				apart := engine.DeclaredSeries{Name: "running", Signal: engine.RequestsRunning.String()}
				apart.Where = []engine.DeclaredMatch{{Label: "a", Begins: &y}}
				d.Series = append(d.Series, apart)
			},
			"",
		},
		{
			"series of two releases",
			func(d *engine.Declaration) {
				use := engine.DeclaredSeries{Name: "kv", Signal: engine.KVUtilization.String(), Before: "2.0"}
				later := engine.DeclaredSeries{Name: "kv", Signal: engine.KVUtilization.String(), Factor: &percent, From: "2.0"}
				d.Series = append(d.Series, use, later)
			},
			"",
		},
		{
			"a name that no series can have",
			addSeries(engine.DeclaredSeries{Name: "a b", Signal: engine.RequestsWaiting.String()}),
			"kinds[0].series[2]: acme_a b has a name that no series can have",
		},
		{
			"identity labels",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.RequestsFinished.String(), Labels: map[string]string{"pool_id": "pool"},
			}),
			`kinds[0].series[2].labels.pool_id: "pool_id" is unknown; use finish_reason`,
		},
		{
			"labels of a series that has none",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.RequestsWaiting.String(), Labels: map[string]string{"reason": "why"},
			}),
			"kinds[0].series[2].labels: series of signal requests_waiting have no labels of their own",
		},
		{
			"failures without a class",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsFailed.String()}),
			"kinds[0].series[2].class: is required: who is to blame",
		},
		{
			"classes without their label",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.RequestsFinished.String(), Classes: map[string]engine.Class{"e": engine.ClassServer},
			}),
			"kinds[0].series[2].labels: which label tells how a request ended? write it like { finish_reason: status }",
		},
		{
			"a class of what does not end",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.PromptTokens.String(), Class: engine.ClassOK}),
			"kinds[0].series[2].class: series of signal prompt_tokens_total count no requests that ended",
		},
		{
			"a factor that is no power of ten",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.FirstToken.String(), Factor: &minutes}),
			"kinds[0].series[2].factor: 60 is none of 1, 0.1, 0.01",
		},
		{
			"a factor of 0",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.FirstToken.String(), Factor: &zero}),
			"kinds[0].series[2].factor: 0 is none of 1, 0.1, 0.01",
		},
		{
			"a factor of what is counted",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), Factor: &percent}),
			"kinds[0].series[2].factor: series of signal requests_waiting count, and have no unit; leave it out",
		},
		{
			"the prefix twice",
			addSeries(engine.DeclaredSeries{Name: "acme_waiting", Signal: engine.RequestsWaiting.String()}),
			`kinds[0].series[2].name: "acme_waiting" has the prefix, which is added to it; write "waiting"`,
		},
		{
			"two names that replace each other",
			func(d *engine.Declaration) {
				addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), Unless: []string{"y"}})(d)
				addSeries(engine.DeclaredSeries{Name: "y", Signal: engine.RequestsWaiting.String(), Unless: []string{"x"}})(d)
			},
			"kinds[0].series[2]: acme_x and acme_y replace each other: on a page with both, neither counts",
		},
		{
			"a series without a signal",
			addSeries(engine.DeclaredSeries{Name: "x"}),
			"kinds[0].series[2].signal: is required: what the name means; docs/kinds.md lists the words",
		},
		{
			"a choice without a label",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.RequestsWaiting.String(), Where: []engine.DeclaredMatch{{Is: &text}},
			}),
			"kinds[0].series[2].where[0].label: is required: the label that selects series",
		},
		{
			"the prefix in a name that takes its place",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), Unless: []string{"acme_y"}}),
			`kinds[0].series[2].unless[0]: "acme_y" has the prefix, which is added to it; write "y"`,
		},
		{
			"a label of ours in the place of theirs",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.RequestsFinished.String(), Labels: map[string]string{"why": "finish_reason"},
			}),
			`kinds[0].series[2].labels: "finish_reason" is our name and "why" theirs; write { finish_reason: why }`,
		},
		{
			"a range without a release",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), From: "1.10", Before: "1.9"}),
			"kinds[0].series[2].before: no release is from 1.10 on and before 1.9",
		},
		{
			"requests that count when they end",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsFinished.String(), WhenEnded: true}),
			"kinds[0].series[2].when_ended: is for counters of tokens",
		},
		{
			"a name that the page must have and lack",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.RequestsWaiting.String(), With: []string{"running"}, Unless: []string{"running"},
			}),
			`kinds[0].series[2].with[0]: "running" is in unless too: no page has and lacks it`,
		},
		{
			"an empty name that the page must have",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), With: []string{""}}),
			"kinds[0].series[2].with[0]: is empty; write a name of the page, without prefix",
		},
		{
			"a name that needs itself",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), With: []string{"x"}}),
			"kinds[0].series[2]: acme_x needs itself on the page",
		},
		{
			"a series twice, of which one may be replaced",
			func(d *engine.Declaration) {
				d.Series = append(d.Series,
					engine.DeclaredSeries{Name: "old", Signal: engine.RequestsWaiting.String(), Unless: []string{"new"}},
					engine.DeclaredSeries{
						Name: "old", Signal: engine.RequestsWaiting.String(), Where: []engine.DeclaredMatch{{Label: "a", Is: &text}},
					},
					engine.DeclaredSeries{Name: "new", Signal: engine.RequestsWaiting.String()})
			},
			"kinds[0].series[3]: acme_old counts series that acme_old counts already; choose them apart",
		},
		{
			"a series with a name and without it",
			func(d *engine.Declaration) {
				d.Series = append(d.Series,
					engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), Unless: []string{"running"}},
					engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), With: []string{"running"}})
			},
			"",
		},
		{
			"a series in two ranges that overlap",
			func(d *engine.Declaration) {
				d.Series = append(d.Series,
					engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), From: "1.0"},
					engine.DeclaredSeries{Name: "x", Signal: engine.RequestsWaiting.String(), From: "2.0"})
			},
			"kinds[0].series[3]: acme_x is listed twice",
		},
		{
			"a series that is combined in two ways",
			addSeries(engine.DeclaredSeries{
				Name: "running", Signal: engine.RequestsRunning.String(), Combine: engine.DeclaredNewest,
			}),
			"kinds[0].series[2]: acme_running counts series that the line of requests_running counts already",
		},
		{
			"failures among what finished",
			addSeries(engine.DeclaredSeries{Name: "failed_total", Signal: engine.RequestsFinished.String()}),
			"kinds[0].series[2]: acme_failed_total counts series that the line of requests_failed_total counts already",
		},
		{
			"the model as a rank",
			func(d *engine.Declaration) { d.RankLabel = "model" },
			`kinds[0].rank_label: "model" names the model`,
		},
		{
			"the largest of counters",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.PromptTokens.String(), Combine: engine.DeclaredMax}),
			"kinds[0].series[2]: acme_x grows, so that several add up",
		},
		{
			"the sum of shares",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.KVUtilization.String(), Combine: engine.DeclaredSum}),
			"kinds[0].series[2]: acme_x is a share or a mean, and adds up several",
		},
		{
			"a part of a histogram",
			addSeries(engine.DeclaredSeries{Name: "x_bucket", Signal: engine.FirstToken.String()}),
			`kinds[0].series[2].name: "x_bucket" is one of the series of a histogram; write "x"`,
		},
		{
			"a choice without a value",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.PromptTokens.String(), Where: []engine.DeclaredMatch{{Label: "a"}},
			}),
			"kinds[0].series[2].where[0].label: needs one of is, is_not and begins beside it",
		},
		{
			"a choice that nothing meets",
			addSeries(engine.DeclaredSeries{
				Name: "x", Signal: engine.PromptTokens.String(),
				Where: []engine.DeclaredMatch{{Label: "a", Is: &text}, {Label: "a", IsNot: &text}},
			}),
			"kinds[0].series[2]: acme_x selects values of a that exclude each other",
		},
		{
			"a release that is none",
			addSeries(engine.DeclaredSeries{Name: "x", Signal: engine.PromptTokens.String(), From: "newest"}),
			`kinds[0].series[2].from: "newest" is not a release`,
		},
		{
			"an extension of what is no kind",
			func(d *engine.Declaration) { d.Name, d.Extends = "", "trition" },
			`kinds[0].extends: "trition" is unknown`,
		},
		{
			"an extension with a name",
			func(d *engine.Declaration) { d.Extends = "triton" },
			"kinds[0].name: is for a kind of its own; leave it out, since triton is known",
		},
		{"no series, of a server whose health may be known", func(d *engine.Declaration) { d.Series = nil }, ""},
		{
			"an extension by nothing",
			func(d *engine.Declaration) { d.Name, d.Extends, d.Series = "", "triton", nil },
			"kinds[0].series: none is added; list names of the page, each with its signal",
		},
		{
			"an extension of a name that is read",
			func(d *engine.Declaration) {
				d.Name, d.Extends, d.Prefix, d.Series[0].Name = "", "vllm", "", "vllm:num_requests_running"
			},
			"kinds[0].series[0].name: vllm:num_requests_running of vllm has a meaning already",
		},
		{
			"an extension of a histogram that is read",
			func(d *engine.Declaration) {
				d.Name, d.Extends, d.Prefix, d.Series[0].Name = "", "nim", "", "time_to_first_token_seconds"
			},
			"kinds[0].series[0].name: time_to_first_token_seconds of nim has a meaning already",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := engine.Declare([]engine.Declaration{acme(c.change)})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	for change, want := range map[string]string{
		"acme":  `kinds[1].name: "acme" is the name of two kinds`,
		"acme2": "kinds[1].marks: acme_ and acme_ of acme begin the same names",
	} {
		_, err := engine.Declare([]engine.Declaration{
			acme(func(*engine.Declaration) {}),
			acme(func(d *engine.Declaration) { d.Name = change }),
		})
		require.ErrorContains(t, err, want)
	}
}

// TestWhatDoesNotAddUp declares gauges of which each rank has one.
func TestWhatDoesNotAddUp(t *testing.T) {
	for signal, want := range map[engine.Signal]engine.Combine{
		engine.KVUtilization:   engine.Max,
		engine.KVBlockTokens:   engine.Max,
		engine.EngineAwake:     engine.Max,
		engine.RequestsRunning: engine.Sum,
		engine.KVBlocksLimit:   engine.Sum,
	} {
		kinds, err := engine.Declare([]engine.Declaration{acme(addSeries(engine.DeclaredSeries{Name: "x", Signal: signal.String()}))})
		require.NoError(t, err)
		kind, _ := kinds.Named("acme")
		all := kind.DeclaredSeries()
		require.Equal(t, want, all[len(all)-1].Combine, signal)
	}
}

// TestEndsWithoutTheirLabel reads counters of requests whose label does not say how they ended.
func TestEndsWithoutTheirLabel(t *testing.T) {
	label := map[string]string{"finish_reason": "why"}
	for name, c := range map[string]struct {
		series engine.DeclaredSeries
		want   engine.Class
	}{
		"the usual reasons":        {engine.DeclaredSeries{Labels: label}, engine.ClassUnknown},
		"no label":                 {engine.DeclaredSeries{}, engine.ClassOK},
		"a class":                  {engine.DeclaredSeries{Labels: label, Class: engine.ClassOK}, engine.ClassOK},
		"HTTP statuses":            {engine.DeclaredSeries{Labels: label, StatusCodes: true}, engine.ClassUnknown},
		"classes of single values": {engine.DeclaredSeries{Labels: label, Classes: aborted}, engine.ClassUnknown},
		"a class of the empty value": {
			engine.DeclaredSeries{Labels: label, Classes: map[string]engine.Class{"": engine.ClassOK}}, engine.ClassOK,
		},
	} {
		c.series.Name, c.series.Signal = "x", engine.RequestsFinished.String()
		kinds, err := engine.Declare([]engine.Declaration{acme(addSeries(c.series))})
		require.NoError(t, err, name)
		kind, _ := kinds.Named("acme")
		all := kind.DeclaredSeries()
		require.Equal(t, c.want, all[len(all)-1].Outcome.Class(""), name)
	}
}

// TestFailuresCountWhereTheFileSaysSo has requests that finished, some of which may have failed.
func TestFailuresCountWhereTheFileSaysSo(t *testing.T) {
	label := map[string]string{"finish_reason": "why"}
	for name, c := range map[string]struct {
		series engine.DeclaredSeries
		want   bool
	}{
		"no label":          {engine.DeclaredSeries{}, false},
		"the usual reasons": {engine.DeclaredSeries{Labels: label}, false},
		"other classes":     {engine.DeclaredSeries{Labels: label, Classes: aborted}, false},
		"a class of failures": {
			engine.DeclaredSeries{Labels: label, Classes: map[string]engine.Class{"error": engine.ClassServer}}, true,
		},
		"HTTP statuses": {engine.DeclaredSeries{Labels: label, StatusCodes: true}, true},
	} {
		c.series.Name, c.series.Signal = "x", engine.RequestsFinished.String()
		kinds, err := engine.Declare([]engine.Declaration{acme(func(d *engine.Declaration) {
			d.Series = []engine.DeclaredSeries{c.series}
		})})
		require.NoError(t, err, name)
		kind, _ := kinds.Named("acme")
		page := pageOfKind(t, kind, "acme_x{why=\"stop\"} 4\n")
		require.Equal(t, c.want, kind.CountsFailures(page), name)
		for _, can := range engine.Capabilities(kind, &engine.Knowledge{Page: page}) {
			if can.Name == engine.CanOutcomes {
				require.Equal(t, c.want, can.OK, "%s: %s", name, can.Reason)
			}
		}
	}
}

var aborted = map[string]engine.Class{"abort": engine.ClassCanceled}

func TestReleasesOfASeries(t *testing.T) {
	ranged := acme(func(d *engine.Declaration) { d.Series[0].From, d.Series[0].Before = "0.6", "1.0" })
	kinds, err := engine.Declare([]engine.Declaration{ranged})
	require.NoError(t, err)
	kind, _ := kinds.Named("acme")
	meaning := kind.Meanings()[0]
	for version, want := range map[string]bool{
		"0.6": true, "0.6.0": true, "v0.6.0rc1": true, "0.10.2": true, "0.9.9.post1": true,
		"0.5.9": false, "1.0": false, "1.0.0": false, "b4567-f3a1": false, "": false, "unknown": false,
	} {
		require.Equal(t, want, meaning.Holds(version), version)
	}
	page := pageOfKind(t, kind, "acme_running 1\n")
	known := engine.Knowledge{Page: page, Version: "1.1"}
	for _, c := range engine.Capabilities(kind, &known) {
		if c.Name == engine.CanRunning {
			require.False(t, c.OK, "%s: %s", c.Name, c.Reason)
			require.Equal(t, "acme_running means this in releases from 0.6 to before 1.0, and the version of the "+
				"server is 1.1", c.Reason)
		}
	}
}

// TestReleasesOfAddedSeries says what a file adds to a built-in kind only where the release is known to have it.
func TestReleasesOfAddedSeries(t *testing.T) {
	added := engine.Declaration{
		Extends: "triton-openai", Prefix: "acme_",
		Series: []engine.DeclaredSeries{{Name: "kv", Signal: engine.KVUtilization.String(), From: "2.40"}},
	}
	kinds, err := engine.Declare([]engine.Declaration{added})
	require.NoError(t, err)
	kind, _ := kinds.Named("triton-openai")
	const page = "nv_inference_count{model=\"m\",version=\"1\"} 1\nacme_kv{model=\"m\"} 0.4\n"
	for version, want := range map[string]target.Check{
		"2.41": target.Passed(engine.CanKVCache, "acme_kv, as a kinds_file says"),
		"2.39": target.Failed(engine.CanKVCache, "acme_kv means this in releases from 2.40, and the version of the server is "+
			"2.39", "release 2.40 or later"),
		"": target.Failed(engine.CanKVCache, "acme_kv means this in releases from 2.40, and the version of the server is "+
			"unknown", "engine_version in the pool, if the server does not tell it"),
	} {
		known := &engine.Knowledge{Page: pageOfKind(t, kind, page), Version: version}
		all := engine.Capabilities(kind, known)
		at := slices.IndexFunc(all, func(c target.Check) bool { return c.Name == engine.CanKVCache })
		require.Equal(t, want, all[at], "version %q", version)
	}
}

// TestAKindWithoutAPathOfHealth says that its file names none, instead of looking for its API elsewhere.
func TestAKindWithoutAPathOfHealth(t *testing.T) {
	kinds, err := engine.Declare([]engine.Declaration{acme(func(d *engine.Declaration) { d.Paths.Health = "" })})
	require.NoError(t, err)
	kind, _ := kinds.Named("acme")
	all := engine.Capabilities(kind, &engine.Knowledge{Page: pageOfKind(t, kind, "acme_running 1\n")})
	at := slices.IndexFunc(all, func(c target.Check) bool { return c.Name == engine.CanHealth })
	const why = "the file of its kind does not say where its API tells its health (paths.health)"
	require.Equal(t, target.Failed(engine.CanHealth, why, ""), all[at])
}

func pageOfKind(t *testing.T, kind *engine.Kind, body string) *engine.Page {
	t.Helper()
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(kind)})
	block, err := cache.Parse([]byte(body), "", nil)
	require.NoError(t, err)
	return engine.ReadPage(kind, block)
}

func TestLabelsNameModelsAsTheFileSays(t *testing.T) {
	named := func(d engine.Declaration, kind, body string) []string {
		kinds, err := engine.Declare([]engine.Declaration{d})
		require.NoError(t, err)
		k, _ := kinds.Named(kind)
		return pageOfKind(t, k, body).NamedModels().Names
	}
	own := acme(func(d *engine.Declaration) { d.ModelLabels = []string{"deployment", "model"} })
	require.Equal(t, []string{"a", "b"}, named(own, "acme", `acme_running{deployment="a",model="x"} 1`+"\n"+
		`acme_running{model="b"} 1`+"\n"))
	added := acme(func(d *engine.Declaration) {
		d.Name, d.Extends, d.ModelLabels = "", "triton", []string{"deployment"}
		d.Series = d.Series[:1]
	})
	require.Equal(t, []string{"a", "b"}, named(added, "triton", `acme_running{deployment="a"} 1`+"\n"+
		`nv_inference_count{model="b",version="1"} 1`+"\n"))
}

// TestAddedSeriesStandForTheKindsOwn adds a series to a built-in kind that shows the same of one model.
func TestAddedSeriesStandForTheKindsOwn(t *testing.T) {
	kinds, err := engine.Declare([]engine.Declaration{acme(func(d *engine.Declaration) {
		d.Name, d.Extends, d.Series = "", "vllm", d.Series[:1]
	})})
	require.NoError(t, err)
	vllm, _ := kinds.Named("vllm")
	page := pageOfKind(t, vllm, `vllm:num_requests_running{model_name="a"} 1`+"\n"+
		`vllm:num_requests_running{model_name="b"} 2`+"\n"+`acme_running{model_name="a"} 3`+"\n")
	var read []string
	for _, s := range page.Sources() {
		if s.Meaning.Signal == engine.RequestsRunning {
			read = append(read, s.Meaning.Name+" of "+s.Model)
		}
	}
	require.ElementsMatch(t, []string{"acme_running of a", "vllm:num_requests_running of b"}, read)
	builtIn, _ := engine.ByName("vllm")
	require.NotContains(t, builtIn.ModelLabels(), "deployment")
	require.False(t, pageOfKind(t, builtIn, "acme_running 1\n").Has(engine.RequestsRunning), "vLLM itself is as before")
}

// TestTwoGenerationsOfAKindShareNothing reads one page by two declarations of a kind of one name.
func TestTwoGenerationsOfAKindShareNothing(t *testing.T) {
	const body = "acme_running 1\n"
	has := func(signal engine.Signal) bool {
		kinds, err := engine.Declare([]engine.Declaration{
			acme(func(d *engine.Declaration) { d.Series[0].Signal = signal.String() }),
		})
		require.NoError(t, err)
		kind, _ := kinds.Named("acme")
		return pageOfKind(t, kind, body).Has(engine.RequestsRunning)
	}
	require.True(t, has(engine.RequestsRunning), "a page of running requests")
	require.False(t, has(engine.RequestsWaiting), "the same page of waiting ones")
	require.True(t, has(engine.RequestsRunning), "the first file again")
}

// TestDeclarationsLeaveOtherPagesAlone declares kinds at random, with marks that begin as names on pages of
// built-in kinds do. Whatever is not refused changes nothing for servers of those kinds.
func TestDeclarationsLeaveOtherPagesAlone(t *testing.T) {
	pages := map[string]engine.Detection{}
	var names []string
	for _, kind := range []simulate.Kind{
		simulate.KindTriton, simulate.KindTritonVLLM, simulate.KindServe, simulate.KindServeOld, simulate.KindNIM,
		simulate.KindDynamo, simulate.KindVLLM, simulate.KindSGLang,
	} {
		page := replica(t, simulate.Spec{Kind: kind}, time.Minute).Page()
		pages[string(page)] = engine.FromPage(page)
		for line := range bytes.Lines(page) {
			names = append(names, string(line[:bytes.IndexAny(line, "{ ")]))
		}
	}
	random := rand.New(rand.NewPCG(47, 5))
	accepted := 0
	for range 500 {
		d := acme(func(d *engine.Declaration) {
			mark := names[random.IntN(len(names))]
			d.Marks = []string{mark[:1+random.IntN(len(mark))]}
			if random.IntN(3) == 0 {
				d.Marks = []string{"my_" + mark}
			}
			d.Series[0].Signal = engine.DeclarableSignals()[random.IntN(len(engine.DeclarableSignals()))].String()
			d.Series[0].Class = ""
		})
		kinds, err := engine.Declare([]engine.Declaration{d})
		if err != nil {
			continue
		}
		accepted++
		for page, want := range pages {
			require.Equal(t, want, kinds.FromPage([]byte(page)), "marks %q", d.Marks)
		}
		for _, builtIn := range engine.All() {
			found, _ := kinds.Named(string(builtIn.Name))
			require.Same(t, builtIn, found)
		}
	}
	require.Greater(t, accepted, 20)
	require.Less(t, accepted, 400)
}

// TestEverySignalCanBeDeclared reads pages of kinds that declare any one signal.
func TestEverySignalCanBeDeclared(t *testing.T) {
	for _, signal := range engine.DeclarableSignals() {
		kinds, err := engine.Declare([]engine.Declaration{acme(func(d *engine.Declaration) {
			d.Series = []engine.DeclaredSeries{{Name: "x", Signal: signal.String()}}
			if signal == engine.RequestsFailed {
				d.Series[0].Class = engine.ClassServer
			}
		})})
		require.NoError(t, err, signal)
		kind, _ := kinds.Named("acme")
		page := pageOfKind(t, kind, strings.Join([]string{
			`acme_x{model="m"} 1`, `acme_x_bucket{model="m",le="1"} 1`, `acme_x_bucket{model="m",le="+Inf"} 1`,
			`acme_x_sum{model="m"} 1`, `acme_x_count{model="m"} 1`, "",
		}, "\n"))
		require.True(t, page.Has(signal), signal)
		require.NotEmpty(t, engine.Capabilities(kind, &engine.Knowledge{Page: page}))
	}
}

// BenchmarkDeclareManySeries declares as many series as no server has.
func BenchmarkDeclareManySeries(b *testing.B) {
	d := acme(func(d *engine.Declaration) {
		for i := range 20_000 {
			name := fmt.Sprintf("tokens_%d_total", i)
			d.Series = append(d.Series, engine.DeclaredSeries{Name: name, Signal: engine.GenerationTokens.String()})
		}
	})
	for b.Loop() {
		_, err := engine.Declare([]engine.Declaration{d})
		require.NoError(b, err)
	}
}

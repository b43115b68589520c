package engine

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKindsAreRight(t *testing.T) { require.NoError(t, Check()) }

// TestMistakesInKindsAreRefused has a mistake in each constant of a kind.
func TestMistakesInKindsAreRefused(t *testing.T) {
	right := func() *Kind {
		return &Kind{
			Name:     "tgi",
			Path:     "/metrics",
			marks:    []mark{{text: "tgi:", weight: 1}},
			engines:  []Name{VLLM},
			meanings: []Meaning{{Name: "tgi:num_requests_running", Signal: RequestsRunning}},
		}
	}
	for _, c := range []struct {
		name   string
		change func(k *Kind)
		want   string
	}{
		{"nothing", func(*Kind) {}, ""},
		{
			"no name",
			func(k *Kind) { k.Name = "" },
			"kind without a name: it needs one, the value of label engine",
		},
		{
			"the name of another kind",
			func(k *Kind) { k.Name = VLLM },
			"kind vllm: another kind has that name, or it is reserved",
		},
		{
			"the name of what was not recognized",
			func(k *Kind) { k.Name = Unknown },
			"kind unknown: another kind has that name, or it is reserved",
		},
		{
			"the name by which users ask for detection",
			func(k *Kind) { k.Name = "auto" },
			"kind auto: another kind has that name, or it is reserved",
		},
		{
			"a path without a slash",
			func(k *Kind) { k.Path = "metrics" },
			`kind tgi: its page has the path "metrics", which does not begin with /`,
		},
		{
			"no marks",
			func(k *Kind) { k.marks = nil },
			"kind tgi: it has no marks, and so no page is recognised as its own",
		},
		{
			"the page of another kind instead",
			func(k *Kind) { k.marks, k.pagesOf = nil, []Name{VLLM} },
			"",
		},
		{
			"the page of a misspelled kind",
			func(k *Kind) { k.pagesOf = []Name{"vlm"} },
			"kind tgi: it has the page of vlm, which is no kind",
		},
		{
			"a misspelled engine inside",
			func(k *Kind) { k.engines = []Name{"vlm"} },
			"kind tgi: it may have vlm inside, which is no kind",
		},
		{
			"a mistake in a series",
			func(k *Kind) { k.meanings[0].Signal = AnswersHealth },
			"kind tgi: series tgi:num_requests_running as answers_health: it has a signal",
		},
	} {
		k := right()
		c.change(k)
		err := check(append(All(), k))
		if c.want == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.ErrorContains(t, err, c.want, c.name)
	}
}

// TestEveryKindIsListed finds a kind that has a name in its file and is missing in All.
func TestEveryKindIsListed(t *testing.T) {
	listed := []string{string(Unknown)}
	for _, k := range All() {
		listed = append(listed, string(k.Name))
	}
	require.ElementsMatch(t, namesInFiles(t), listed, "names of kinds in this package, and what All of kind.go lists")
}

// namesInFiles returns the constants of type Name that the files of the package declare.
func namesInFiles(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			typ, isName := spec.Type.(*ast.Ident)
			value, isText := spec.Values[0].(*ast.BasicLit)
			if isName && typ.Name == "Name" && isText {
				text, err := strconv.Unquote(value.Value)
				require.NoError(t, err)
				names = append(names, text)
			}
			return true
		})
	}
	return names
}

// TestMistakesInSeriesAreRefused has a mistake in each part of a meaning. A mistake that nobody refuses
// selects all series or none.
func TestMistakesInSeriesAreRefused(t *testing.T) {
	right := func() Meaning {
		return Meaning{
			Name:    "requests_total",
			Where:   only("status", "200"),
			Signal:  RequestsFinished,
			Dims:    renamed("finished", "finish_reason"),
			Const:   labeled("stage", "decode"),
			Outcome: finished(),
		}
	}
	for _, c := range []struct {
		name   string
		change func(m *Meaning)
		want   string
	}{
		{"nothing", func(*Meaning) {}, ""},
		{
			"no signal",
			func(m *Meaning) { m.Signal = NoSignal },
			"it has a signal that signal.go does not list among those of pages",
		},
		{"a signal of the API", func(m *Meaning) { m.Signal = AnswersHealth }, "it has a signal that signal.go does not list among those of pages"},
		{"no name", func(m *Meaning) { m.Name = "" }, "it has a name that no series can have"},
		{
			"a name with a matcher",
			func(m *Meaning) { m.Name = `requests{status="200"}` },
			"it has a name that no series can have",
		},
		{
			"an operator in a label",
			func(m *Meaning) { m.Where = only("status!", "404") },
			`it selects by "status!", which no label is called`,
		},
		{
			"a matcher as a label",
			func(m *Meaning) { m.Where = except("status=404", "") },
			`it selects by "status=404", which no label is called`,
		},
		{
			"an empty prefix",
			func(m *Meaning) { m.Where = begins("status", "") },
			"it selects status by an empty prefix, which every value has",
		},
		{
			"values that exclude each other",
			func(m *Meaning) { m.Where = append(m.Where, only("status", "500")...) },
			"it selects values of status that exclude each other, and no series has both",
		},
		{
			"a value that is left out",
			func(m *Meaning) { m.Where = append(except("status", "200"), m.Where...) },
			"it selects values of status that exclude each other, and no series has both",
		},
		{
			"a value without the prefix",
			func(m *Meaning) { m.Where = append(m.Where, begins("status", "5")...) },
			"it selects values of status that exclude each other, and no series has both",
		},
		{
			"a label that is there and is not",
			func(m *Meaning) { m.Where = append(m.Where, absent("status")...) },
			"it selects values of status that exclude each other, and no series has both",
		},
		{"a value with the prefix", func(m *Meaning) { m.Where = append(m.Where, begins("status", "2")...) }, ""},
		{"several values that are left out", func(m *Meaning) { m.Where = except("status", "404", "429") }, ""},
		{"a label that must be there", func(m *Meaning) { m.Where = present("status") }, ""},
		{"one that must not", func(m *Meaning) { m.Where = absent("priority") }, ""},
		{
			"a name that replaces itself",
			func(m *Meaning) { m.Unless = replacedBy("requests_total") },
			"it is replaced by itself",
		},
		{
			"a misspelled replacement",
			func(m *Meaning) { m.Unless = replacedBy("request_total") },
			"it is replaced by request_total, which the kind does not list",
		},
		{"an empty replacement", func(m *Meaning) { m.Unless = replacedForAny("") }, "it is replaced by an empty name"},
		{"an empty version", func(m *Meaning) { m.Unless = inVersions("") }, "it is replaced by an empty name"},
		{"a version that counts wrongly", func(m *Meaning) { m.Unless = inVersions("2.38.") }, ""},
		{"a rank by value", func(m *Meaning) { m.Rank = "rank=0" }, `it reads "rank=0", which no label is called`},
		{
			"copies by value",
			func(m *Meaning) { m.Copies = []string{"rank=0"} },
			`it reads "rank=0", which no label is called`,
		},
		{
			"both names of a label in one",
			func(m *Meaning) { m.Dims = kept("finished=finish_reason") },
			`it sets "finished=finish_reason", which no label is called`,
		},
		{
			"their name with both",
			func(m *Meaning) { m.Dims = renamed("a=b", "c") },
			`it keeps "a=b", which no label is called`,
		},
		{
			"a label of the identity",
			func(m *Meaning) { m.Dims = renamed("pool", "pool_id") },
			"it sets pool_id, which says whose series it is",
		},
		{
			"the label of the class",
			func(m *Meaning) { m.Dims, m.Outcome = renamed("kind", "class"), &Outcome{Usual: ClassOK} },
			"it sets class, which its outcome sets",
		},
		{
			"the bound of a bucket",
			func(m *Meaning) { m.Where = only("le", "0.5") },
			`it selects by "le", which no label is called`,
		},
		{
			"two labels of one name",
			func(m *Meaning) { m.Const, m.Outcome = labeled("finish_reason", "all"), nil },
			"it sets finish_reason twice",
		},
		{
			"an added label without a value",
			func(m *Meaning) { m.Const = labeled("stage", "") },
			"it sets stage to nothing",
		},
		{
			"an added label without a name",
			func(m *Meaning) { m.Const = labeled("", "decode") },
			`it sets "", which no label is called`,
		},
		{"a shift the wrong way", func(m *Meaning) { m.Shift = -3 }, "it shifts by -3 places"},
		{
			"a counter of which the largest counts",
			func(m *Meaning) { m.Combine = Max },
			"it grows, so that several add up, and combines them otherwise",
		},
		{
			"a counter whose 0 is unknown",
			func(m *Meaning) { m.NotZero = true },
			"it is a counter, and takes 0 for unknown",
		},
		{"an outcome of what does not count", func(m *Meaning) {
			m.Signal, m.Outcome = RequestsRunning, &Outcome{Usual: ClassOK}
		}, "it has an outcome, and does not count"},
		{
			"ended requests without an outcome",
			func(m *Meaning) { m.Outcome = nil },
			"it counts requests that ended, and has no Outcome, which classifies them",
		},
	} {
		m := right()
		c.change(&m)
		got := problemsOf([]Meaning{m})
		if c.want == "" {
			require.Empty(t, got, c.name)
			continue
		}
		require.Contains(t, got, "series "+m.Name+" ", c.name)
		require.Contains(t, got, c.want, c.name)
	}
	require.Contains(t, problemsOf([]Meaning{right(), right()}), "series requests_total [status=200] as "+
		"requests_finished_total: it is listed twice")
}

func problemsOf(all []Meaning) string {
	err := errors.Join(checkMeanings(all)...)
	if err == nil {
		return ""
	}
	return strings.TrimSpace(err.Error())
}

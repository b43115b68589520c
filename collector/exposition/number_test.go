package exposition

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

func TestNumbersThatNeedNoSlowPath(t *testing.T) {
	for _, c := range []struct {
		text string
		end  int
	}{
		{"0", 1},
		{"007\n", 3},
		{"1.5\n", 3},
		{".5", 2},
		{"5.", 2},
		{"-1", 2},
		{"+1", 2},
		{"1e3", 3},
		{"1E+3", 4},
		{"1.15891634176e+011\n", 18},
		{"1e-400\n", 6},
		{"Nan", 3},
		{"NaN\n", 3},
		{"Inf", 3},
		{"+Inf", 4},
		{"-Inf 7", 4},
		{strings.Repeat("1", 300), 300},
		{strings.Repeat("1", 305), 305},
		{strings.Repeat("0", 400), 400},
		{strings.Repeat("9", 400), -1},
		{"", -1},
		{"-", -1},
		{"+", -1},
		{".", -1},
		{"-.", -1},
		{"e5", -1},
		{"1e", -1},
		{"1e+", -1},
		{"1e400", -1},
		{"-Nan", -1},
		{"nan", 3},
		{"inf", 3},
		{"In", -1},
		{"+", -1},
		{"\n", -1},
		{"--1", -1},
		{"0x1", -1},
		{"1_000", -1},
	} {
		t.Run(strings.TrimSpace(c.text[:min(len(c.text), 20)]), func(t *testing.T) {
			end, _ := scan([]byte(c.text), 0)
			require.Equal(t, c.end, end)
			end, _ = scan([]byte("a "+c.text), 2)
			require.Equal(t, c.end, max(-1, end-2), "at another place")
		})
	}
}

func TestWordsOfTheFormat(t *testing.T) {
	for text, want := range map[string]string{
		"Nan": "NaN", "nan": "NaN", "NaN": "NaN", "Inf": "+Inf", "inf": "+Inf", "+inf": "+Inf",
		"-INF": "-Inf", "infinity": "+Inf", "-Infinity": "-Inf", "1": "", "-1": "", "+.5": "", "-": "",
	} {
		require.Equal(t, want, canonical([]byte(text)), text)
	}
}

func TestTextsOfValuesAreReadAsTheStandardLibraryReadsThem(t *testing.T) {
	for _, text := range []string{"0", "42", "007", "999999999999999", "-1", "1.5", "1000000000000000", "Nan", "+Inf", "1e3"} {
		v, ok := number([]byte(text))
		require.True(t, ok, text)
		want, _ := strconv.ParseFloat(text, 64)
		require.Equal(t, math.Float64bits(want), math.Float64bits(v), text)
	}
	_, ok := number(nil)
	require.False(t, ok, "an absent value is none")
}

func TestValuesAreWrittenShort(t *testing.T) {
	for want, v := range map[string]float64{
		"0": math.Copysign(0, -1), "1": 1, "-17": -17, "999999999999999": 999999999999999, "1e+15": 1e15,
		"0.1": 0.1, "NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1), "5e-324": 5e-324, "1234567.5": 1234567.5, "7e-06": 7e-6, "0.00012": 12e-5,
	} {
		require.Equal(t, want, string(AppendFloat(nil, v)))
	}
	for want, v := range map[string]float64{"0.3": 0.1 + 0.2, "0.333333333333": 1.0 / 3, "123456.789012": 123456.7890123, "1753462474.140189": 1753462474.140189, "7": 7, "NaN": math.NaN()} {
		require.Equal(t, want, string(appendShort(nil, v)))
	}
}

func TestSeriesAreSplitAsTheyWereWritten(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       labels.Labels
		drop       string
	}{
		{"a bare name", "up", labels.FromStrings("__name__", "up"), ""},
		{"blanks around", "\t up ", labels.FromStrings("__name__", "up"), ""},
		{"no labels in braces", "up{}", labels.FromStrings("__name__", "up"), ""},
		{"labels are sorted", `up{b="1",a="2"}`, labels.FromStrings("__name__", "up", "a", "2", "b", "1"), ""},
		{"bounds keep their spelling", `x_bucket{le="100"}`, labels.FromStrings("__name__", "x_bucket", "le", "100"), ""},
		{"braces, commas and equals signs in values", `up{a="},{=",b="\\"}`, labels.FromStrings("__name__", "up", "a", "},{=", "b", `\`), ""},
		{"escapes", `up{a="\"\\\n\t"}`, labels.FromStrings("__name__", "up", "a", "\"\\\n\\t"), ""},
		{"a quoted name", `{"a.b",c="1"}`, labels.FromStrings("__name__", "a.b", "c", "1"), ""},
		{"a quoted name at the end", `{c="1","a.b"}`, labels.FromStrings("__name__", "a.b", "c", "1"), ""},
		{"a quoted name with a brace", `{"a{b"}`, labels.FromStrings("__name__", "a{b"), ""},
		{"a quoted label", `up{"a b"="1"}`, labels.FromStrings("__name__", "up", "a b", "1"), ""},
		{"empty values are left out", `up{a="",b="1"}`, labels.FromStrings("__name__", "up", "b", "1"), ""},
		{"blanks between", ` up { a = "1" , b = "2" , } `, labels.FromStrings("__name__", "up", "a", "1", "b", "2"), ""},
		{"a label twice", `up{a="1",a="1"}`, labels.Labels{}, DropInvalidLabels},
		{"a label of nothing", `up{""="1"}`, labels.Labels{}, DropInvalidLabels},
		{"a reserved label", `up{__name__="1"}`, labels.Labels{}, DropReservedLabel},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s seriesSplitter
			for range 2 {
				got, drop := s.labels([]byte(c.text))
				require.Equal(t, c.drop, drop)
				if drop == "" {
					require.Equal(t, c.want, got)
					prefix := appendPrefix(nil, got)
					again, drop := s.labels(prefix[:len(prefix)-1])
					require.Empty(t, drop)
					require.Equal(t, c.want, again, "read back from its own line")
				}
			}
		})
	}
}

package simulate

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNumbersAreWrittenAsEachLibraryDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v                        float64
		cpp, python, nim, dynamo string
	}{
		{0, "0", "0.0", "0.0", "0"},
		{math.Copysign(0, -1), "-0", "-0.0", "-0.0", "-0"},
		{100, "100", "100.0", "100.0", "100"},
		{0.4875, "0.4875", "0.4875", "0.4875", "0.4875"},
		{0.005050505050505051, "0.005050505050505051", "0.005050505050505051", "0.005050505050505051", "0.005050505050505051"},
		{1753462474140189, "1753462474140189", "1.753462474140189e+15", "1.753462474140189e+015", "1753462474140189"},
		{9999999999999998, "9999999999999998", "9.999999999999998e+15", "9.999999999999998e+015", "9999999999999998"},
		{1e16, "1e+16", "1e+16", "1e+016", "10000000000000000"},
		{1e-5, "1e-05", "1e-05", "1e-05", "0.00001"},
		{0.00012, "0.00012", "0.00012", "0.00012", "0.00012"},
		{123456789.12345678, "123456789.1234568", "1.2345678912345678e+08", "1.2345678912345678e+008", "123456789.12345678"},
		{115891634176, "115891634176", "1.15891634176e+11", "1.15891634176e+011", "115891634176"},
		{999999, "999999", "999999.0", "999999.0", "999999"},
		{1000000, "1000000", "1e+06", "1e+006", "1000000"},
		{math.NaN(), "Nan", "NaN", "NaN", "NaN"},
		{math.Inf(1), "+Inf", "+Inf", "+Inf", "+Inf"},
		{math.Inf(-1), "-Inf", "-Inf", "-Inf", "-Inf"},
	} {
		require.Equal(t, c.cpp, string(appendCpp(nil, c.v)))
		require.Equal(t, c.python, string(appendPython(nil, c.v)))
		require.Equal(t, c.nim, string(appendPythonOld(nil, c.v)))
		require.Equal(t, c.dynamo, string(appendRust(nil, c.v)))
	}
}

func TestLabelsAreEscapedAndOrdered(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a="x\\y\"z\n"`, pairs("a", "x\\y\"z\n"))
	for labels, want := range map[string][2]string{
		`engine_type="a",model_name="b"`: {`engine_type="a",`, `,model_name="b"`},
		`model_name="b"`:                 {``, `,model_name="b"`},
		`a="1",b="2"`:                    {`a="1",b="2",`, ``},
	} {
		before, after := around("le", labels)
		require.Equal(t, want, [2]string{before, after})
	}
	require.Equal(t, `a="1",b="x\"y",c="3"`, with(`a="1",c="3"`, "b", `x"y`))
	cpp := &page{dialect: cppDialect()}
	cpp.histogram("h", "", `model="m",version="1"`, newHistogram(1))
	require.Contains(t, string(cpp.bytes()), "\nh_bucket{model=\"m\",version=\"1\",le=\"1\"} 0\n", "there le is the last")
}

func TestSummaryForgetsAfterAMinute(t *testing.T) {
	t.Parallel()
	s := &summary{}
	for i := range 100 {
		s.observe(0, 1, float64(i))
	}
	require.Equal(t, []float64{50, 90, 95, 99, 99}, s.quantiles(47*time.Second))
	for _, q := range s.quantiles(60 * time.Second) {
		require.True(t, math.IsNaN(q))
	}
	require.Equal(t, uint64(100), s.n, "count and sum stay")
	require.Equal(t, 4950.0, s.sum)
}

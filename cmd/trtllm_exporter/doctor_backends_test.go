package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestDoctorOfEveryBackendOfTriton compares the report about each backend that serves LLMs in
// Triton, through port 8002 and the OpenAI frontend, with a file.
func TestDoctorOfEveryBackendOfTriton(t *testing.T) {
	var table strings.Builder
	for _, row := range []struct {
		backend  string
		own      simulate.Kind
		frontend simulate.Kind
	}{
		{"TensorRT-LLM, C++", simulate.KindTriton, simulate.KindTritonOpenAI},
		{"vLLM", simulate.KindTritonVLLM, simulate.KindTritonOpenAIVLLM},
		{"LLM-API", simulate.KindTritonLLMAPI, simulate.KindTritonOpenAILLMAPI},
		{"LLM-API with the metrics module", simulate.KindTritonLLMAPIModule, simulate.KindTritonOpenAILLMAPIModule},
	} {
		for _, place := range []struct {
			name string
			kind simulate.Kind
		}{{"port 8002", row.own}, {"OpenAI frontend", row.frontend}} {
			r := ailing(t, simulate.Spec{Kind: place.kind, Seed: 7, Streaming: true})
			args := []string{"http://" + r.MetricsAddr()}
			if place.kind == row.own {
				args = append(args, apiPort(t, r))
			}
			code, text, errors := examined(t, args...)
			require.Equal(t, exitFailure, code, errors)
			fmt.Fprintf(&table, "=== %s, %s\n%s%s\n", row.backend, place.name, settled(text), "\n"+errors)
		}
	}
	fixture.RequireFile(t, "testdata/backends.txt", table.String())
}

// settled removes addresses and everything below the tables, which differ between runs.
func settled(report string) string {
	report, _, _ = strings.Cut(report, "\nNext:")
	for _, differs := range []struct{ pattern, as string }{
		{`127\.0\.0\.1:\d+`, "ADDRESS"},
		{`(?m)^(\S+ +(?:entry|part|single) .*?) +\d+ +(\S+)$`, "$1 N $2"},
	} {
		report = regexp.MustCompile(differs.pattern).ReplaceAllString(report, differs.as)
	}
	return report
}

package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// nobody answers no request, so that detection depends on the page alone.
type nobody struct{}

func (nobody) Do(context.Context, string, string, []byte, int64) (int, http.Header, []byte, error) {
	return 0, nil, nil, errors.New("nobody answers")
}

// TestReleasesShowSameResults plays the same requests on the pages of all releases and modes of
// vLLM and SGLang: the derived values are the same, except those without a name in a release.
func TestReleasesShowSameResults(t *testing.T) {
	families := []string{
		"requests_per_second",
		"requests_running", "queue_depth", "engine_iterations_per_second", "generation_tokens_per_second",
		"generation_tokens_live_per_second",
		"prompt_tokens_per_second", "prompt_cache_hit_ratio", "kv_cache_utilization_ratio",
		"kv_cache_capacity_tokens", "time_to_first_token_average_seconds", "inter_token_latency_average_seconds",
		"time_per_output_token_average_seconds",
		"request_duration_average_seconds", "request_queue_average_seconds", "spec_decode_acceptance_ratio",
	}
	// Two ranks have more than one, or half of it.
	ofRank := []string{"kv_cache_utilization_ratio", "kv_cache_capacity_tokens"}
	healthy := matrix.Scenarios()[0]
	require.Equal(t, "healthy", healthy.Name)
	rows := [][]string{append([]string{"release", "kind by its page", "state"}, families...)}
	same := make(map[string]map[string]string)
	for _, server := range matrix.Releases() {
		seen, err := matrix.Play(&server, &healthy)
		require.NoError(t, err)
		last := &seen[len(seen)-1]
		page, err := server.Pages()
		require.NoError(t, err)
		text := page(&healthy.Pages[len(healthy.Pages)-1].Book)
		kind := engine.BuiltIn().Recognize(t.Context(), nobody{}, "http://a:1", []byte(text)).Kind
		row := []string{server.Name, string(kind), string(last.State)}
		if same[string(kind)] == nil {
			same[string(kind)] = make(map[string]string)
		}
		for _, family := range families {
			v, ok := last.Value(family)
			got := "-"
			if ok {
				got = fmt.Sprintf("%.4g", v)
			}
			row = append(row, got)
			if !ok || strings.Contains(server.Name, "two ranks") && slices.Contains(ofRank, family) {
				continue
			}
			if before, there := same[string(kind)][family]; there {
				require.Equal(t, before, got, "%s of %s is that of every other release", family, server.Name)
			}
			same[string(kind)][family] = got
		}
		rows = append(rows, row)
	}
	fixture.RequireFile(t, "testdata/releases.txt", "The same requests on pages of vLLM and SGLang, by release and "+
		"mode: what is derived, \"-\" for what is absent.\n\n"+columnsOf(transposed(rows)))
}

// transposed swaps rows and columns, one kind of page below the other.
func transposed(rows [][]string) [][][]string {
	var tables [][][]string
	for _, kind := range []string{"vllm", "sglang"} {
		var table [][]string
		for n := range rows[0] {
			line := []string{rows[0][n]}
			for _, row := range rows[1:] {
				if row[1] == kind {
					line = append(line, row[n])
				}
			}
			table = append(table, line)
		}
		tables = append(tables, table)
	}
	return tables
}

// columnsOf writes tables.
func columnsOf(tables [][][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, table := range tables {
		for _, line := range table {
			fmt.Fprintln(w, strings.Join(line, "\t"))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	return b.String()
}

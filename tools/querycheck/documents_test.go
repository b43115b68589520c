package querycheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/querycheck"
)

// TestDocumentedQueriesUseServedMetrics reads the queries in tables of docs/metrics.md, every block
// of PromQL in the documents, and code that calls a function of PromQL.
func TestDocumentedQueriesUseServedMetrics(t *testing.T) {
	t.Parallel()
	v := withRules(t)
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	seen := map[string]int{}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, query := range queriesOf(string(text)) {
			_, problems := querycheck.Check(v, query)
			require.Empty(t, problems, "%s: %s", file, query)
			seen[filepath.Base(file)]++
		}
	}
	require.Greater(t, seen["metrics.md"], 20, "those of families that PromQL can compute too")
	require.Positive(t, seen["slos.md"])
}

// queriesOf returns the queries in a document.
func queriesOf(text string) (all []string) {
	for _, m := range regexp.MustCompile("(?s)\n```promql\n(.*?)\n```").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `llm_server_\\w+` \\| `([^`]+)` \\|$").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	call := regexp.MustCompile("`((?:sum|max|min|avg|count|rate|increase|histogram_quantile|topk|absent)(?: by)? " +
		"?\\([^`]*\\)[^`]*)`")
	for _, m := range call.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "llm_server_") && !strings.Contains(m[1], "...") {
			all = append(all, m[1])
		}
	}
	return all
}

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFilesOfKindsOnPages says what one line of a file matches on a page, and what may be wrong with it.
func TestFilesOfKindsOnPages(t *testing.T) {
	for _, c := range []struct{ name, series, page, want string }{
		{
			"a histogram in milliseconds", "{ name: first_ms, signal: time_to_first_token_seconds }",
			"acme_first_ms_bucket{le=\"+Inf\"} 1\nacme_first_ms_sum 80\nacme_first_ms_count 1\n",
			"3 lines on the page, of no model; its name ends in another unit: factor: 0.001?",
		},
		{
			"the same with its factor", "{ name: first_ms, signal: time_to_first_token_seconds, factor: 0.001 }",
			"acme_first_ms_bucket{le=\"+Inf\"} 1\nacme_first_ms_sum 80\nacme_first_ms_count 1\n",
			"3 lines on the page, of no model",
		},
		{
			"percent", "{ name: kv, signal: kv_cache_utilization_ratio }", "acme_kv{model=\"m\"} 45\n",
			"1 line on the page, of m; but it is 45, and a share is at most 1: factor: 0.01 if these are percent",
		},
		{
			"an end that is missing", "{ name: tokens, signal: prompt_tokens_total }", "acme_tokens_total 1\n",
			"nothing on the page; did you mean acme_tokens_total?",
		},
		{
			"values of a label that the file does not say",
			"{ name: ended, signal: requests_finished_total, labels: { finish_reason: why }, classes: { error: server } }",
			"acme_ended{why=\"stop\"} 5\nacme_ended{why=\"Error\"} 5\nacme_ended{why=\"crashed\"} 1\n",
			"3 lines on the page, of no model; class ok: crashed, stop, class server: Error",
		},
		{
			"reasons that nobody knows",
			"{ name: ended, signal: requests_finished_total, labels: { finish_reason: why } }",
			"acme_ended{why=\"stop\"} 5\nacme_ended{why=\"crashed\"} 1\n",
			"2 lines on the page, of no model; class ok: stop, class unknown: crashed",
		},
		{
			"parts and their sum", "{ name: waits, signal: requests_waiting }",
			"acme_waits{stage=\"a\"} 5\nacme_waits{stage=\"total\"} 5\n",
			"2 lines on the page, of no model; added up over stage",
		},
		{
			"a choice that nothing meets",
			"{ name: waits, signal: requests_waiting, where: [ { label: stage, is: Total } ] }",
			"acme_waits{stage=\"a\"} 5\nacme_waits{stage=\"total\"} 5\n",
			"nothing on the page, where stage is a, total",
		},
		{
			"a choice by a label that is not there",
			"{ name: waits, signal: requests_waiting, where: [ { label: kind, is: a } ] }", "acme_waits{stage=\"a\"} 5\n",
			"nothing on the page, where it has no label kind",
		},
		{
			"a name that the page must have", "{ name: waits, signal: requests_waiting, with: [ newer ] }", "acme_waits 5\n",
			"nothing on the page means this, as it lacks acme_newer",
		},
		{
			"another type", "{ name: waits, signal: requests_waiting }", "# TYPE acme_waits counter\nacme_waits 5\n",
			"1 line on the page, of no model; but the page declares a counter",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			kinds := "kinds: [ { name: acme, prefix: acme_, series: [ " + c.series + " ] } ]\n"
			require.NoError(t, os.WriteFile("kinds.yml", []byte(kinds), 0o600))
			require.NoError(t, os.WriteFile("page.txt", []byte(c.page), 0o600))
			var out, problems bytes.Buffer
			require.Equal(t, exitOK, run([]string{"check-config", "kinds.yml", "--page", "page.txt"}, &out, &problems),
				problems.String())
			line := strings.Split(out.String(), "\n")[3]
			require.True(t, strings.HasSuffix(line, "  "+c.want), "want %s\ngot %s", c.want, line)
		})
	}
}

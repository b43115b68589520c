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
			"2 lines on the page, of no model; class ok: stop, class unknown: crashed; say in classes which it is",
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
			"the second condition that no series meets",
			"{ name: waits, signal: requests_waiting, where: [ { label: stage, is: a }, { label: kind, is: x } ] }",
			"acme_waits{stage=\"a\",kind=\"y\"} 5\nacme_waits{stage=\"b\",kind=\"x\"} 5\n",
			"nothing on the page, where of acme_waits{stage=\"a\"} kind is y",
		},
		{
			"a name that the page must have", "{ name: waits, signal: requests_waiting, with: [ newer ] }", "acme_waits 5\n",
			"nothing on the page means this, as it lacks acme_newer",
		},
		{
			"a rate for what is counted", "{ name: tokens_per_s, signal: generation_tokens_total }", "acme_tokens_per_s 5\n",
			"1 line on the page, of no model; its name ends like that of a rate: a signal that counts needs a counter",
		},
		{
			"releases of a server that does not tell its version", "{ name: waits, signal: requests_waiting, from: 0.6 }",
			"acme_waits 5\n", "1 line on the page, of no model; no value while the version is unknown: set paths.version, " +
				"or engine_version in the pool",
		},
		{
			"another type", "{ name: waits, signal: requests_waiting }", "# TYPE acme_waits counter\nacme_waits 5\n",
			"1 line on the page, of no model; but the page declares a counter",
		},
		{
			"a summary", "{ name: first_s, signal: time_to_first_token_seconds }",
			"# TYPE acme_first_s summary\nacme_first_s_sum 2\nacme_first_s_count 4\n",
			"2 lines on the page, of no model; the page declares a summary, of which only means are read",
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

// TestReleasesNeedAVersion says in the check of a configuration, or of a file of kinds, that releases decide about a
// series of servers whose version nothing tells.
func TestReleasesNeedAVersion(t *testing.T) {
	const acme, triton = "acme_waits of the kinds_file means requests_waiting in releases from 0.6, and has no value " +
		"while the version is unknown: set paths.version, or engine_version in the pool",
		"no value while the version is unknown, which a triton-openai does not tell: set engine_version in the pool"
	for _, c := range []struct{ name, kind, pool, want string }{
		{"a kind of its own", "name: acme", "engine: acme", acme},
		{"a kind that tells its version", "name: acme, paths: { version: /version }", "engine: acme", ""},
		{"a pool that says it", "name: acme", "engine: acme, engine_version: 0.7.0", ""},
		{"a built-in kind that does not tell its version", "extends: triton-openai", "engine: triton-openai", triton},
		{"a built-in kind that does", "extends: triton", "engine: triton", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			kinds := "kinds: [ { " + c.kind + ", prefix: acme_, series: [ " +
				"{ name: waits, signal: requests_waiting, from: 0.6 } ] } ]"
			file := "kinds_file: kinds.yml\npools: [ { pool_id: p, " + c.pool + ", static_configs: [ " +
				"{ targets: [ \"a:1\" ] } ] } ]"
			require.NoError(t, os.WriteFile("kinds.yml", []byte(kinds), 0o600))
			require.NoError(t, os.WriteFile("c.yml", []byte(file), 0o600))
			var out, problems bytes.Buffer
			require.Equal(t, exitOK, run([]string{"check-config", "c.yml"}, &out, &problems), problems.String())
			said := strings.Join(strings.Fields(out.String()), " ")
			require.Equal(t, c.want != "", strings.Contains(said, "warning:"), said)
			require.Contains(t, said, c.want)
		})
	}
}

// TestAFileWithoutSeriesDerivesNothing says so of a kind that may be valid all the same.
func TestAFileWithoutSeriesDerivesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("kinds.yml", []byte("kinds: [ { name: acme, prefix: acme_ } ]"), 0o600))
	var out, problems bytes.Buffer
	require.Equal(t, exitOK, run([]string{"check-config", "kinds.yml"}, &out, &problems), problems.String())
	require.Contains(t, out.String(), "no series is listed: its page is passed on, and nothing is derived from it")
}

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckConfigReportsErrorsAndWarnings(t *testing.T) {
	const good = `static_configs: [ { targets: ["a:8002"] } ]`
	for _, c := range []struct {
		name, pool, more string
		code             int
		want             string
	}{
		{
			"another kind of file",
			good + "\n    tls_config: { ca_file: garbage.pem }",
			"", exitFailure, `config.yml: line 4: pools[0].tls_config: `,
		},
		{
			"another kind of file, and a mistake in another pool",
			good + "\n    tls_config: { ca_file: garbage.pem }",
			"  - pool_id: qwen\n    engine: trition\n    " + good, exitFailure,
			"engine: \"trition\" is unknown",
		},
		{
			"a mistake, and another kind of file in another pool",
			good + "\n    engine: trition",
			"  - pool_id: qwen\n    tls_config: { ca_file: garbage.pem }\n    " + good, exitFailure,
			"pools[1].tls_config: unable to use specified CA cert",
		},
		{
			"another kind of file, and another mistake beside it",
			good + "\n    api_port: 70000\n    tls_config: { ca_file: garbage.pem }",
			"", exitFailure, "line 5: pools[0].tls_config: unable to use specified CA cert",
		},
		{
			"a double target and a rule",
			`static_configs: [ { targets: ["a:8002", "a:8002"] } ]`,
			"", exitFailure, "pools[0].static_configs[0].targets[1]: pool_id",
		},
		{
			"a variable", good + "\n    model_ids: { a: [\"${MODEL}\"] }", "", exitOK,
			"warning: config.yml: line 4: ${MODEL} is not expanded: environment variables are not supported",
		},
		{
			"a variable without braces", good + "\n    authorization: { credentials: $TOKEN }", "", exitOK,
			"warning: config.yml: line 4: $TOKEN is not expanded: environment variables are not supported",
		},
		{
			"quotes of a word processor", good + "\n    model_ids: { a: [ “ensemble” ] }", "", exitOK,
			"warning: config.yml: line 4: the typographic quotes are part of the value; write \" or ' around it",
		},
		{
			"rules that keep only the servers' own series",
			good + "\n    metric_relabel_configs: [ { source_labels: [__name__], regex: \"nv_.*\", action: keep } ]",
			"", exitOK,
			"warning: config.yml: pools[0].metric_relabel_configs drop llm_server_state, so that no alert and no dashboard " +
				"knows its replicas; let llm_server_.* and trtllm_exporter_.* pass",
		},
		{
			"a pattern without a file",
			`file_sd_configs: [ { files: ["nothing/*.yml"] } ]`,
			"", exitOK,
			"warning: config.yml: pools[0].file_sd_configs[0].files[0]: no file matches nothing/*.yml",
		},
		{
			"rules that give the targets of two hosts one name",
			`static_configs: [ { targets: ["a:8002", "b:8002"] } ]` +
				"\n    relabel_configs: [ { target_label: replica_id, replacement: r0 } ]",
			"", exitOK,
			"warning: config.yml: pools[0].static_configs[0].targets[1]: relabel_configs name it llama/r0, as http://a:8002; " +
				"let replica_id differ",
		},
		{
			"rules that drop every target",
			good + "\n    relabel_configs: [ { source_labels: [port], regex: \"8002\", action: keep } ]",
			"", exitOK,
			"warning: config.yml: pools[0].relabel_configs drop every target: relabel_configs[0] keeps targets whose port " +
				`matches 8002, and it is ""`,
		},
		{
			"a label that is almost the name of a replica",
			`static_configs: [ { targets: ["a:8002"], labels: { replica-id: r0, gpu: h100 } } ]`,
			"", exitOK,
			"warning: config.yml: pools[0].static_configs[0].labels: replica-id is a label like any other; did you mean replica_id?",
		},
		{
			"one address in two pools", good, "  - pool_id: qwen\n    " + good, exitOK,
			"warning: config.yml: pools[1].static_configs[0].targets[0]: a:8002 is also the address of " +
				"pools[0].static_configs[0].targets[0]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("garbage.pem", []byte("no certificate\n"), 0o600))
			require.NoError(t, os.WriteFile("config.yml", []byte(strings.Join([]string{
				"pools:", "  - pool_id: llama", "    " + c.pool, c.more, "",
			}, "\n")), 0o600))
			var out, problems bytes.Buffer

			require.Equal(t, c.code, run([]string{"check-config", "config.yml"}, &out, &problems), problems.String())

			require.Contains(t, out.String()+problems.String(), c.want)
		})
	}
}

func TestCheckConfigNeedsNoShardingIndex(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("config.yml", []byte(`sharding: { total: 3 }
pools: [ { pool_id: p, engine: trition, static_configs: [ { targets: ["a:8002"] } ] } ]
`), 0o600))
	var out, problems bytes.Buffer
	require.Equal(t, exitFailure, run([]string{"check-config", "config.yml"}, &out, &problems))
	require.Contains(t, problems.String(), "trition")
	require.NotContains(t, problems.String(), "sharding")
}

// TestCheckConfigSaysWhatGroupsCost has what a replica costs a Prometheus, and what lacks data without a group.
func TestCheckConfigSaysWhatGroupsCost(t *testing.T) {
	for _, c := range []struct{ name, exposition, want string }{
		{"all groups", "{}", `p: engine vllm, 1 static target, every 5s, timeout 4s, about 5\d\d series a replica`},
		{
			"the lean setting", "{ raw: false, normalised: [core] }",
			`exposition: groups core; without models, gpu, versions, windows, details \d+ recording rules and `,
		},
		{"no alert misses anything in the lean setting", "{ raw: false, normalised: [core] }", "panels lack data, and no alert does"},
		{"series of the lean setting", "{ raw: false, normalised: [core] }", `about 1\d\d series a replica`},
		{"a choice without what alerts need", "{ normalised: [gpu] }", "other alerts do, so they may never fire"},
		{"no groups", "{ normalised: false }", "rules, alerts and panels that read what is derived from pages lack data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("config.yml", []byte("exposition: "+c.exposition+`
pools: [ { pool_id: p, engine: vllm, static_configs: [ { targets: ["a:8002"] } ] } ]
`), 0o600))
			var out, problems bytes.Buffer

			require.Equal(t, exitOK, run([]string{"check-config", "config.yml"}, &out, &problems), problems.String())

			require.Regexp(t, c.want, strings.Join(strings.Fields(out.String()), " "))
		})
	}
}

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOneRunReportsTheMistakesOfAllPhases puts mistakes into one document that are
// found by reading, by comparing keys, by building what it asks for and by asking
// whether it is meant, each with others.
func TestOneRunReportsTheMistakesOfAllPhases(t *testing.T) {
	const (
		twice   = `static_configs: [ { targets: ["a:8002", "b:8002", "a:8002"] } ]`
		regex   = `relabel_configs: [ { source_labels: [zone], regex: "(", action: keep } ]`
		rule    = `relabel_configs: [ { source_labels: [zone], regex: "eu", action: keep } ]`
		noCA    = `tls_config: { ca_file: missing.pem }`
		garbage = `tls_config: { ca_file: garbage.pem }`
	)
	const (
		saysTwice   = `pools[0].static_configs[0].targets[2]: pool_id "llama" and replica_id "a:8002" are already used by pools[0].static_configs[0].targets[0]`
		saysSame    = `pools[0].static_configs[0].targets[2]: a:8002 has the labels of pools[0].static_configs[0].targets[0], and no rule can tell them apart; list it once`
		saysRegex   = `pools[0].relabel_configs[0].regex: error parsing regexp: missing closing )`
		saysMissing = `pools[0].tls_config.ca_file: stat missing.pem: no such file or directory`
		saysGarbage = `pool "llama": tls_config: `
	)
	for _, c := range []struct {
		name string
		// The lines of the only pool but for its name, and further ones of the document.
		pool, more []string
		want       []string
	}{
		{"a double target alone", []string{twice}, nil, []string{"line 3: " + saysTwice}},
		{"a double target and a rule", []string{twice, rule}, nil, []string{"line 3: " + saysSame}},
		{"a double target and a broken expression", []string{twice, regex}, nil, []string{"line 3: " + saysSame, "line 4: " + saysRegex}},
		{"a double target and a misspelt key", []string{twice, "engin: triton"}, nil, []string{"line 3: " + saysTwice, `line 4: unknown key "engin" in pools[0]; did you mean "engine"?`}},
		{"a double target and a file that is missing", []string{twice, noCA}, nil, []string{"line 3: " + saysTwice, "line 4: " + saysMissing}},
		{"a double target and a file that holds something else", []string{twice, garbage}, nil, []string{"line 3: " + saysTwice, saysGarbage}},
		{"a broken expression and a file that holds something else", []string{`static_configs: [ { targets: ["a:8002"] } ]`, regex, garbage}, nil, []string{"line 4: " + saysRegex, saysGarbage}},
		{"a variable and a misspelt key", []string{`static_configs: [ { targets: ["a:8002"] } ]`, `model_ids: { a: ["${MODEL}"] }`, "engin: triton"}, nil, []string{
			`line 5: unknown key "engin"`, "warning: config.yml: line 4: ${MODEL} is not replaced by a variable of the environment",
		}},
		{"a variable and a file that is missing", []string{`static_configs: [ { targets: ["a:8002"] } ]`, `model_ids: { a: ["${MODEL}"] }`, noCA}, nil, []string{
			"line 5: " + saysMissing, "warning: config.yml: line 4: ${MODEL} is not replaced",
		}},
		{"a pattern without a file and a broken expression", []string{`file_sd_configs: [ { files: ["nothing/*.yml"] } ]`, regex}, nil, []string{
			"line 4: " + saysRegex, "warning: config.yml: pools[0].file_sd_configs[0].files[0]: no file matches nothing/*.yml",
		}},
		{"one address in two pools and an unknown kind", []string{`static_configs: [ { targets: ["a:8002"] } ]`, "engine: trition"}, []string{
			"  - pool_id: qwen", `    static_configs: [ { targets: ["a:8002"] } ]`,
		}, []string{
			`line 4: pools[0].engine: "trition" is unknown`, "warning: config.yml: pools[1].static_configs[0].targets[0]: a:8002 is also the address of pools[0].static_configs[0].targets[0]",
		}},
		{"an old name and an unknown kind", []string{`static_configs: [ { targets: ["a:8002"] } ]`, "engine: trition", "probe: { enabled: true }"}, nil, []string{
			`line 4: pools[0].engine: "trition" is unknown`, `warning: config.yml: line 5: key "probe" in pools[0] is now called "canary"`,
		}},
		{"an entry that is no rule, before a rule with a mistake", []string{`static_configs: [ { targets: ["a:8002"] } ]`, `relabel_configs: [ 7, { source_labels: [a], action: hashmod, target_label: b } ]`}, nil, []string{
			"line 4: pools[0].relabel_configs[0] must be a mapping of keys", "line 4: pools[0].relabel_configs[1].modulus: relabel configuration for hashmod requires non-zero modulus",
		}},
		{"two pools of one name, a time without unit, and all of the rest", []string{twice, regex, garbage, "scrape_interval: 5", `model_ids: { a: ["${MODEL}"] }`}, []string{
			"  - pool_id: llama", `    file_sd_configs: [ { files: ["nothing/*.yml"] } ]`, "    slo: { ttft: { le: 2s } }", "exposition: { raww: true }",
		}, []string{
			"line 3: " + saysSame, "line 4: " + saysRegex, `line 6: pools[0].scrape_interval: "5" is not a duration`,
			`line 8: pools[1].pool_id: "llama" is already used by pools[0]`, "line 10: pools[1].slo.ttft.objective: ", `line 11: unknown key "raww" in exposition`,
			saysGarbage, "warning: config.yml: line 7: ${MODEL} is not replaced", "warning: config.yml: pools[1].file_sd_configs[0].files[0]: no file matches nothing/*.yml",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("garbage.pem", []byte("no certificate\n"), 0o600))
			lines := append([]string{"pools:", "  - pool_id: llama"}, c.pool...)
			for i := range c.pool {
				lines[i+2] = "    " + lines[i+2]
			}
			require.NoError(t, os.WriteFile("config.yml", []byte(strings.Join(append(lines, c.more...), "\n")+"\n"), 0o600))
			var out, problems bytes.Buffer

			require.Equal(t, exitFailure, run([]string{"check-config", "config.yml"}, &out, &problems), problems.String())

			require.Empty(t, out.String())
			for _, want := range c.want {
				require.Contains(t, problems.String(), want)
			}
			require.Equal(t, len(c.want), strings.Count(problems.String(), "\n"), "nothing else is said:\n%s", problems.String())
		})
	}
}

func TestCheckConfigDoesNotWantTheIndexOfAFileWithMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("config.yml", []byte(`sharding: { total: 3 }
pools: [ { pool_id: p, engine: trition, static_configs: [ { targets: ["a:8002"] } ] } ]
`), 0o600))
	var out, problems bytes.Buffer
	require.Equal(t, exitFailure, run([]string{"check-config", "config.yml"}, &out, &problems))
	require.Contains(t, problems.String(), "trition")
	require.NotContains(t, problems.String(), "sharding")
}

// TestAMistakeIsWhereItIs wants the place of an entry as it is in the document,
// although entries before it could not be read.
func TestAMistakeIsWhereItIs(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("config.yml", []byte(`pools:
  -
  - pool_id: qwen
    scrape_interval: 5s
    scrape_timeout: 9s
    static_configs: [ { targets: [ {a: b}, "b:8002", "c" ] } ]
  - pool_id: qwen
    static_configs: [ { targets: [ "d:8002" ] } ]
`), 0o600))
	var out, problems bytes.Buffer
	require.Equal(t, exitFailure, run([]string{"check-config", "config.yml"}, &out, &problems))
	for _, want := range []string{
		`line 2: pools[0] is empty`, `line 5: pools[1].scrape_timeout: 9s is longer`, `line 6: pools[1].static_configs[0].targets[0] must be text`,
		`line 7: pools[2].pool_id: "qwen" is already used by pools[1]`,
	} {
		require.Contains(t, problems.String(), want)
	}
}

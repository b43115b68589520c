//go:build e2e_record && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// The benchmark: more clients than a server runs requests at once.
const (
	clients       = 24
	recordedSlots = 16
	requests      = 400
	tokens        = 80
)

// recorded is what `record --json` says of all servers.
type recorded struct {
	Interrupted []any `json:"interrupted"`
	Sum         struct {
		Requests  map[string]float64 `json:"requests"`
		Speed     float64            `json:"requests_per_second"`
		Prompt    float64            `json:"prompt_tokens"`
		Generated float64            `json:"generated_tokens"`
		Running   *average           `json:"running"`
		First     *average           `json:"ttft_seconds"`
		Output    *average           `json:"tpot_seconds"`
		Whole     *average           `json:"e2e_seconds"`
	} `json:"sum"`
}

type average struct {
	Mean float64 `json:"mean"`
}

// seen is what aiperf writes into its folder; times are in milliseconds.
type seen struct {
	Requests  figure `json:"request_count"`
	Speed     figure `json:"request_throughput"`
	Prompt    figure `json:"total_usage_prompt_tokens"`
	Generated figure `json:"total_usage_completion_tokens"`
	First     figure `json:"time_to_first_token"`
	Output    figure `json:"inter_token_latency"`
	Whole     figure `json:"request_latency"`
}

type figure struct {
	Average float64 `json:"avg"`
}

// TestRecordAroundBenchmark records a benchmark of aiperf, named by AIPERF, on simulated servers. Client, account and
// what really happened have the same counts; the account's means are within 2 % of what happened. It logs the rows of
// docs/benchmarks.md.
func TestRecordAroundBenchmark(t *testing.T) {
	aiperf, exporter := os.Getenv("AIPERF"), os.Getenv("TRTLLM_EXPORTER_BIN")
	if aiperf == "" || exporter == "" {
		t.Skip("AIPERF and TRTLLM_EXPORTER_BIN name no programs: run make e2e-record")
	}
	for _, kind := range []simulate.Kind{simulate.KindVLLM, simulate.KindServe, simulate.KindSGLang} {
		t.Run(string(kind), func(t *testing.T) {
			server := servedOn(t, kind)
			account, client := record(t, exporter, aiperf, server)
			truth, sum := server.Truth(), &account.Sum
			require.Empty(t, account.Interrupted)
			require.EqualValues(t, requests, truth.Finished)
			require.EqualValues(t, requests, sum.Requests["ok"]+sum.Requests["unknown"])
			require.EqualValues(t, requests, client.Requests.Average)
			require.EqualValues(t, truth.PromptTokens, sum.Prompt)
			require.EqualValues(t, truth.GenerationTokens, sum.Generated)
			require.Equal(t, sum.Prompt, client.Prompt.Average)
			require.Equal(t, sum.Generated, client.Generated.Average)
			require.InEpsilon(t, truth.E2ESum.Seconds()/requests, sum.Whole.Mean, 0.02)
			logSides(t, kind, account, client)
		})
	}
}

// servedOn starts a simulated server to which no requests come but those of clients.
func servedOn(t *testing.T, kind simulate.Kind) *simulate.Replica {
	t.Helper()
	fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{
		Name: "p",
		Replicas: []simulate.Spec{{
			Name: "r", Kind: kind, Model: "llama", Seed: 1, Speed: 1, Streaming: true,
			Setup:    simulate.Setup{Histograms: true},
			Engine:   simulate.Engine{MaxActive: recordedSlots, MaxBatch: recordedSlots},
			Workload: simulate.Workload{Rate: 0.00001},
		}},
	}}})
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	return fleet.Pools()[0].Replicas[0]
}

// record runs a benchmark and returns both accounts of it.
func record(t *testing.T, exporter, aiperf string, server *simulate.Replica) (*recorded, *seen) {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), exporter, "record", "--json", "--interval=500ms",
		"--target=http://"+server.MetricsAddr()+server.MetricsPath(), "--",
		aiperf, "profile", "--model=llama", "--url=http://"+server.APIAddr(), "--endpoint-type=chat", "--streaming",
		fmt.Sprint("--concurrency=", clients), fmt.Sprint("--request-count=", requests),
		"--synthetic-input-tokens-mean=64", fmt.Sprint("--output-tokens-mean=", tokens),
		fmt.Sprint("--extra-inputs=max_tokens:", tokens), "--extra-inputs=ignore_eos:true",
		"--tokenizer="+tokenizer(t), "--use-server-token-count", "--no-server-metrics", "--no-gpu-telemetry",
		"--ui-type=none", "--artifact-dir="+folder)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var account recorded
	require.NoError(t, json.Unmarshal(out, &account), "%s", out)
	written, err := os.ReadFile(filepath.Join(folder, "profile_export_aiperf.json"))
	require.NoError(t, err)
	var client seen
	require.NoError(t, json.Unmarshal(written, &client))
	return &account, &client
}

// tokenizer writes one for prompts, whose tokens are bytes: aiperf would download others.
func tokenizer(t *testing.T) string {
	t.Helper()
	folder, vocabulary := t.TempDir(), make(map[string]int)
	for i := range 256 {
		vocabulary[fmt.Sprintf("<0x%02X>", i)] = i
	}
	for name, content := range map[string]any{
		"tokenizer_config.json": map[string]any{"tokenizer_class": "PreTrainedTokenizerFast"},
		"tokenizer.json": map[string]any{
			"version": "1.0", "added_tokens": []any{}, "decoder": map[string]any{"type": "ByteFallback"},
			"model": map[string]any{
				"type": "BPE", "byte_fallback": true, "unk_token": "<0x00>", "vocab": vocabulary, "merges": []any{},
			},
		},
	} {
		text, err := json.Marshal(content)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return folder
}

// logSides logs both sides as rows of a table.
func logSides(t *testing.T, kind simulate.Kind, account *recorded, client *seen) {
	t.Helper()
	sum := &account.Sum
	row := func(name string, client, server float64) {
		t.Logf("| %s | %s | %.4g | %.4g |", kind, name, client, server)
	}
	row("requests/s", client.Speed.Average, sum.Speed)
	row("ITL or TPOT, ms", client.Output.Average, 1000*sum.Output.Mean)
	row("E2E, s", client.Whole.Average/1000, sum.Whole.Mean)
	row("TTFT, ms", client.First.Average, 1000*sum.First.Mean)
	row("requests at once", clients, sum.Running.Mean)
}

package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestGenerationsOfNIM2(t *testing.T) {
	for page, want := range map[string]engine.Generation{
		"vllm:num_requests_running 1\n":  nimVLLM,
		"sglang:num_running_reqs 1\n":    nimSGLang,
		"generation_tokens_total 1\n":    nimFirst,
		"process_start_time_seconds 1\n": nimSilent,
	} {
		got, why := of(t, engine.NIM).Generation(readPage(t, engine.NIM, []byte(page)), nil)
		require.Equal(t, want, got, page)
		require.NotEmpty(t, why)
	}
	nim := of(t, engine.NIM)
	for page, inside := range map[string]bool{
		"vllm:num_requests_running 1\nhttp_requests_total{handler=\"/v1/x\",status=\"2xx\"} 1\n":             true,
		"sglang:num_running_reqs 1\nsglang:http_responses_total{endpoint=\"/v1/x\",status_code=\"200\"} 1\n": true,
		"num_request_max 1\n": false,
	} {
		read := readPage(t, engine.NIM, []byte(page))
		require.Equal(t, engine.Quirks{CountersAppear: true}, nim.Quirks(read))
		require.Equal(t, inside, nim.CountsFailures(read), page)
		stream, _ := nim.Stream("", read)
		require.Equal(t, engine.Stream{Usage: inside, Seed: inside, IgnoreEOS: inside}, stream)
	}
	known := &engine.Known{Page: readPage(t, engine.NIM, []byte("vllm:generation_tokens_total 1\n"))}
	require.Equal(t, "true, generation_tokens_total, with each step of the engine", capability(t, engine.NIM, engine.CanLiveTokens, known))
	known.Page = readPage(t, engine.NIM, []byte("sglang:generation_tokens_total 1\n"))
	require.Equal(t, "true, generation_tokens_total, when a request ends", capability(t, engine.NIM, engine.CanTokens, known))
	require.Equal(t, "false, this release counts tokens when a request ends [a later SGLang]", capability(t, engine.NIM, engine.CanLiveTokens, known))
}

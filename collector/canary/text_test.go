package canary_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
)

// delta returns a chat frame with a delta, event a frame of generate_stream.
func delta(of string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":` + of +
		`,"finish_reason":null,"logprobs":null,"stop_reason":null}]}` + "\n\n"
}

func event(of string) string {
	return `data: {"model_name":"m","model_version":"1","sequence_id":0,"sequence_start":false,` + of + "}\n\n"
}

func TestWhateverAModelSaysIsText(t *testing.T) {
	for _, c := range []struct {
		name     string
		question canary.Question
		frames   script
		count    int
		text     string
	}{
		{"content", openAI(), script{delta(`{"content":"one"}`)}, 1, "one"},
		{"reasoning of vLLM since 0.16", openAI(), script{
			delta(`{"role":"assistant","content":""}`), delta(`{"reasoning":"hm"}`), delta(`{"reasoning":"m"}`),
		}, 2, "hmm"},
		{"reasoning_content", openAI(), script{delta(`{"reasoning_content":"hm","content":null}`)}, 1, "hm"},
		{"a key of a later release", openAI(), script{delta(`{"role":"assistant","thoughts":"hm"}`)}, 1, "hm"},
		{"reasoning as a list of parts", openAI(), script{
			delta(`{"reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}`),
		}, 1, "hm"},
		{"a refusal", openAI(), script{delta(`{"refusal":"no"}`)}, 1, "no"},
		{"speech", openAI(), script{delta(`{"audio":{"id":"audio_1","data":"UklGR"}}`)}, 1, "UklGR"},
		{"a call of a tool", openAI(), script{
			delta(`{"tool_calls":[{"index":0,"id":"call_7","type":"function","function":{"name":"f","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
		}, 3, `f{"a":1}`},
		{"channels of harmony", openAI(), script{
			delta(`{"role":"assistant","reasoning":"hm","reasoning_content":"hm"}`),
			delta(`{"content":"one"}`),
		}, 2, "hmhmone"},
		{"completions", openAI(), script{`data: {"choices":[{"text":"one","stop_reason":null}]}` + "\n\n"}, 1, "one"},
		{"a message in place of a delta", openAI(), script{
			`data: {"choices":[{"message":{"role":"assistant","content":"one"}}]}` + "\n\n",
		}, 1, "one"},
		{"text_output", triton(), script{event(`"text_output":"one"`)}, 1, "one"},
		{"text_output beside other outputs", triton(), script{
			event(`"text_output":"one","finish_reason":"stop","arrival_time_ns":"12"`),
		}, 1, "one"},
		{"a list of texts", triton(), script{event(`"text_output":["one"," two"]`)}, 1, "one two"},
		{"an output with another name", triton(), script{event(`"answer":"one"`)}, 1, "one"},
		{"several outputs of strings", triton(), script{event(`"answer":["one"],"why":"hm"`)}, 1, "onehm"},
		{"tokens without text", triton(), script{event(`"output_ids":[1,2]`), event(`"output_ids":[3]`)}, 2, "[1,2][3]"},
		{"tokens of SGLang beside its text", triton(), script{event(`"text":"one","output_ids":[1,2]`)}, 1, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.question.Generate {
				c.frames = append(c.frames, done)
			}
			r, _ := ask(t, config(), c.question, stream(c.frames))
			require.Equal(t, canary.OK, r.Result, r.Reason)
			require.Equal(t, c.count, r.Frames)
			sum := sha256.Sum256([]byte(c.text))
			require.Equal(t, hex.EncodeToString(sum[:]), r.Output)
		})
	}
}

func TestAFrameThatOnlyDescribesIsNoText(t *testing.T) {
	for _, c := range []struct {
		name     string
		question canary.Question
		frame    string
	}{
		{"a role", openAI(), delta(`{"role":"assistant"}`)},
		{"an empty delta", openAI(), delta(`{}`)},
		{"no delta", openAI(), delta(`null`)},
		{"empty texts", openAI(), delta(`{"role":"assistant","content":"","reasoning":null,"tool_calls":[]}`)},
		{"the id of speech that is yet to come", openAI(), delta(`{"audio":{"id":"audio_1"}}`)},
		{"an empty list of texts", triton(), event(`"text_output":[""]`)},
		{"null", triton(), event(`"text_output":null`)},
		{"an empty output with another name", triton(), event(`"answer":""`)},
		{"an empty list of tokens", triton(), event(`"output_ids":[]`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := done
			if c.question.Generate {
				end = ""
			}
			r, _ := ask(t, config(), c.question, stream(script{c.frame, end}))
			require.Equal(t, canary.Empty, r.Result, r.Reason)
		})
	}
}

func TestTheHashDoesNotDependOnFramesOfSeveralTexts(t *testing.T) {
	one, _ := ask(t, config(), openAI(), stream(script{
		delta(`{"reasoning":"hm"}`), delta(`{"reasoning":"m"}`), delta(`{"content":"one"}`), done,
	}))
	other, _ := ask(t, config(), openAI(), stream(script{
		delta(`{"reasoning":"h"}`), delta(`{"content":"on","reasoning":"mm"}`), delta(`{"content":"e"}`), done,
	}))
	require.Equal(t, one.Output, other.Output)
}

func TestTheHashDoesNotDependOnIDs(t *testing.T) {
	said := func(id string) string {
		r, _ := ask(t, config(), openAI(), stream(script{
			delta(`{"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]}`), done,
		}))
		return r.Output
	}
	require.Equal(t, said("call_1"), said("call_2"))
}

package canary_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// recorded answers every POST with one text and every GET with the metadata of
// a model. It implements canary.Opener.
type recorded string

func (r recorded) Open(_ context.Context, method, _ string, _ []byte) (*http.Response, error) {
	text := string(r)
	if method == http.MethodGet {
		text = metadata
	}
	header := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// FuzzAnswers requires that any response has one of the results, and that a good one is complete.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		role + chat("one") + chat(" two") + finish + usage + done,
		word("one") + word("one two"), done, "data:", "event: error\n\n",
		`data: {"choices":[{"delta":null,"finish_reason":1}],"usage":[]}` + "\n\n",
		`data: {"text_output":["a"],"error":null}` + "\n\n", "\xff\n\n: x",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, generate bool) {
		r := config().Ask(t.Context(), recorded(text), canary.Question{Base: base, Model: "m", Generate: generate})
		require.Contains(t, canary.Results(), r.Result)
		if r.Result != canary.OK {
			require.NotEmpty(t, r.Reason)
			require.NotContains(t, r.Reason, "\n")
			return
		}
		require.Positive(t, r.Frames)
		require.Len(t, r.Output, 64)
		require.GreaterOrEqual(t, r.Duration, r.FirstToken)
		require.GreaterOrEqual(t, r.Tail, time.Duration(0))
		require.LessOrEqual(t, r.LongestGap, r.Duration)
	})
}

func (recorded) Secrets() *secret.Store { return nil }

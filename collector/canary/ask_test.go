package canary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// script defines the behavior of a server: it writes texts and waits for durations.
type script []any

// hangs is longer than any request of the canary.
const hangs = time.Hour

// stream plays a script under status 200.
func stream(s script) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_ = http.NewResponseController(w).Flush()
		play(w, req, s)
	}
}

// play executes a script until the client disconnects.
func play(w http.ResponseWriter, req *http.Request, s script) {
	// Only a server that has read the request notices a disconnect.
	_, _ = io.Copy(io.Discard, req.Body)
	for _, step := range s {
		switch step := step.(type) {
		case string:
			_, _ = io.WriteString(w, step)
			_ = http.NewResponseController(w).Flush()
		case time.Duration:
			select {
			case <-time.After(step):
			case <-req.Context().Done():
				return
			}
		case error:
			panic(http.ErrAbortHandler)
		}
	}
}

// answer returns a complete response.
func answer(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// chat returns a chat frame with text, word a frame of generate_stream.
func chat(text string) string {
	return fmt.Sprintf(
		`data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":null,"content":%q},"finish_reason":null}],"usage":null}`+"\n\n",
		text,
	)
}

func word(text string) string {
	return fmt.Sprintf(`data: {"model_name":"ensemble","model_version":"1","text_output":%q}`+"\n\n", text)
}

// Frames that are not text.
const (
	role     = `data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]} ` + "\n\n"
	finish   = `data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"length"}]}` + "\n\n"
	usage    = `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\n"
	done     = "data: [DONE]\n\n"
	metadata = `{"name":"ensemble","inputs":[{"name":"text_input"},{"name":"max_tokens"},{"name":"stream"},{"name":"top_k"}]}`
)

// cut ends a connection in the middle.
var cut = io.ErrUnexpectedEOF

// config returns a configuration for three tokens.
func config() *canary.Config {
	c := canary.DefaultConfig
	c.MaxTokens = 3
	return &c
}

// ask sends one request to a server in a bubble with a fake clock.
func ask(t *testing.T, c *canary.Config, q canary.Question, h http.Handler) (r canary.Report, duration time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v2/models/ensemble", answer(http.StatusOK, "application/json", metadata))
		mux.Handle("POST /", h)
		n := serve(t, mux)
		began := time.Now()
		r = c.Ask(t.Context(), n, q)
		duration = time.Since(began)
	})
	return r, duration
}

func TestEveryResult(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		name     string
		question canary.Question
		server   http.Handler
		result   canary.Result
		reason   string
		duration time.Duration
	}{
		{
			"a complete chat", openAI(),
			stream(script{
				second, role, chat("one"), second, chat(" two"), chat(" three"), finish, usage, second, done,
			}),
			canary.OK, "", 3 * second,
		},
		{"a chat that stops early", openAI(), stream(script{role, chat("one"), finish, done}), canary.OK, "", 0},
		{
			"completions have no role", openAI(),
			stream(script{`data: {"choices":[{"text":"one","finish_reason":null}]}` + "\n\n", done}),
			canary.OK, "", 0,
		},
		{
			"frames of a reasoning model", openAI(),
			stream(script{`data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}` + "\n\n", done}),
			canary.OK, "", 0,
		},
		{
			"comments keep a stream alive", openAI(),
			stream(script{": ping\n\n", chat("one"), ": ping\n\n", done}),
			canary.OK, "", 0,
		},
		{
			"a body that continues after [DONE]", openAI(), stream(script{chat("one"), done, hangs}), canary.OK,
			"", 5 * second,
		},
		{
			"generate_stream ends with its body", triton(),
			stream(script{second, word("one"), word(" two"), word(" three"), second}),
			canary.OK, "", 2 * second,
		},
		{
			"a list of texts", triton(),
			stream(script{`data: {"text_output":["one"],"error":null}` + "\n\n"}),
			canary.OK, "", 0,
		},

		{
			"the first frame of Triton's frontend is not a token",
			openAI(), stream(script{role, chat(""), hangs}), canary.NoFirstToken, "no text within 10s",
			10 * second,
		},
		{
			"no headers", openAI(),
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { play(w, r, script{hangs}) }),
			canary.NoFirstToken, "no text within 10s", 10 * second,
		},
		{
			"generate_stream without a frame", triton(), stream(script{hangs}), canary.NoFirstToken,
			"no text within 10s", 10 * second,
		},
		{
			"no further tokens", openAI(),
			stream(script{chat("one"), second, chat(" two"), hangs}),
			canary.Stalled, "2 frames with text came, and no other within 5s", 6 * second,
		},
		{
			"frames without text are not progress", openAI(),
			stream(script{chat("one"), 3 * second, role, 3 * second, role, hangs}),
			canary.Stalled, "1 frames", 5 * second,
		},
		{
			"all tokens and no end", openAI(),
			stream(script{chat("one"), chat(" two"), chat(" three"), hangs}),
			canary.NeverEnded, "3 frames with text came, and no end within 5s", 5 * second,
		},
		{
			"a finish reason and no end", openAI(),
			stream(script{chat("one"), second, finish, hangs}),
			canary.NeverEnded, "1 frames", 6 * second,
		},
		{
			"usage of all tokens and no end", openAI(),
			stream(script{chat("one two three"), usage, hangs}),
			canary.NeverEnded, "1 frames", 5 * second,
		},
		{
			"generate_stream with all frames and an open body", triton(),
			stream(script{word("one"), word(" two"), word(" three"), hangs}),
			canary.NeverEnded, "3 frames", 5 * second,
		},
		{
			"tokens without end", openAI(),
			stream(slices.Repeat(script{chat("one"), 4 * second}, 20)),
			canary.Timeout, "still streaming after 30s", 30 * second,
		},
		{
			"a body that ends before [DONE]", openAI(), stream(script{chat("one"), finish}), canary.Truncated,
			"after 1 frames with text and without [DONE]", 0,
		},
		{
			"a closed connection", openAI(), stream(script{chat("one"), cut}), canary.Truncated,
			"the connection ended after 1 frames with text", 0,
		},
		{
			"a connection closed within generate_stream", triton(), stream(script{word("one"), cut}),
			canary.Truncated, "the connection ended after 1 frames with text", 0,
		},
		{
			"half a frame", triton(),
			stream(script{word("one"), `data: {"text_out`}),
			canary.Truncated, "after 1 frames", 0,
		},
		{"an end without text", openAI(), stream(script{role, finish, done}), canary.Empty, "set another prompt", 0},
		{"a body without frames", triton(), stream(nil), canary.Empty, "set another prompt", 0},

		{
			"an error event under status 200", triton(),
			stream(script{word("one"), `data: {"error":"Stub process is not healthy."}` + "\n\n"}),
			canary.ErrorFrame,
			"an error in the stream: Stub process is not healthy.",
			0,
		},
		{
			"an error as the only JSON under status 200", triton(),
			answer(200, "application/json", `{"error":"generate expects model to produce exactly 1 response"}`),
			canary.ErrorFrame,
			"status 200 with an error: generate expects model to produce exactly 1 response",
			0,
		},
		{
			"an error in a chat", openAI(),
			stream(script{chat("one"), `data: {"error":{"message":"worker lost","code":500}}` + "\n\n"}),
			canary.ErrorFrame, "an error in the stream: worker lost", 0,
		},
		{
			"an engine that dies, and [DONE]", openAI(),
			stream(script{
				chat("one"),
				`data: {"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "param": null, "code": 500}}` + "\n\n",
				done,
			}),
			canary.ErrorFrame,
			"an error in the stream: EngineCore encountered an issue",
			0,
		},
		{
			"an engine that dies after all tokens, and [DONE]", openAI(),
			stream(script{
				chat("one"), chat(" two"), chat(" three"), finish,
				`data: {"error": {"message": "EngineCore encountered an issue.", "code": 500}}` + "\n\n",
				done,
			}),
			canary.ErrorFrame,
			"an error in the stream: EngineCore encountered an issue",
			0,
		},
		{
			"a rejection under status 200, and [DONE]", openAI(),
			stream(script{
				`data: {"error": {"message": "The queue is full.", "type": "ServiceUnavailableError", "param": null, "code": 503}}` + "\n\n",
				done,
			}),
			canary.Overload, "an error in the stream: The queue is full", 0,
		},
		{
			"an error of FastAPI in a chat", openAI(),
			stream(script{`data: {"detail":"no"}` + "\n\n"}),
			canary.ErrorFrame, "an error in the stream: no", 0,
		},
		{
			"an error object in a chat", openAI(),
			stream(script{`data: {"object":"error","message":"bad"}` + "\n\n"}),
			canary.ErrorFrame, "an error in the stream: bad", 0,
		},
		{
			"an error event of Dynamo", openAI(),
			stream(script{"event: error\n: worker lost\n\n"}),
			canary.ErrorFrame, "worker lost", 0,
		},

		{
			"a dead stub, as the text of a JSON string", triton(),
			answer(400, "application/json", `"data: {\"error\":\"Stub process 'x' is not healthy.\"}\n\n"`),
			canary.HTTPError, "answers 400: Stub process 'x' is not healthy.", 0,
		},
		{
			"a dead stub", triton(),
			answer(400, "text/event-stream", `data: {"error":"Stub process 'x' is not healthy."}`+"\n\n"),
			canary.HTTPError, "answers 400: Stub process 'x' is not healthy.", 0,
		},
		{
			"an error of the model, whose status means nothing", triton(),
			answer(404, "text/event-stream", `data: {"error":"boom"}`+"\n\n"),
			canary.HTTPError, "answers 404: boom", 0,
		},
		{
			"a request that Triton rejects before the model gets it", triton(),
			answer(400, "application/json", `{"error":"missing required input(s) ['tenant']"}`),
			canary.Refused, "answers 400: missing required input(s) ['tenant']", 0,
		},
		{
			"a full queue", triton(),
			answer(503, "application/json", `{"error":"Exceeds maximum queue size"}`),
			canary.Overload, "answers 503: Exceeds maximum queue size", 0,
		},
		{
			"a full queue in OpenAI's API", openAI(),
			answer(503, "application/json", `{"error":{"message":"queue is full","code":503}}`),
			canary.Overload, "answers 503: queue is full", 0,
		},
		{
			"wrong credentials", openAI(), answer(401, "application/json", `{"error":"no key"}`),
			canary.Refused, "answers 401: no key", 0,
		},
		{
			"a client that may not ask", openAI(), answer(403, "application/json", `{"error":"no"}`),
			canary.Refused, "answers 403: no", 0,
		},
		{
			"a model that is not there", openAI(), answer(404, "application/json", `{"error":"no m"}`),
			canary.Refused, "answers 404: no m", 0,
		},
		{
			"a failed generation of trtllm-serve", openAI(), answer(400, "application/json", `{"message":"Generation failed"}`),
			canary.Refused, "answers 400", 0,
		},
		{
			"a failed generation of TGI", openAI(), answer(424, "application/json", `{"error":"Request failed"}`),
			canary.HTTPError, "answers 424: Request failed", 0,
		},
		{
			"a limit of requests", openAI(),
			answer(429, "application/json", `{"error":{"message":"slow down","code":429}}`),
			canary.Overload, "answers 429: slow down", 0,
		},
		{
			"a limit of requests, in a stream", openAI(),
			stream(script{`data: {"error":{"message":"slow down","code":"429"}}` + "\n\n", done}),
			canary.Overload, "an error in the stream: slow down", 0,
		},
		{
			"a full queue in an error event", openAI(),
			stream(script{"event: error\ndata: {\"message\":\"all workers are busy\",\"code\":529}\n\n"}),
			canary.Overload, "an error event: all workers are busy", 0,
		},
		{
			"a full queue instead of a stream", openAI(),
			answer(200, "application/json", `{"error":{"message":"queue is full","code":503}}`),
			canary.Overload, "status 200 with an error: queue is full", 0,
		},
		{
			"an engine that died, in a stream", openAI(),
			stream(script{`data: {"error":{"message":"EngineCore encountered an issue","code":500}}` + "\n\n", done}),
			canary.ErrorFrame, "an error in the stream: EngineCore encountered an issue", 0,
		},
		{
			"a request refused in a stream", openAI(),
			stream(script{`data: {"error":{"message":"too long","code":400}}` + "\n\n", done}),
			canary.Refused, "an error in the stream: too long", 0,
		},
		{
			"an error with a code that is no status", openAI(),
			stream(script{`data: {"error":{"message":"bad","code":40303}}` + "\n\n", done}),
			canary.ErrorFrame, "an error in the stream: bad", 0,
		},
		{
			"a model unknown to Dynamo", openAI(),
			answer(404, "application/json", `{"message":"Model not found","type":"Not Found","code":404}`),
			canary.Refused, "answers 404: Model not found", 0,
		},
		{
			"a request refused by vLLM", openAI(),
			answer(400, "application/json", `{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}`),
			canary.Refused, "answers 400: too long", 0,
		},
		{
			"a chat with a model that embeds", openAI(),
			answer(501, "application/json", `{"error":{"message":"The model does not support Chat Completions API"}}`),
			canary.Refused, "answers 501: The model does not support Chat Completions API", 0,
		},
		{
			"an error of unknown format", openAI(),
			answer(500, "application/json", `{"error":["a"],"message":7}`),
			canary.HTTPError, `answers 500: {"error":["a"],"message":7}`, 0,
		},
		{
			"a gateway that did not reach the server", openAI(),
			answer(502, "text/html", "<html>bad gateway</html>"),
			canary.Connect, "answers 502", 0,
		},
		{
			"a gateway that fails by a web page", openAI(),
			answer(500, "text/html", "\n<html>internal error</html>"),
			canary.Connect, "answers 500", 0,
		},
		{
			"a gateway that waited in vain", triton(),
			answer(504, "text/plain", "upstream request timeout"),
			canary.Connect, "answers 504: upstream request timeout", 0,
		},
		{
			"a gateway with a status of its own", openAI(),
			answer(530, "text/plain", "error code: 1033"),
			canary.Connect, "answers 530: error code: 1033", 0,
		},
		{
			"a truncated error", openAI(),
			answer(500, "application/json", `{"error":"a`),
			canary.HTTPError, `answers 500: {"error":"a`, 0,
		},
		{
			"no such model",
			canary.Question{Base: base, Model: "gone", Generate: true},
			stream(nil), canary.Refused, "GET /v2/models/gone answers 405", 0,
		},
		{"a page of a proxy", openAI(), answer(200, "text/html", "<html>"), canary.Malformed, `"text/html"`, 0},
		{
			"a server without streaming", openAI(),
			answer(200, "application/json", `{"choices":[]}`),
			canary.Malformed, "instead of a stream", 0,
		},
		{"a frame without JSON", openAI(), stream(script{"data: <html>\n\n"}), canary.Malformed, "is not the JSON", 0},
		{
			"a frame of generate_stream without JSON", triton(), stream(script{"data: [DONE]\n\n"}),
			canary.Malformed, "is not the JSON", 0,
		},
		{
			"a line without end", openAI(), stream(script{strings.Repeat("x", 1<<17)}), canary.Malformed,
			"over the limit", 0,
		},
		{
			"an answer without end", openAI(),
			stream(slices.Repeat(script{": " + strings.Repeat("x", 1<<15) + "\n\n"}, 64)),
			canary.Malformed, "over the limit", 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, duration := ask(t, config(), c.question, c.server)
			require.Equal(t, c.result, r.Result, r.Reason)
			require.Contains(t, r.Reason, c.reason)
			require.Equal(t, strings.Contains(c.reason, "answers 429"), r.Quota, "a quota: %s", r.Reason)
			bars := regexp.MustCompile("answers 40[134]").MatchString(c.reason) && !c.question.Generate
			require.Equal(t, bars, r.Barred, "it may not ask: %s", r.Reason)
			require.Equal(t, c.duration, duration)
			if r.Result != canary.OK {
				require.NotEmpty(t, r.Reason)
				require.Zero(t, r.FirstToken)
				require.Empty(t, r.Output)
			}
		})
	}
}

func TestNoConnection(t *testing.T) {
	t.Run("refused", bubble(func(t *testing.T) {
		n := serve(t, http.NotFoundHandler())
		require.NoError(t, n.Close())
		r := config().Ask(t.Context(), n, openAI())
		require.Equal(t, canary.Connect, r.Result)
		require.Contains(t, r.Reason, net.ErrClosed.Error())
		require.Equal(t, canary.Connect, config().Ask(t.Context(), n, triton()).Result)
	}))
	t.Run("a hanging dial", bubble(func(t *testing.T) {
		n := newNetwork()
		// net/http continues a dial after its request was canceled; scrape.Client does not.
		defer func() { require.NoError(t, n.Close()) }()
		began := time.Now()
		r := config().Ask(t.Context(), n, openAI())
		require.Equal(t, canary.Connect, r.Result)
		require.Equal(t, "no connection in time", r.Reason)
		require.Equal(t, 10*time.Second, time.Since(began))
	}))
}

func TestTimesOfGoodAnswer(t *testing.T) {
	ms := time.Millisecond
	r, _ := ask(t, config(), openAI(), stream(script{
		100 * ms,
		role,
		200 * ms,
		chat("one"), 50 * ms, chat(" two"), 400 * ms, chat(" three"), 30 * ms, finish, usage, 20 * ms, done, 500 * ms,
	}))
	require.Equal(t, canary.OK, r.Result)
	require.Equal(t, 300*ms, r.FirstToken, "the role is not a token")
	require.Equal(t, 400*ms, r.LongestGap)
	require.Equal(t, 50*ms, r.Tail)
	require.Equal(t, 800*ms, r.Duration)
	require.Equal(t, 3, r.Frames)
	require.Equal(t, 3, r.Tokens)
	require.False(t, r.At.IsZero(), "the report has a time")
}

func TestTokensAreFramesWithoutUsage(t *testing.T) {
	r, _ := ask(t, config(), triton(), stream(script{word("a"), word("b")}))
	require.Equal(t, 2, r.Tokens)
	every := func(n int) string {
		return fmt.Sprintf(`data: {"choices":[{"delta":{"content":"x"}}],"usage":{"completion_tokens":%d}}`+"\n\n", n)
	}
	r, _ = ask(t, config(), openAI(), stream(script{every(1), every(3), done}))
	require.Equal(t, 3, r.Tokens, "usage on every frame counts once")
	require.Equal(t, 2, r.Frames)
}

func TestOutputIsIndependentOfFraming(t *testing.T) {
	output := func(q canary.Question, s script) string {
		r, _ := ask(t, config(), q, stream(s))
		require.Equal(t, canary.OK, r.Result, r.Reason)
		require.Len(t, r.Output, 64)
		return r.Output
	}
	want := output(triton(), script{word("one two three")})
	for name, s := range map[string]script{
		"tokens":                 {word("one"), word(" two"), word(" three")},
		"two at once":            {word("one two"), word(" three")},
		"all so far each time":   {word("one"), word("one two"), word("one two three")},
		"tokens and all at last": {word("one"), word(" two"), word(" three"), word("one two three")},
	} {
		require.Equal(t, want, output(triton(), s), name)
	}
	require.Equal(t, want, output(openAI(), script{role, chat("one two"), chat(" three"), done}))
	require.NotEqual(t, want, output(triton(), script{word("one"), word(" two"), word(" four")}))
	require.NotEqual(
		t,
		output(triton(), script{word("ha"), word("ho"), word("ha")}),
		output(triton(), script{word("haho")}),
	)
}

func TestCanceledRequestHasNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := serve(t, stream(script{chat("one"), hangs}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.Empty(t, config().Ask(ctx, n, openAI()).Result)
	})
}

// requestOf returns path and body of the only request that a server received.
func requestOf(t *testing.T, c *canary.Config, q canary.Question, meta string) (path string, body map[string]any) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
			if meta == "" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			_, _ = io.WriteString(w, meta)
		})
		mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.EscapedPath()
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				w.WriteHeader(http.StatusTeapot)
			}
		})
		c.Ask(t.Context(), serve(t, mux), q)
	})
	return path, body
}

func TestRequestBody(t *testing.T) {
	number := func(n int) any { return float64(n) }
	c := config()
	c.Prompt = "Say one."
	message := []any{map[string]any{"role": "user", "content": "Say one."}}

	path, body := requestOf(t, c, openAI(), "")
	require.Equal(t, "/v1/chat/completions", path)
	require.Equal(t, map[string]any{
		"model": "tiny-llama", "messages": message, "max_tokens": number(3), "temperature": number(0), "stream": true,
		"stream_options": map[string]any{"include_usage": true}, "seed": number(7),
	}, body)

	_, body = requestOf(t, c, canary.Question{Base: base, Model: "m"}, "")
	require.NotContains(t, body, "stream_options")
	require.NotContains(t, body, "seed")

	c.Endpoint = canary.EndpointCompletions
	path, body = requestOf(t, c, openAI(), "")
	require.Equal(t, "/v1/completions", path)
	require.Equal(t, "Say one.", body["prompt"])
	require.NotContains(t, body, "messages")

	path, body = requestOf(t, c, triton(), metadata)
	require.Equal(t, "/v2/models/ensemble/generate_stream", path)
	require.Equal(t, map[string]any{
		"text_input": "Say one.",
		"max_tokens": number(3),
		"stream":     true,
		"top_k":      number(1),
	}, body)

	versioned := triton()
	versioned.Version = "2"
	path, _ = requestOf(t, c, versioned, metadata)
	require.Equal(t, "/v2/models/ensemble/versions/2/generate_stream", path)

	path, body = requestOf(t, c, canary.Question{
		Base:     base,
		Model:    "a/b c",
		Generate: true,
	}, `{"inputs":[{"name":"text_input"},{"name":"streaming"},{"name":"sampling_param_max_tokens"},{"name":"stop"}]}`)
	require.Equal(t, "/v2/models/a%2Fb%20c/generate_stream", path)
	require.Equal(t, map[string]any{
		"text_input":                "Say one.",
		"sampling_param_max_tokens": number(3),
		"streaming":                 true,
	}, body, "stop is a signal and no list of words")

	_, body = requestOf(t, c, triton(), "")
	require.Equal(t, map[string]any{
		"text_input": "Say one.",
		"max_tokens": number(3),
		"stream":     true,
		"bad_words":  "",
		"stop_words": "",
	}, body, "of a server that keeps its metadata to itself")
}

func TestModelWithoutTextIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := serve(t, answer(200, "application/json", `{"inputs":[{"name":"input_ids"}]}`))
		r := config().Ask(t.Context(), n, triton())
		require.Equal(t, canary.Unsupported, r.Result)
		require.Contains(t, r.Reason, "no input text_input")
	})
	synctest.Test(t, func(t *testing.T) {
		n := serve(t, answer(200, "application/json", `<html>`))
		require.Equal(t, canary.Malformed, config().Ask(t.Context(), n, triton()).Result)
	})
	synctest.Test(t, func(t *testing.T) {
		n := serve(t, answer(500, "text/html", `<html>internal error</html>`))
		require.Equal(t, canary.Connect, config().Ask(t.Context(), n, triton()).Result, "a gateway's page")
	})
	synctest.Test(t, func(t *testing.T) {
		n := serve(t, stream(script{hangs}))
		r := config().Ask(t.Context(), n, triton())
		require.Equal(t, canary.NoFirstToken, r.Result, "the metadata never came")
	})
}

// TestModelIsAskedIfItsInputsAreKnown has models with an input of their own. The metadata lists their inputs, the
// config says which are required.
func TestModelIsAskedIfItsInputsAreKnown(t *testing.T) {
	ask := func(t *testing.T, config http.HandlerFunc) (r canary.Report, asked bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v2/models/ensemble", answer(http.StatusOK, "application/json",
				`{"inputs":[{"name":"text_input"},{"name":"max_tokens"},{"name":"tenant"},{"name":"user"}]}`))
			mux.HandleFunc("GET /v2/models/ensemble/config", config)
			mux.HandleFunc("POST /", func(w http.ResponseWriter, req *http.Request) {
				asked = true
				stream(script{word("one")})(w, req)
			})
			cfg := canary.DefaultConfig
			r = cfg.Ask(t.Context(), serve(t, mux), triton())
		})
		return r, asked
	}
	known := `{"name":"text_input","optional":false},{"name":"max_tokens"},`
	for _, c := range []struct {
		says   string
		config http.HandlerFunc
		want   canary.Result
	}{
		{
			"one is required",
			answer(200, "application/json", `{"input":[`+known+`{"name":"tenant"},{"name":"user","optional":true}]}`),
			canary.Unsupported,
		},
		{
			"all are optional",
			answer(200, "application/json",
				`{"input":[`+known+`{"name":"tenant","optional":true},{"name":"user","optional":true}]}`),
			canary.OK,
		},
		{"nobody may read the config", answer(403, "application/json", `{"error":"restricted"}`), canary.OK},
	} {
		t.Run(c.says, func(t *testing.T) {
			r, asked := ask(t, c.config)
			require.Equal(t, c.want, r.Result, r.Reason)
			require.Equal(t, c.want == canary.OK, asked)
			if !asked {
				require.Contains(t, r.Reason, "model ensemble requires the input tenant,")
			}
		})
	}
}

func TestReasonsAreShort(t *testing.T) {
	r, _ := ask(t, config(), openAI(), answer(500, "text/plain", "a\nb\x00\xff"+strings.Repeat("long ", 200)))
	require.Equal(t, canary.HTTPError, r.Result)
	require.NotContains(t, r.Reason, "\n")
	require.LessOrEqual(t, len(r.Reason), 310)
	require.Regexp(t, "^the server answers 500: a b", r.Reason)
}

// shortError is the error of an opener without free connections.
type shortError struct{}

func (shortError) Error() string { return "all connections are in use" }

func (shortError) Short() bool { return true }

// tooFew is an opener without free connections, which fails at once or while the response is
// read.
type tooFew struct{ reading bool }

// Open implements canary.Opener.
func (e tooFew) Open(context.Context, string, string, []byte) (*http.Response, error) {
	if !e.reading {
		return nil, fmt.Errorf("asked: %w", shortError{})
	}
	body := io.MultiReader(strings.NewReader(role), iotest.ErrReader(fmt.Errorf("read: %w", shortError{})))
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(body),
	}, nil
}

func TestConnectionLimitIsNoServerFault(t *testing.T) {
	cfg := canary.DefaultConfig
	for _, generate := range []bool{false, true} {
		for _, reading := range []bool{false, true} {
			q := canary.Question{Base: "http://a", Model: "m", Generate: generate}
			require.Zero(
				t,
				cfg.Ask(t.Context(), tooFew{reading}, q).Result,
				"generate %t, reading %t",
				generate,
				reading,
			)
		}
	}
}

func (tooFew) Secrets() *secret.Store { return nil }

// A server may repeat the credentials of the request in any part of its answer.
func TestReasonHasNoSecret(t *testing.T) {
	// Z03.
	const token = "Tok3n-cn-Zq81xYk2"
	padding := strings.Repeat("x", 290)
	for _, c := range []struct {
		name   string
		server http.Handler
	}{
		{"an error event", stream(script{`data: {"error":"no ` + token + `"}` + "\n\n"})},
		{"an error of two lines", stream(script{`data: {"error":"no Tok3n-cn-` + "\ndata: Zq81xYk2\"}\n\n"})},
		{"an error with escapes", stream(script{`data: {"error":"no \u0054ok3n-cn-\u005aq81xYk2"}` + "\n\n"})},
		{"an error in percent", stream(script{`data: {"error":"no %54ok3n-cn-%5Aq81xYk2"}` + "\n\n"})},
		{"an error under status 200", answer(200, "application/json", `{"error":"no `+token+`"}`)},
		{"JSON under status 200", answer(200, "application/json", `{"token":"`+token+`"}`)},
		{"a frame that is none", stream(script{"data: " + token + "\n\n"})},
		{"an error object", stream(script{`data: {"error":{"message":"no ` + token + `","code":500}}` + "\n\n"})},
		{"an event", stream(script{"event: error\n: " + token + "\n\n"})},
		{"an error at the end of what is kept", stream(script{`data: {"error":"` + padding + token + `"}` + "\n\n"})},
		{"a type", answer(200, "application/"+token, "")},
		{"JSON that is cut within it", answer(200, "application/json", `{"x":`+strings.Repeat(" ", 2033)+token)},
		{"more than is kept", answer(200, "application/json", strings.Repeat(strings.Repeat(" ", 100)+token, 30))},
		{"a status", answer(403, "application/json", `{"error":"no `+token+`"}`)},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			n := serve(t, c.server)
			n.secrets.Add(token)
			r := config().Ask(t.Context(), n, openAI())
			require.NotEqual(t, canary.OK, r.Result)
			require.NotEmpty(t, r.Reason)
			require.NotContains(t, strings.ToLower(r.Reason), "zq81")
			require.NotContains(t, r.Reason, "Tok3n")
		}))
	}
}

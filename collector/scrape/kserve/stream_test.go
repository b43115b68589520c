package kserve_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const generateStream = "/v2/models/llm/generate_stream"

// someInputs returns the metadata of a model with an input of every type.
func someInputs() []byte {
	all := str(1, "llm")
	for _, t := range []string{
		"BYTES", "BOOL", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64", "FP32", "FP64",
		"FP16",
	} {
		all = join(all, msg(4, str(1, strings.ToLower(t)), str(2, t), packed(3, -1, 1)))
	}
	return all
}

// part returns a part of an answer with one text.
func part(text string) []byte {
	raw := join([]byte{byte(len(text)), 0, 0, 0}, []byte(text))
	return msg(2, str(1, "llm"), str(2, "1"), msg(5, str(1, "text_output"), str(2, "BYTES"), packed(3, 1)), msg(6, raw))
}

// answering starts a server whose model answers with parts, then with an error.
func answering(t *testing.T, failure error, parts ...[]byte) *server {
	t.Helper()
	return serveStreams(t, someInputs(), func(stream grpc.ServerStream) error {
		for _, p := range parts {
			if err := stream.SendMsg(p); err != nil {
				return err
			}
		}
		return failure
	})
}

// streamed reads a stream to its end.
func streamed(t *testing.T, s *server, path, body string) (code int, text string, failure error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code, kind, answer, err := calling(s.address).Stream(ctx, path, []byte(body))
	if err != nil {
		return 0, "", err
	}
	require.Equal(t, code == http.StatusOK, strings.HasPrefix(kind, "text/event-stream"))
	all, failure := io.ReadAll(answer)
	require.NoError(t, answer.Close())
	return code, string(all), failure
}

func TestStreamMatchesHTTPAPI(t *testing.T) {
	const begins = `data: {"model_name":"llm","model_version":"1","text_output":`
	contents := msg(2, str(1, "llm"), msg(5, str(1, "text_output"), str(2, "BYTES"), msg(5, str(8, "a"), str(8, "b"))))
	number := msg(
		2,
		str(1, "llm"),
		msg(5, str(1, "text_output"), str(2, "BYTES")),
		msg(5, str(1, "sequence_id"), str(2, "INT32")),
		msg(6, []byte{1, 0, 0, 0, 'x'}),
		msg(6, []byte{7, 0, 0, 0}),
	)
	for _, c := range []struct {
		name    string
		failure error
		parts   [][]byte
		code    int
		text    string
		err     string
	}{
		{
			"tokens one by one", nil,
			[][]byte{part("one"), part(" two")},
			200, begins + "\"one\"}\n\n" + begins + "\" two\"}\n\n", "",
		},
		{
			"a part marked as the last", nil,
			[][]byte{part("one"), msg(2, str(1, "llm"))},
			200, begins + "\"one\"}\n\n", "",
		},
		{
			"several texts in the message itself", nil,
			[][]byte{contents},
			200,
			`data: {"model_name":"llm","model_version":"","text_output":["a","b"]}` + "\n\n",
			"",
		},
		{
			"a non-text output", nil,
			[][]byte{number},
			200,
			`data: {"model_name":"llm","model_version":"","text_output":"x"}` + "\n\n",
			"",
		},
		{"nothing", nil, nil, 200, "", ""},
		{
			"an error in the stream", nil,
			[][]byte{part("one"), str(1, "the stub died")},
			200,
			begins + "\"one\"}\n\ndata: {\"error\":\"the stub died\"}\n\n",
			"",
		},
		{
			"refused before any part", status.Error(codes.NotFound, "unknown model"), nil, 404,
			`{"error":"unknown model"}`, "",
		},
		{
			"no room",
			status.Error(codes.Unavailable, "Exceeds maximum queue size"),
			nil, 503, `{"error":"Exceeds maximum queue size"}`, "",
		},
		{
			"a failure in the middle", status.Error(codes.Internal, "broken"),
			[][]byte{part("one")},
			200, begins + "\"one\"}\n\n", "broken",
		},
		{
			"a truncated text", nil,
			[][]byte{msg(2, msg(5, str(1, "text_output"), str(2, "BYTES")), msg(6, []byte{9, 0, 0, 0, 'x'}))},
			0, "", "output 0 is truncated",
		},
		{
			"a truncated length", nil,
			[][]byte{part("one"), msg(2, msg(5, str(1, "t"), str(2, "BYTES")), msg(6, []byte{9, 0}))},
			200, begins + "\"one\"}\n\n", "output 0 is truncated",
		},
		{"no such message", nil, [][]byte{{0xff}}, 0, "", "the answer is not the message of its method"},
		{
			"a too large part", nil,
			[][]byte{part("one"), str(1, strings.Repeat("x", 2<<20))},
			200, begins + "\"one\"}\n\n", "over its limit",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, text, err := streamed(t, answering(t, c.failure, c.parts...), generateStream, `{"bytes":"hi"}`)
			require.Equal(t, c.code, code)
			require.Equal(t, c.text, text)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}

func TestInputTypes(t *testing.T) {
	s := answering(t, nil, part("one"))
	code, text, err := streamed(
		t,
		s,
		generateStream,
		`{"bytes":"hi","bool":true,"int8":-1,"uint8":255,"int16":-2,"uint16":65535,"int32":-3,"uint32":4294967295,"int64":-4,"uint64":5,"fp32":0.5,"fp64":-0.5}`,
	)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, text)
	calls := s.received()
	require.Len(t, calls, 2)
	require.Equal(t, prefix+"ModelMetadata", calls[0].rpc)
	require.Equal(t, str(1, "llm"), calls[0].request)
	require.Equal(t, prefix+"ModelStreamInfer", calls[1].rpc)
	require.Equal(
		t,
		"\x02\x00\x00\x00hi|\x01|\xff|\xff|\xfe\xff|\xff\xff|\xfd\xff\xff\xff|\xff\xff\xff\xff|\xfc\xff\xff\xff\xff\xff\xff\xff|"+
			"\x05\x00\x00\x00\x00\x00\x00\x00|\x00\x00\x00\x3f|\x00\x00\x00\x00\x00\x00\xe0\xbf",
		string(bytes.Join(fields(calls[1].request, 7), []byte("|"))),
	)
	require.Equal(t, [][]byte{[]byte("llm")}, fields(calls[1].request, 1))
	inputs := fields(calls[1].request, 5)
	require.Len(t, inputs, 12)
	require.Equal(t, [][]byte{[]byte("uint16")}, fields(inputs[5], 1))
	require.Equal(t, [][]byte{[]byte("UINT16")}, fields(inputs[5], 2))
	require.Equal(t, [][]byte{{1, 1}}, fields(inputs[5], 3))
}

// fields returns the values of a field of a message.
func fields(message []byte, n protowire.Number) (all [][]byte) {
	for len(message) > 0 {
		number, _, head := protowire.ConsumeTag(message)
		value, size := protowire.ConsumeBytes(message[head:])
		if message = message[head+size:]; number == n {
			all = append(all, value)
		}
	}
	return all
}

func TestUnstreamableRequestsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ path, body, text string }{
		"another path":        {"/v2/models/llm/infer", `{}`, "no gRPC method"},
		"a missing input":     {generateStream, `{"color":"red"}`, "model llm has no input color"},
		"an unsupported type": {generateStream, `{"fp16":1}`, "type FP16, which is not supported"},
		"a number for a text": {generateStream, `{"bytes":1}`, "input bytes of type BYTES"},
		"an invalid body":     {generateStream, `no`, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			code, text, err := streamed(t, answering(t, nil), c.path, c.body)
			require.NoError(t, err)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, code)
			require.Contains(t, text, c.text)
		})
	}
	t.Run("an unknown model", func(t *testing.T) {
		code, text, err := streamed(t, serve(t, fails(status.Error(codes.NotFound, "no model"))), generateStream, `{}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, code)
		require.Contains(t, text, "no model")
	})
}

func TestClosedStreamIsCanceled(t *testing.T) {
	closed := make(chan error, 1)
	s := serveStreams(t, someInputs(), func(stream grpc.ServerStream) error {
		if err := stream.SendMsg(part("one")); err != nil {
			return err
		}
		<-stream.Context().Done()
		closed <- stream.Context().Err()
		return stream.Context().Err()
	})
	var connected, sent bool
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { connected = true },
		WroteRequest: func(httptrace.WroteRequestInfo) { sent = true },
	})
	_, _, answer, err := calling(s.address).Stream(ctx, generateStream, []byte(`{"bytes":"hi"}`))
	require.NoError(t, err)
	require.True(t, connected, "it connected")
	require.True(t, sent, "the request was sent")
	some := make([]byte, 8)
	_, err = io.ReadFull(answer, some)
	require.NoError(t, err)
	require.Equal(t, "data: {\"", string(some))
	require.NoError(t, answer.Close())
	require.ErrorIs(t, <-closed, context.Canceled)
}

func TestDeadlineEndsStream(t *testing.T) {
	s := serveStreams(t, someInputs(), func(stream grpc.ServerStream) error {
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, _, err := calling(s.address).Stream(ctx, generateStream, []byte(`{"bytes":"hi"}`))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

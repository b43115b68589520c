package kserve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	// streamRPC is the method for streamed answers, streamSuffix the end of its path in the
	// HTTP API.
	streamRPC    = "ModelStreamInfer"
	streamSuffix = "/generate_stream"
	// maxMessage limits one message of an answer.
	maxMessage = 1 << 20
)

// Stream sends the body of a POST to a model's generate_stream over gRPC and returns the
// answer as the HTTP API does: JSON in server-sent events, or a status with an error. Events
// contain only text outputs. It returns when the first part of the answer arrives. The
// httptrace of ctx is called for the connection and when the request was sent. When ctx is
// done, or the body is closed before its end, the server is told to cancel.
func (s *Server) Stream(
	ctx context.Context,
	path string,
	body []byte,
) (code int, contentType string, answer io.ReadCloser, err error) {
	modelPath, streams := strings.CutSuffix(path, streamSuffix)
	r, model, found := find(http.MethodGet, modelPath)
	if !streams || !found {
		return http.StatusNotFound, "", errorReader(noMethod), nil
	}
	c, err := s.connect(ctx)
	if err != nil {
		return 0, "", nil, err
	}
	code, contentType, answer, err = c.stream(metadata.NewOutgoingContext(ctx, s.Metadata), r, model, body)
	if err != nil || code != http.StatusOK {
		c.close()
	}
	return code, contentType, answer, err
}

// stream requests the metadata of a model, builds the request from it and body, sends it, and
// waits for the first part of the answer.
func (c *conn) stream(
	ctx context.Context,
	r route,
	model string,
	body []byte,
) (code int, contentType string, answer io.ReadCloser, err error) {
	code, about, err := c.do(ctx, r, model, maxMessage)
	if err != nil || code != http.StatusOK {
		return code, "", io.NopCloser(bytes.NewReader(about)), err
	}
	request, err := inferRequest(model, about, body)
	if err != nil {
		return http.StatusBadRequest, "", errorReader(err.Error()), nil
	}
	s := &stream{conn: c, ctx: ctx}
	if err = s.send(request); err == nil {
		err = s.receive()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return http.StatusOK, "text/event-stream; charset=utf-8", s, nil
	}
	if code, text, ok := refusal(err); ok {
		return code, "", errorReader(text), nil
	}
	return 0, "", nil, err
}

func errorReader(text string) io.ReadCloser {
	return io.NopCloser(bytes.NewReader(errorBody(text)))
}

// inferRequest builds a request to a model, given the metadata of the model and the values
// of its inputs by name.
func inferRequest(model string, about, body []byte) (*dynamicpb.Message, error) {
	var described, request struct {
		Model  string   `json:"model_name"`
		Inputs []tensor `json:"inputs"`
		Raw    [][]byte `json:"raw_input_contents"`
	}
	values := make(map[string]json.RawMessage)
	if err := errors.Join(json.Unmarshal(about, &described), json.Unmarshal(body, &values)); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	request.Model = model
	for _, input := range described.Inputs {
		value, ok := values[input.Name]
		if !ok {
			continue
		}
		raw, err := input.encode(value)
		if err != nil {
			return nil, err
		}
		for i := range input.Shape {
			input.Shape[i] = 1 // The tensor has one element.
		}
		request.Inputs, request.Raw = append(request.Inputs, input), append(request.Raw, raw)
		delete(values, input.Name)
	}
	for name := range values {
		return nil, fmt.Errorf("model %s has no input %s", model, name)
	}
	m := dynamicpb.NewMessage(method(streamRPC).Input())
	text, _ := json.Marshal(request) // Marshaling strings and numbers cannot fail.
	return m, protojson.Unmarshal(text, m)
}

// stream is the body of a streamed answer. It is not safe for concurrent use.
type stream struct {
	conn *conn
	grpc grpc.ClientStream
	ctx  context.Context //nolint:containedctx // It ends the stream.
	// unread holds events that were received but not read yet, err the reason why the stream
	// ended.
	unread []byte
	err    error
}

func (s *stream) send(request *dynamicpb.Message) (err error) {
	s.grpc, err = s.conn.client.NewStream(s.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		rpcPath(streamRPC), grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return explain(s.ctx, streamRPC, err)
	}
	trace := httptrace.ContextClientTrace(s.ctx)
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if err = errors.Join(s.grpc.SendMsg(request), s.grpc.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return explain(s.ctx, streamRPC, err)
	}
	// After io.EOF, receiving returns the reason.
	if trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	return nil
}

// receive waits for the next event. It returns [io.EOF] at the end of the answer.
func (s *stream) receive() error {
	for len(s.unread) == 0 && s.err == nil {
		s.conn.allow(maxMessage)
		m := dynamicpb.NewMessage(method(streamRPC).Output())
		switch err := s.grpc.RecvMsg(m); {
		case errors.Is(err, io.EOF):
			s.err = err
		case err != nil:
			s.err = explain(s.ctx, streamRPC, err)
		default:
			if s.unread, err = encodeEvent(m); err != nil {
				s.err = fmt.Errorf("%s: %w", streamRPC, err)
			}
		}
	}
	if len(s.unread) > 0 {
		return nil
	}
	return s.err
}

func (s *stream) Read(into []byte) (n int, err error) {
	if err := s.receive(); err != nil {
		return 0, err
	}
	n = copy(into, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// Close cancels the request at the server.
func (s *stream) Close() error {
	s.conn.close()
	return nil
}

// encodeEvent encodes a part of an answer as an event. A part without outputs only marks the
// end of the answer and has no event. The texts of an output are in its contents or in the
// raw contents of the response; several become a list.
func encodeEvent(m *dynamicpb.Message) ([]byte, error) {
	var p struct {
		Error    string `json:"error_message"`
		Response struct {
			Model   string `json:"model_name"`
			Version string `json:"model_version"`
			Outputs []struct {
				Name     string `json:"name"`
				Datatype string `json:"datatype"`
				Contents struct {
					Texts [][]byte `json:"bytes_contents"`
				} `json:"contents"`
			} `json:"outputs"`
			Raw [][]byte `json:"raw_output_contents"`
		} `json:"infer_response"`
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return nil, err
	}
	if p.Error != "" {
		return event(errorBody(p.Error)), nil
	}
	data := make(map[string]any)
	for i, output := range p.Response.Outputs {
		if output.Datatype != "BYTES" {
			continue
		}
		texts := output.Contents.Texts
		if i < len(p.Response.Raw) {
			var ok bool
			if texts, ok = decodeTexts(p.Response.Raw[i]); !ok {
				return nil, fmt.Errorf("%w: output %d is truncated", errReply, i)
			}
		}
		data[output.Name] = shown(texts)
	}
	if len(data) == 0 {
		return nil, nil
	}
	data["model_name"], data["model_version"] = p.Response.Model, p.Response.Version
	text, err = json.Marshal(data)
	return event(text), err
}

func shown(texts [][]byte) any {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = string(text)
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

func event(text []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", text) }

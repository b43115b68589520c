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
	"net/url"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	// streamRPC is the method of requests whose answers are streamed, streamSuffix the
	// end of the path of such requests over HTTP.
	streamRPC    = "ModelStreamInfer"
	streamSuffix = "/generate_stream"
	// maxMessage limits one message of an answer.
	maxMessage = 1 << 20
)

// Stream sends what is posted to a model's generate_stream, and returns the answer as the
// HTTP API does: JSON in server-sent events, or a status with an error. Events have
// outputs of text only. As there, it returns when the first part of the answer arrives.
// The trace of ctx is called for the connection and when the request was sent. The server
// is told to cancel when ctx ends, and when the body is closed before its end.
func (c *Conn) Stream(ctx context.Context, path string, body []byte) (code int, contentType string, answer io.ReadCloser, err error) {
	modelPath, found := strings.CutSuffix(path, streamSuffix)
	if !found {
		return http.StatusNotFound, "", errorReader("this request has no gRPC method"), nil
	}
	code, metadata, err := c.Do(ctx, http.MethodGet, modelPath, maxMessage)
	if err != nil || code != http.StatusOK {
		return code, "", io.NopCloser(bytes.NewReader(metadata)), err
	}
	name, _ := url.PathUnescape(modelPath[strings.LastIndexByte(modelPath, '/')+1:]) // Do found the model by it.
	all, err := methods()
	if err != nil {
		return 0, "", nil, err
	}
	method := all.ByName(streamRPC)
	request, err := inferRequest(method.Input(), name, metadata, body)
	if err != nil {
		return http.StatusBadRequest, "", errorReader(err.Error()), nil
	}
	return c.follow(ctx, method, request)
}

// errorReader returns a body with an error.
func errorReader(text string) io.ReadCloser {
	return io.NopCloser(bytes.NewReader(errorBody(text)))
}

// inferRequest builds a request to a model, given the metadata of the model and the values
// of its inputs by name.
func inferRequest(desc protoreflect.MessageDescriptor, model string, metadata, body []byte) (*dynamicpb.Message, error) {
	var about struct {
		Inputs []tensor `json:"inputs"`
	}
	values := make(map[string]json.RawMessage)
	if err := errors.Join(json.Unmarshal(metadata, &about), json.Unmarshal(body, &values)); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	m := dynamicpb.NewMessage(desc)
	fields := desc.Fields()
	m.Set(fields.ByName("model_name"), protoreflect.ValueOfString(model))
	inputs, contents := m.Mutable(fields.ByName("inputs")).List(), m.Mutable(fields.ByName("raw_input_contents")).List()
	for i := range about.Inputs {
		t := &about.Inputs[i]
		value, ok := values[t.Name]
		if !ok {
			continue
		}
		raw, err := t.encode(value)
		if err != nil {
			return nil, err
		}
		input := inputs.NewElement().Message()
		names := input.Descriptor().Fields()
		input.Set(names.ByName("name"), protoreflect.ValueOfString(t.Name))
		input.Set(names.ByName("datatype"), protoreflect.ValueOfString(t.Datatype))
		shape := input.Mutable(names.ByName("shape")).List()
		for range t.Shape {
			shape.Append(protoreflect.ValueOfInt64(1)) // The tensor has one element.
		}
		inputs.Append(protoreflect.ValueOfMessage(input))
		contents.Append(protoreflect.ValueOfBytes(raw))
		delete(values, t.Name)
	}
	for name := range values {
		return nil, fmt.Errorf("model %s has no input %s", model, name)
	}
	return m, nil
}

// follow sends a request and waits for the first part of its answer.
func (c *Conn) follow(ctx context.Context, method protoreflect.MethodDescriptor, request *dynamicpb.Message) (code int, contentType string, answer io.ReadCloser, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{conn: c, reply: method.Output(), cancel: cancel, ctxErr: ctx.Err, finish: func() {}}
	if err = s.open(ctx, request); err == nil {
		err = s.receive()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return http.StatusOK, "text/event-stream; charset=utf-8", s, nil
	}
	_ = s.Close()
	if code, text, ok := refusal(err); ok {
		return code, "", errorReader(text), nil
	}
	return 0, "", nil, err
}

// stream is the body of an answer that comes in parts. It belongs to one goroutine.
type stream struct {
	conn   *Conn
	client *grpc.ClientConn
	grpc   grpc.ClientStream
	reply  protoreflect.MessageDescriptor
	cancel context.CancelFunc
	// ctxErr returns why the caller's context ended, nil before.
	ctxErr func() error
	// finish ends the use of the connection.
	finish func()
	// unread are events that were received and not read yet, err is why no more come.
	unread []byte
	err    error
}

// open sends the request, the only one of its stream.
func (s *stream) open(ctx context.Context, request *dynamicpb.Message) (err error) {
	if ctx, s.client, err = s.conn.begin(ctx); err != nil {
		return err
	}
	s.finish = sync.OnceFunc(s.conn.finish)
	s.conn.allow(maxMessage)
	s.grpc, err = s.client.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		rpcPath(streamRPC), grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return s.explain(err)
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if err = errors.Join(s.grpc.SendMsg(request), s.grpc.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return s.explain(err)
	}
	// After io.EOF the answer holds the reason.
	if trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	return nil
}

// explain returns the cause of a failure.
func (s *stream) explain(err error) error {
	if ended := s.ctxErr(); ended != nil {
		return ended
	}
	return s.conn.explain(s.client, streamRPC, err)
}

// receive waits for the next event; the end of the answer is [io.EOF].
func (s *stream) receive() error {
	for len(s.unread) == 0 && s.err == nil {
		s.conn.allow(maxMessage)
		m := dynamicpb.NewMessage(s.reply)
		switch err := s.grpc.RecvMsg(m); {
		case errors.Is(err, io.EOF):
			s.err = err
		case err != nil:
			s.err = s.explain(err)
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

// Read implements io.Reader.
func (s *stream) Read(into []byte) (n int, err error) {
	if err := s.receive(); err != nil {
		return 0, err
	}
	n = copy(into, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// Close implements io.Closer. It cancels the request at the server.
func (s *stream) Close() error {
	s.cancel()
	s.finish()
	return nil
}

// encodeEvent returns a part of an answer as an event; nothing for one without outputs,
// which only marks the end of the answer.
func encodeEvent(m *dynamicpb.Message) ([]byte, error) {
	if err := checkTypes(m); err != nil {
		return nil, err
	}
	fields := m.Descriptor().Fields()
	if text := m.Get(fields.ByName("error_message")).String(); text != "" {
		return event(errorBody(text)), nil
	}
	response := m.Get(fields.ByName("infer_response")).Message()
	data, err := outputs(response)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	names := response.Descriptor().Fields()
	for _, name := range []protoreflect.Name{"model_name", "model_version"} {
		data[string(name)] = response.Get(names.ByName(name)).String()
	}
	text, err := json.Marshal(data)
	return event(text), err
}

// event returns a server-sent event.
func event(text []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", text) }

// outputs returns the texts of a response by name, a list where there are several.
func outputs(response protoreflect.Message) (map[string]any, error) {
	if err := checkTypes(response); err != nil {
		return nil, err
	}
	fields := response.Descriptor().Fields()
	all, raws := response.Get(fields.ByName("outputs")).List(), response.Get(fields.ByName("raw_output_contents")).List()
	data := make(map[string]any)
	for i := range all.Len() {
		output := all.Get(i).Message()
		names := output.Descriptor().Fields()
		if output.Get(names.ByName("datatype")).String() != "BYTES" {
			continue
		}
		elements, ok := outputTexts(output, raws, i)
		if !ok {
			return nil, fmt.Errorf("%w: output %d is truncated", errReply, i)
		}
		name := output.Get(names.ByName("name")).String()
		if data[name] = elements; len(elements) == 1 {
			data[name] = elements[0]
		}
	}
	return data, nil
}

// outputTexts returns the texts of an output, which are in it or in the raw contents next
// to it.
func outputTexts(output protoreflect.Message, raws protoreflect.List, i int) (texts []string, ok bool) {
	if i < raws.Len() {
		return decodeTexts(raws.Get(i).Bytes())
	}
	contents := output.Get(output.Descriptor().Fields().ByName("contents")).Message()
	list := contents.Get(contents.Descriptor().Fields().ByName("bytes_contents")).List()
	for n := range list.Len() {
		texts = append(texts, string(list.Get(n).Bytes()))
	}
	return texts, true
}

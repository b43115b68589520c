package kserve

import (
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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	// streamed is the method of requests whose answers come in parts, generated
	// the end of the path that such requests have over HTTP.
	streamed  = "ModelStreamInfer"
	generated = "/generate_stream"
	// messageLimit bounds one message of an answer.
	messageLimit = 1 << 20
)

// Stream sends what is posted to a model's generate_stream, and gives the answer
// as the HTTP API does: frames of JSON as server-sent events, up to the end of
// the body, or a status with a problem. Texts are the only outputs that frames
// have. As there, it returns when the first part of the answer is there. The
// trace of ctx hears of the connection and when the request was sent; what ctx
// ends is cancelled at the server, and so is a body that is closed before its
// end.
func (c *Conn) Stream(ctx context.Context, path string, body []byte) (code int, kind string, answer io.ReadCloser, err error) {
	about, found := strings.CutSuffix(path, generated)
	if !found {
		return http.StatusNotFound, "", refused("this request has no gRPC method"), nil
	}
	code, text, err := c.Do(ctx, http.MethodGet, about, messageLimit)
	if err != nil || code != http.StatusOK {
		return code, "", io.NopCloser(strings.NewReader(string(text))), err
	}
	name, _ := url.PathUnescape(about[strings.LastIndexByte(about, '/')+1:]) // It was found by that name.
	known, err := methods()
	if err != nil {
		return 0, "", nil, err
	}
	request, err := inferRequest(known.ByName(streamed).Input(), name, text, body)
	if err != nil {
		return http.StatusBadRequest, "", refused(err.Error()), nil
	}
	return c.follow(ctx, known.ByName(streamed), request)
}

// refused is a body with a problem.
func refused(text string) io.ReadCloser {
	return io.NopCloser(strings.NewReader(string(problem(text))))
}

// inferRequest is a request to a model, given its metadata and the values of its
// inputs by name.
func inferRequest(of protoreflect.MessageDescriptor, model string, said, body []byte) (*dynamicpb.Message, error) {
	var about struct {
		Inputs []tensor `json:"inputs"`
	}
	values := make(map[string]json.RawMessage)
	if err := errors.Join(json.Unmarshal(said, &about), json.Unmarshal(body, &values)); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	m := dynamicpb.NewMessage(of)
	fields := of.Fields()
	m.Set(fields.ByName("model_name"), protoreflect.ValueOfString(model))
	inputs, contents := m.Mutable(fields.ByName("inputs")).List(), m.Mutable(fields.ByName("raw_input_contents")).List()
	for i := range about.Inputs {
		t := &about.Inputs[i]
		value, given := values[t.Name]
		if !given {
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
		for _, n := range t.one() {
			shape.Append(protoreflect.ValueOfInt64(n))
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
func (c *Conn) follow(ctx context.Context, method protoreflect.MethodDescriptor, request *dynamicpb.Message) (code int, kind string, answer io.ReadCloser, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{conn: c, reply: method.Output(), cancel: cancel, over: ctx.Err, free: func() {}}
	if err = s.open(ctx, method, request); err == nil {
		err = s.receive()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return http.StatusOK, "text/event-stream; charset=utf-8", s, nil
	}
	_ = s.Close()
	if code, text, refusal := refusal(err); refusal {
		return code, "", refused(text), nil
	}
	return 0, "", nil, err
}

// stream is an answer that comes in parts. It belongs to one goroutine.
type stream struct {
	conn   *Conn
	client *grpc.ClientConn
	grpc   grpc.ClientStream
	reply  protoreflect.MessageDescriptor
	cancel context.CancelFunc
	// over reports whether the caller has no more time.
	over func() error
	// free says that the connection is used no more.
	free func()
	// frames is what came and was not read yet, ended why no more comes.
	frames []byte
	ended  error
}

// open sends the request, the only one of its stream.
func (s *stream) open(ctx context.Context, method protoreflect.MethodDescriptor, request *dynamicpb.Message) (err error) {
	if s.conn.options.Metadata != nil {
		md, err := s.conn.options.Metadata(ctx)
		if err != nil {
			return err
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	if s.client, err = s.conn.connection(); err != nil {
		return err
	}
	s.free = sync.OnceFunc(s.conn.over)
	s.conn.expect(messageLimit)
	s.grpc, err = s.client.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		"/"+service+"/"+string(method.Name()), grpc.MaxCallRecvMsgSize(messageLimit))
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
	// After an end of the stream the answer says why.
	if trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	return nil
}

// explain gives the cause of a failure.
func (s *stream) explain(err error) error {
	if over := s.over(); over != nil {
		return over
	}
	return s.conn.explain(s.client, err)
}

// receive waits for the next part of the answer that has anything to show; its
// end is [io.EOF].
func (s *stream) receive() error {
	for len(s.frames) == 0 && s.ended == nil {
		s.conn.expect(messageLimit)
		m := dynamicpb.NewMessage(s.reply)
		if err := s.grpc.RecvMsg(m); err != nil {
			s.ended = err
			if why, unread := strings.CutPrefix(status.Convert(err).Message(), unreadable); unread {
				s.ended = fmt.Errorf("%s: %w: %s", streamed, errReply, why)
			} else if !errors.Is(err, io.EOF) {
				s.ended = s.explain(err)
			}
			break
		}
		frame, err := frameOf(m)
		if err != nil {
			s.ended = fmt.Errorf("%s: %w", streamed, err)
			break
		}
		s.frames = frame
	}
	if len(s.frames) > 0 {
		return nil
	}
	return s.ended
}

// Read implements io.Reader.
func (s *stream) Read(into []byte) (n int, err error) {
	if err := s.receive(); err != nil {
		return 0, err
	}
	n = copy(into, s.frames)
	s.frames = s.frames[n:]
	return n, nil
}

// Close implements io.Closer: the server hears that nobody waits any more.
func (s *stream) Close() error {
	s.cancel()
	s.free()
	return nil
}

// frameOf writes a part of an answer as an event; nothing for one without
// outputs, which only says that the answer is at its end.
func frameOf(m *dynamicpb.Message) ([]byte, error) {
	if err := mistyped(m); err != nil {
		return nil, err
	}
	fields := m.Descriptor().Fields()
	if text := m.Get(fields.ByName("error_message")).String(); text != "" {
		return event(problem(text)), nil
	}
	response := m.Get(fields.ByName("infer_response")).Message()
	frame, err := outputs(response)
	if err != nil || len(frame) == 0 {
		return nil, err
	}
	names := response.Descriptor().Fields()
	for _, name := range []protoreflect.Name{"model_name", "model_version"} {
		frame[string(name)] = response.Get(names.ByName(name)).String()
	}
	text, err := json.Marshal(frame)
	return event(text), err
}

// event is one server-sent event.
func event(text []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", text) }

// outputs are the texts of a response by name, a list where there are several.
func outputs(response protoreflect.Message) (map[string]any, error) {
	if err := mistyped(response); err != nil {
		return nil, err
	}
	fields := response.Descriptor().Fields()
	all, raws := response.Get(fields.ByName("outputs")).List(), response.Get(fields.ByName("raw_output_contents")).List()
	frame := make(map[string]any)
	for i := range all.Len() {
		o := all.Get(i).Message()
		names := o.Descriptor().Fields()
		if o.Get(names.ByName("datatype")).String() != "BYTES" {
			continue
		}
		elements, ok := elementsOf(o, raws, i)
		if !ok {
			return nil, fmt.Errorf("%w: output %d is cut", errReply, i)
		}
		name := o.Get(names.ByName("name")).String()
		if frame[name] = elements; len(elements) == 1 {
			frame[name] = elements[0]
		}
	}
	return frame, nil
}

// elementsOf are the texts of an output, which are in it or next to it.
func elementsOf(o protoreflect.Message, raws protoreflect.List, i int) (all []string, ok bool) {
	if i < raws.Len() {
		return texts(raws.Get(i).Bytes())
	}
	contents := o.Get(o.Descriptor().Fields().ByName("contents")).Message()
	list := contents.Get(contents.Descriptor().Fields().ByName("bytes_contents")).List()
	for n := range list.Len() {
		all = append(all, string(list.Get(n).Bytes()))
	}
	return all, true
}

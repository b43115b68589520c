//go:build e2e_triton && linux

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

// The flaws of requests that are meant to fail.
const (
	noPrompt = sound + 1 + iota // The preprocessing step returns an error.
	noTokens                    // The LLM does.
	tooLarge                    // The LLM does, because no KV cache is large enough.
)

// stream requests tokens from a model, by default the ensemble; each response is one. Triton serves
// /generate_stream since 2.39; before that, decoupled models are available over gRPC only.
func (s *tritonServer) stream(ctx context.Context, _ int, r request) (seen outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	model, prompt, tokens := cmp.Or(r.model, "ensemble"), promptOf(r.words), r.tokens
	switch r.flaw {
	case noPrompt:
		prompt = ""
	case noTokens:
		tokens = 0
	case tooLarge:
		tokens = 100000
	default:
	}
	seen.plan, seen.sent = r, time.Now()
	token := func() { seen.tokens = append(seen.tokens, time.Now()) }
	if s.release.overGRPC {
		err = s.inferStream(ctx, model, tokens, token, []byte{1, 1},
			textInput("text_input", prompt), numberInput("max_tokens", tokens))
	} else {
		err = s.generate(ctx, model, prompt, tokens, token)
	}
	seen.ended = time.Now()
	seen.done = err == nil
	if answer, ok := errors.AsType[answeredError](err); ok {
		seen.failure, err = answer.Error(), nil
	}
	return seen, err
}

func promptOf(words int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = fmt.Sprintf("word%d", i)
	}
	return strings.Join(all, " ")
}

type answeredError string

func (e answeredError) Error() string { return string(e) }

// generate calls token for each event of a stream of the generate extension.
func (s *tritonServer) generate(ctx context.Context, model, prompt string, maxTokens int, token func()) error {
	body, err := json.Marshal(map[string]any{"text_input": prompt, "max_tokens": maxTokens})
	if err != nil {
		return err
	}
	response, err := postJSON(ctx, s.url("/v2/models/"+model+"/generate_stream"), string(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		event, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case strings.Contains(event, `"error"`):
			return answeredError(event)
		case isData:
			token()
		}
	}
	if response.StatusCode != http.StatusOK {
		return answeredError(response.Status)
	}
	return lines.Err()
}

// endGrace is the longest time between the last response and the end of a call.
const endGrace = 5 * time.Second

// inferStream sends one request with inference.GRPCInferenceService/ModelStreamInfer and calls token for
// each response. Triton 2.36 may leave the call open, so the client closes it after all responses.
func (s *tritonServer) inferStream(
	ctx context.Context,
	model string,
	wanted int,
	token func(),
	shape []byte,
	inputs ...input,
) error {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	c, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", s.port+1),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		return err
	}
	defer c.Close()
	const method = "/inference.GRPCInferenceService/ModelStreamInfer"
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err == nil {
		err = stream.SendMsg(inferRequest(model, shape, inputs))
	}
	if err == nil {
		err = stream.CloseSend()
	}
	end := time.AfterFunc(time.Hour, hangUp)
	defer end.Stop()
	tokens := 0
	for err == nil {
		var answer []byte
		if err = stream.RecvMsg(&answer); err != nil {
			break
		}
		if text := errorOf(answer); text != "" {
			return answeredError(text)
		}
		token()
		tokens++
		if tokens == wanted {
			end.Reset(endGrace)
		}
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(ctx.Err(), context.Canceled) && tokens == wanted:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

// raw is a codec of messages that are encoded.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

type input struct {
	name, kind string
	content    []byte
}

func textInput(name, text string) input {
	return input{name, "BYTES", append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)}
}

func numberInput(name string, n int) input {
	return input{name, "INT32", binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

// inferRequest returns a ModelInferRequest of grpc_service.proto: model_name 1, inputs 5 with name
// 1, datatype 2 and shape 3, raw_input_contents 7.
func inferRequest(model string, shape []byte, inputs []input) []byte {
	message := appendField(nil, 1, []byte(model))
	for _, i := range inputs {
		tensor := appendField(appendField(nil, 1, []byte(i.name)), 2, []byte(i.kind))
		message = appendField(message, 5, appendField(tensor, 3, shape))
	}
	for _, i := range inputs {
		message = appendField(message, 7, i.content)
	}
	return message
}

func appendField(message []byte, number protowire.Number, value []byte) []byte {
	message = protowire.AppendTag(message, number, protowire.BytesType)
	return protowire.AppendBytes(message, value)
}

// errorOf returns the error_message, field 1, of a ModelStreamInferResponse.
func errorOf(message []byte) string {
	number, kind, size := protowire.ConsumeTag(message)
	if size < 0 || number != 1 || kind != protowire.BytesType {
		return ""
	}
	text, _ := protowire.ConsumeBytes(message[size:])
	return string(text)
}

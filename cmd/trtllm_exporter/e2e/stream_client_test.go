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
// each response. gRPC is length-prefixed messages over HTTP/2, which net/http supports. Triton 2.36 may
// leave the call open, so the client closes it after all responses.
func (s *tritonServer) inferStream(
	ctx context.Context,
	model string,
	wanted int,
	token func(),
	shape []byte,
	inputs ...input,
) error {
	message := inferRequest(model, shape, inputs)
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	url := fmt.Sprintf("http://127.0.0.1:%d/inference.GRPCInferenceService/ModelStreamInfer", s.port+1)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(append(frame, message...)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc+proto")
	request.Header.Set("TE", "trailers")
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	end := time.AfterFunc(time.Hour, hangUp)
	defer end.Stop()
	for tokens := 0; ; {
		answer, err := readFrame(response.Body)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, context.Canceled) && tokens == wanted {
			return nil
		}
		if err != nil {
			return err
		}
		if text := errorOf(answer); text != "" {
			return answeredError(text)
		}
		tokens++
		token()
		if tokens == wanted {
			end.Reset(endGrace)
		}
	}
	// A call that fails at once has its status in the header.
	status := response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status")
	if status == "0" {
		return nil
	}
	return fmt.Errorf("grpc status %q: %s%s",
		status, response.Trailer.Get("Grpc-Message"), response.Header.Get("Grpc-Message"))
}

// readFrame reads a length-prefixed message, or returns io.EOF after the last.
func readFrame(r io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err := io.ReadFull(r, message)
	return message, err
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

//go:build e2e_triton && linux

package e2e

import (
	"bufio"
	"bytes"
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

// stream asks a model for tokens of a prompt and counts the responses that
// come, one per token. Triton serves /generate_stream since 2.39; before, a
// decoupled model can be reached over gRPC only.
func (s *tritonServer) stream(ctx context.Context, model string, promptWords, maxTokens int) (tokens int, err error) {
	prompt := promptOf(promptWords)
	if s.release.histograms {
		return s.generateStream(ctx, model, prompt, maxTokens)
	}
	return s.inferStream(ctx, model, prompt, maxTokens)
}

// promptOf returns a prompt of different words.
func promptOf(words int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = fmt.Sprintf("word%d", i)
	}
	return strings.Join(all, " ")
}

// generateStream reads server-sent events.
func (s *tritonServer) generateStream(ctx context.Context, model, prompt string, maxTokens int) (tokens int, err error) {
	body, err := json.Marshal(map[string]any{"text_input": prompt, "max_tokens": maxTokens})
	if err != nil {
		return 0, err
	}
	response, err := postJSON(ctx, s.url("/v2/models/"+model+"/generate_stream"), string(body))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		event, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case strings.Contains(event, `"error"`):
			return tokens, errors.New(event)
		case isData:
			tokens++
		}
	}
	if response.StatusCode != http.StatusOK {
		return tokens, errors.New(response.Status)
	}
	return tokens, lines.Err()
}

// inferStream calls inference.GRPCInferenceService/ModelStreamInfer with one
// request. gRPC is length-prefixed messages over HTTP/2, which net/http speaks.
func (s *tritonServer) inferStream(ctx context.Context, model, prompt string, maxTokens int) (tokens int, err error) {
	return s.inferMessage(ctx, inferRequest(model, prompt, maxTokens), maxTokens)
}

// endGrace is what a call may take to end after its last response.
const endGrace = 5 * time.Second

// inferMessage sends one ModelInferRequest and counts its responses. Triton
// 2.36 was seen to leave a call open forever; a client that has all responses it
// wants hangs up then.
func (s *tritonServer) inferMessage(ctx context.Context, message []byte, wanted int) (tokens int, err error) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	url := fmt.Sprintf("http://127.0.0.1:%d/inference.GRPCInferenceService/ModelStreamInfer", s.port+1)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(append(frame, message...)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/grpc+proto")
	request.Header.Set("TE", "trailers")
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	end := time.AfterFunc(time.Hour, hangUp)
	defer end.Stop()
	for {
		answer, err := readFrame(response.Body)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, context.Canceled) && tokens == wanted {
			return tokens, nil
		}
		if err != nil {
			return tokens, err
		}
		if text := errorOf(answer); text != "" {
			return tokens, errors.New(text)
		}
		tokens++
		if tokens == wanted {
			end.Reset(endGrace)
		}
	}
	// A call that fails at once has its status in the header.
	status := response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status")
	if status != "0" {
		return tokens, fmt.Errorf("grpc status %q: %s%s", status, response.Trailer.Get("Grpc-Message"), response.Header.Get("Grpc-Message"))
	}
	return tokens, nil
}

// readFrame reads one length-prefixed message; io.EOF after the last.
func readFrame(r io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err := io.ReadFull(r, message)
	return message, err
}

// inferRequest returns a ModelInferRequest of grpc_service.proto: model_name 1,
// inputs 5, raw_input_contents 7.
func inferRequest(model, prompt string, maxTokens int) []byte {
	message := appendField(nil, 1, []byte(model))
	message = appendField(message, 5, inputTensor("text_input", "BYTES", 1, 1))
	message = appendField(message, 5, inputTensor("max_tokens", "INT32", 1, 1))
	text := binary.LittleEndian.AppendUint32(nil, uint32(len(prompt)))
	message = appendField(message, 7, append(text, prompt...))
	return appendField(message, 7, binary.LittleEndian.AppendUint32(nil, uint32(maxTokens)))
}

// inputTensor returns an InferInputTensor: name 1, datatype 2, shape 3.
func inputTensor(name, kind string, shape ...byte) []byte {
	message := appendField(nil, 1, []byte(name))
	message = appendField(message, 2, []byte(kind))
	return appendField(message, 3, shape)
}

// appendField appends a field of bytes.
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

package kserve

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// service is the name of the protocol's one service (Triton common,
// protobuf/grpc_service.proto).
const service = "inference.GRPCInferenceService"

// route is a question of the HTTP API and its twin in gRPC.
type route struct {
	method, path string
	rpc          string
	// reply is the message that answers.
	reply message
	// render turns the reply into the answer of the HTTP API.
	render func(reply map[string]any) (code int, body any)
}

// model stands for a name in the path of a route.
const model = "{model}"

// routes are the questions that have a twin. Other questions have none that is
// needed.
func routes() []route {
	name, version := text("name"), text("version")
	return []route{
		{http.MethodGet, "/v2/health/live", "ServerLive", message{1: flag("live")}, yes("live")},
		{http.MethodGet, "/v2/health/ready", "ServerReady", message{1: flag("ready")}, yes("ready")},
		{http.MethodGet, "/v2/models/" + model + "/ready", "ModelReady", message{1: flag("ready")}, yes("ready")},
		{http.MethodGet, "/v2", "ServerMetadata", message{1: name, 2: version, 3: text("extensions").list()}, whole},
		{
			http.MethodPost, "/v2/repository/index", "RepositoryIndex",
			message{1: block("models", message{1: name, 2: version, 3: text("state"), 4: text("reason")}).list()},
			part("models", []any{}),
		},
		{
			http.MethodGet, "/v2/models/" + model + "/config", "ModelConfig",
			message{1: block("config", modelConfig())},
			part("config", map[string]any{}),
		},
	}
}

// find gives the route of a question and its request. A model is the only
// thing that requests name, in field 1 of each.
func find(method, path string) (found route, request []byte, ok bool) {
	for _, r := range routes() {
		before, after, named := strings.Cut(r.path, model)
		switch {
		case r.method != method:
		case !named && path == r.path:
			return r, []byte{}, true
		case named && strings.HasPrefix(path, before) && strings.HasSuffix(path, after) && len(path) > len(before)+len(after):
			name, err := url.PathUnescape(path[len(before) : len(path)-len(after)])
			if err != nil || strings.Contains(path[len(before):len(path)-len(after)], "/") {
				continue
			}
			return r, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name), true
		}
	}
	return route{}, nil, false
}

// answer reads a reply and writes it as the HTTP API does.
func (r *route) answer(raw []byte) (code int, body []byte, err error) {
	reply, err := r.reply.decode(raw, 0)
	if err != nil {
		return 0, nil, err
	}
	code, v := r.render(reply)
	if v == nil {
		return code, nil, nil
	}
	body, err = json.Marshal(v)
	return code, body, err
}

// yes answers as the HTTP API answers about health: 200 or 400, without text.
func yes(key string) func(map[string]any) (int, any) {
	return func(reply map[string]any) (int, any) {
		if said, ok := reply[key].(bool); ok && said {
			return http.StatusOK, nil
		}
		return http.StatusBadRequest, nil
	}
}

// whole answers with all of the reply.
func whole(reply map[string]any) (int, any) { return http.StatusOK, reply }

// part answers with one field of the reply, or with what stands for nothing.
func part(key string, nothing any) func(map[string]any) (int, any) {
	return func(reply map[string]any) (int, any) {
		if v, ok := reply[key]; ok {
			return http.StatusOK, v
		}
		return http.StatusOK, nothing
	}
}

// restricted begins Triton's refusal of a protocol whose header is missing; its
// code is UNAVAILABLE (server, src/grpc/infer_handler.h).
const restricted = "This protocol is restricted"

// refusal is the status of the HTTP API for what a server refuses in words of
// gRPC; false for errors that no server sent.
func refusal(err error) (code int, text string, refused bool) {
	s, ok := status.FromError(err)
	if !ok {
		return 0, "", false
	}
	code = map[codes.Code]int{
		codes.InvalidArgument: http.StatusBadRequest, codes.FailedPrecondition: http.StatusBadRequest,
		codes.OutOfRange: http.StatusBadRequest, codes.NotFound: http.StatusNotFound,
		codes.Unimplemented: http.StatusNotFound, codes.Unauthenticated: http.StatusUnauthorized,
		codes.PermissionDenied: http.StatusForbidden, codes.Unavailable: http.StatusServiceUnavailable,
		codes.ResourceExhausted: http.StatusTooManyRequests,
	}[s.Code()]
	switch {
	case code == 0:
		code = http.StatusInternalServerError
	case strings.HasPrefix(s.Message(), restricted):
		code = http.StatusForbidden
	}
	return code, s.Message(), true
}

// problem is an error in Triton's words.
func problem(text string) []byte {
	body, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		return nil
	}
	return body
}

package kserve

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// route maps a request of the HTTP API to a gRPC method.
type route struct {
	method, path string
	rpc          protoreflect.Name
	// field is the field of the reply that is the answer; if empty, the whole reply is.
	field protoreflect.Name
}

// model is the placeholder for the name of a model in a path.
const model = "{model}"

func routes() []route {
	return []route{
		{http.MethodGet, "/v2/health/live", "ServerLive", "live"},
		{http.MethodGet, "/v2/health/ready", "ServerReady", "ready"},
		{http.MethodGet, "/v2/models/" + model + "/ready", "ModelReady", "ready"},
		{http.MethodGet, "/v2", "ServerMetadata", ""},
		{http.MethodPost, "/v2/repository/index", "RepositoryIndex", "models"},
		{http.MethodGet, "/v2/models/" + model + "/config", "ModelConfig", "config"},
		{http.MethodGet, "/v2/models/" + model, "ModelMetadata", ""},
	}
}

// find returns the route of a request and the name of the model in its path, if any.
func find(method, path string) (found route, name string, ok bool) {
	for _, r := range routes() {
		prefix, suffix, hasModel := strings.Cut(r.path, model)
		escaped, begins := strings.CutPrefix(path, prefix)
		escaped, ends := strings.CutSuffix(escaped, suffix)
		if r.method != method || !begins || !ends || hasModel != (escaped != "") || strings.Contains(escaped, "/") {
			continue
		}
		if name, err := url.PathUnescape(escaped); err == nil && utf8.ValidString(name) {
			return r, name, true
		}
	}
	return route{}, "", false
}

// answer encodes a reply as the HTTP API does: a boolean as status 200 or 400 without a body,
// anything else as JSON, empty if the server did not send the field.
func (r *route) answer(reply protoreflect.Message) (code int, body []byte, err error) {
	var v any = object(reply)
	if field := reply.Descriptor().Fields().ByName(r.field); field != nil {
		v = fieldValue(field, reply.Get(field))
	}
	switch v {
	case true:
		return http.StatusOK, nil, nil
	case false:
		return http.StatusBadRequest, nil, nil
	}
	body, err = json.Marshal(v)
	return http.StatusOK, body, err
}

// restricted begins the error of a Triton whose restricted API is called without its header;
// the code is UNAVAILABLE (server, src/grpc/infer_handler.h).
const restricted = "This protocol is restricted"

// refusal converts a gRPC status to that of the HTTP API. It reports false for errors that
// did not come from the server.
func refusal(err error) (code int, text string, ok bool) {
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

// noMethod is the error for a request that has no method in gRPC.
const noMethod = "this request has no gRPC method"

func errorBody(text string) []byte {
	body, _ := json.Marshal(map[string]string{"error": text}) // Marshaling strings cannot fail.
	return body
}

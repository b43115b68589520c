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

// route is a request of the HTTP API and the method that answers it in gRPC.
type route struct {
	method, path string
	rpc          protoreflect.Name
	// field is the field of the reply that is the answer; empty for all of it.
	field protoreflect.Name
}

// model is the placeholder of a name in a path.
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

// find returns the route of a request and the model that it names, if any.
func find(method, path string) (found route, name string, ok bool) {
	for _, r := range routes() {
		before, after, named := strings.Cut(r.path, model)
		escaped, begins := strings.CutPrefix(path, before)
		escaped, ends := strings.CutSuffix(escaped, after)
		if r.method != method || !begins || !ends || named != (escaped != "") || strings.Contains(escaped, "/") {
			continue
		}
		if name, err := url.PathUnescape(escaped); err == nil && utf8.ValidString(name) {
			return r, name, true
		}
	}
	return route{}, "", false
}

// answer encodes a reply as the HTTP API does: as JSON, and a boolean as 200 or 400
// without a body. A field that was not sent is empty.
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

// restricted begins Triton's refusal of a protocol whose header is missing; its
// code is UNAVAILABLE (server, src/grpc/infer_handler.h).
const restricted = "This protocol is restricted"

// refusal returns the status of the HTTP API for a gRPC status; false for errors that no
// server sent.
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
	body, _ := json.Marshal(map[string]string{"error": text}) // Strings never fail.
	return body
}

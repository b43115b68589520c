package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Problem is a request about the server's identity that failed.
type Problem struct {
	// Question is method and path, Reason explains the failure to users.
	Question, Reason string
	// Restricted is true if the server requires a header that the request lacked.
	Restricted bool
	// Unexpected is true for a 200 that no server of the kind gives, Unanswered without an answer.
	Unexpected, Unanswered bool
	// Status is the HTTP status if it is the problem.
	Status int
}

// questions sends requests for JSON to one server, and collects the failed ones.
type questions struct {
	client   Client
	base     string
	problems []Problem
}

// get sends a GET request; see put.
func (q *questions) get(ctx context.Context, path string, into any) ([]byte, bool) {
	return q.put(ctx, http.MethodGet, path, into)
}

// put sends a request, decodes the answer and returns its text. It reports false unless that is a
// 200 with JSON of the type; fields of a wrong type are ignored. It may take half the remaining
// time.
func (q *questions) put(ctx context.Context, method, path string, into any) ([]byte, bool) {
	ctx, cancel := share(ctx, 2)
	defer cancel()
	var body []byte
	if method == http.MethodPost {
		body = []byte("{}")
	}
	status, _, text, err := q.client.Do(ctx, method, q.base+path, body, answerLimit)
	problem := Problem{Question: method + " " + path, Unanswered: err != nil}
	switch {
	case err != nil && refused(err):
		problem.Reason = "nothing listens"
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		problem.Reason = "no answer in time"
	case err != nil:
		problem.Reason = err.Error()
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		problem.Reason, problem.Restricted = "restricted: "+restrictedHint+" ("+short(text)+")", true
	case status != http.StatusOK:
		problem.Reason, problem.Status = "answers "+statusText(status), status
	default:
		problem.Reason = unreadable(json.Unmarshal(text, into))
		problem.Unexpected = problem.Reason != ""
	}
	if problem.Reason != "" {
		q.problems = append(q.problems, problem)
		return nil, false
	}
	return text, true
}

// restrictedHint is the remedy if an API requires a header, as with --http-restricted-api.
const restrictedHint = "set the header that the server expects in http_headers"

// unreadable explains why an answer cannot be used. It is empty if it can.
func unreadable(err error) string {
	if err == nil {
		return ""
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			return ""
		}
		return "answers JSON of an unexpected type"
	}
	return "answers text that is not JSON"
}

// Limits of versions, of names and parameters, and of the models of a server, or the ready ones. A list of models
// without states is cut at its end: nothing is concluded from a model that is not listed.
const (
	versionLimit = 64
	textLimit    = 256
	modelsLimit  = 1024
	readyLimit   = 4096
)

// plainVersion returns a version that is fit for a label, like 0.17.0.post1 or 2.73.0dev, or "".
func plainVersion(v string) string {
	v = strings.TrimSpace(v)
	if len(v) > versionLimit || strings.ContainsFunc(v, func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r)
	}) {
		return ""
	}
	return v
}

// plainText returns a text fit for a label, or "" if it is too long or has control characters.
func plainText(s string) string {
	if len(s) > textLimit || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return s
}

// modelList is the answer of GET /v1/models.
type modelList struct {
	Data []struct {
		ID      string `json:"id"`
		OwnedBy string `json:"owned_by"`
		Root    string `json:"root"`
	} `json:"data"`
}

// usualModels is where servers with OpenAI's API list their models.
const usualModels = "/v1/models"

func (q *questions) models(ctx context.Context) (list modelList, ok bool) {
	return q.modelsAt(ctx, usualModels)
}

// modelsAt requests the list of models. A 200 without a list, as from a proxy, is a failure.
func (q *questions) modelsAt(ctx context.Context, path string) (list modelList, ok bool) {
	if _, ok = q.get(ctx, path, &list); ok && list.Data == nil {
		q.problems = append(q.problems, Problem{
			Question: http.MethodGet + " " + path,
			Reason:   "answers JSON without a list of models",
		})
		return list, false
	}
	return list, ok
}

// owner returns the owner of the first listed model; most servers put their own name there.
func (l *modelList) owner() string {
	if len(l.Data) == 0 {
		return ""
	}
	return l.Data[0].OwnedBy
}

// text requests an object and returns the string of one key, or "".
func (q *questions) text(ctx context.Context, path, key string) (text string) {
	var answer map[string]json.RawMessage
	q.get(ctx, path, &answer)
	_ = json.Unmarshal(answer[key], &text)
	return text
}

// Path and key of the version in the API of several kinds. It identifies none of them.
const versionPath, versionKey = "/version", "version"

// version returns the version from GET /version, or "".
func (q *questions) version(ctx context.Context) string {
	return plainVersion(q.text(ctx, versionPath, versionKey))
}

// ownedBy returns the evidence that the models have one of the owners, and that the server has a version.
func (q *questions) ownedBy(ctx context.Context, owners []string) string {
	list, _ := q.models(ctx)
	if !slices.Contains(owners, list.owner()) || q.version(ctx) == "" {
		return ""
	}
	return "/v1/models lists models owned by " + list.owner() + ", and /version answers"
}

// askModels adds the list of models. If they have one of the owners, that confirms the kind.
func (q *questions) askModels(ctx context.Context, owners []string, f *Facts) {
	q.askModelsAt(ctx, usualModels, owners, f)
}

func (q *questions) askModelsAt(ctx context.Context, path string, owners []string, f *Facts) {
	list, listed := q.modelsAt(ctx, path)
	f.Confirmed = f.Confirmed || slices.Contains(owners, list.owner())
	f.Listed, f.Problems = listed, q.problems
	for _, m := range list.Data {
		id := plainText(m.ID)
		if id != "" && f.Model(id) == nil && len(f.Models) < modelsLimit {
			f.Models = append(f.Models, ModelFacts{Name: id, Root: plainText(m.Root), State: ModelReady})
		}
	}
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Problem is a question of identity that a server did not answer, for people.
type Problem struct {
	// Question is the method and path asked, Reason why there is no fact.
	Question, Reason string
	// Restricted is true when the server wants a header it did not get.
	Restricted bool
	// Stray is true of an answer 200 that no server of the kind gives.
	Stray bool
}

// questions puts JSON questions to one server. A question that fails costs
// only its fact; why it failed is kept for people.
type questions struct {
	ask      Asker
	base     string
	problems []Problem
}

// get puts one GET question.
func (q *questions) get(ctx context.Context, path string, into any) ([]byte, bool) {
	return q.put(ctx, http.MethodGet, path, into)
}

// put puts one question and gives the answer's text; false when it is no 200,
// no JSON, or JSON of another kind. Single fields of a wrong type are left out
// of into, the others count. A server that hangs over one question has half
// of the round's time left for the others.
func (q *questions) put(ctx context.Context, method, path string, into any) ([]byte, bool) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	var body []byte
	if method == http.MethodPost {
		body = []byte("{}")
	}
	status, _, text, err := q.ask.Do(ctx, method, q.base+path, body, answerLimit)
	problem := Problem{Question: method + " " + path}
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
		problem.Reason = "answers " + statusText(status)
	default:
		problem.Reason = unreadable(json.Unmarshal(text, into))
		problem.Stray = problem.Reason != ""
	}
	if problem.Reason != "" {
		q.problems = append(q.problems, problem)
		return nil, false
	}
	return text, true
}

// restrictedHint is the way out where an API wants a header, as with
// --http-restricted-api.
const restrictedHint = "give the header the server expects with http_headers"

// unreadable says why an answer is of no use; empty when it can be used.
func unreadable(err error) string {
	if err == nil {
		return ""
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			return ""
		}
		return "answers JSON of another kind"
	}
	return "answers text that is no JSON"
}

// What bounds the answers that are kept: the length of a version, that of names
// and parameters, and the models of one server; the rest of a larger list is
// passed over.
const (
	versionLimit = 64
	textLimit    = 256
	modelsKept   = 1024
)

// plainVersion is a version fit for a label, empty for anything else. Versions
// are not semver: 1.0.3.2510, 0.17.0.post1, 2.73.0dev.
func plainVersion(v string) string {
	v = strings.TrimSpace(v)
	if len(v) > versionLimit || strings.ContainsFunc(v, func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r)
	}) {
		return ""
	}
	return v
}

// plainText is a text fit for a label, empty for one that is too long or has
// control characters.
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
	} `json:"data"`
}

// models asks for the list of models. An answer without a list, as a proxy may give
// with 200, says nothing of the models.
func (q *questions) models(ctx context.Context) (list modelList, ok bool) {
	const path = "/v1/models"
	if _, ok = q.get(ctx, path, &list); ok && list.Data == nil {
		q.problems = append(q.problems, Problem{Question: http.MethodGet + " " + path, Reason: "answers JSON without a list of models"})
		return list, false
	}
	return list, ok
}

// owner is who owns the first model that a server lists; most servers write
// their own name there.
func (q *questions) owner(ctx context.Context) string {
	if list, _ := q.models(ctx); len(list.Data) > 0 {
		return list.Data[0].OwnedBy
	}
	return ""
}

// text is a text at the top of the answer to a GET question, empty where it has none;
// false when there was no answer.
func (q *questions) text(ctx context.Context, path, key string) (string, bool) {
	var answer map[string]json.RawMessage // That of SGLang has hundreds of other values.
	_, ok := q.get(ctx, path, &answer)
	var text string
	_ = json.Unmarshal(answer[key], &text)
	return text, ok
}

// version is what GET /version says, empty when it does not. Servers of several
// kinds answer it in the same words, so that it shows none of them.
func (q *questions) version(ctx context.Context) string {
	v, _ := q.text(ctx, versionPath, versionKey)
	return plainVersion(v)
}

// versionPath and versionKey are where they answer it.
const versionPath, versionKey = "/version", "version"

// ownedBy says that a server answers /version and lists models of that owner, in
// words for people; empty when it does not.
func (q *questions) ownedBy(ctx context.Context, owner string) string {
	if !strings.HasPrefix(q.owner(ctx), owner) || q.version(ctx) == "" {
		return ""
	}
	return "/v1/models lists models owned by " + owner + ", and /version answers"
}

// askModels reads the OpenAI model list, the last of the questions of a round; the
// owner is that of a kind that is known by it.
func (q *questions) askModels(ctx context.Context, owner string, f *Facts) {
	list, listed := q.models(ctx)
	f.Shown = f.Shown || owner != "" && len(list.Data) > 0 && strings.HasPrefix(list.Data[0].OwnedBy, owner)
	f.Listed, f.Problems = listed, q.problems
	for _, m := range list.Data {
		id := plainText(m.ID)
		known := slices.ContainsFunc(f.Models, func(k ModelFacts) bool { return k.Name == id })
		if id != "" && !known && len(f.Models) < modelsKept {
			f.Models = append(f.Models, ModelFacts{Name: id, State: ModelReady})
		}
	}
}

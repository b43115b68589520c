package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// APIState is how a server's API answered when asked whether it is ready.
type APIState uint8

const (
	// APIUnknown says that there is no API to ask, or nobody asked yet.
	APIUnknown APIState = iota
	// APIReady is the server's own word.
	APIReady
	// APINotReady is the server's own word.
	APINotReady
	// APIRefused says that nothing listens there, or that who connects is left
	// without an answer at once.
	APIRefused
	// APIFailed says that it answers, but not this question: restricted, hanging or
	// broken.
	APIFailed
)

// Health is one answer to "are you there, and ready?".
type Health struct {
	API APIState
	// Live is true when the server says so; LiveKnown when it said either.
	Live, LiveKnown bool
	// Own is true when the answer that it is not ready is in words of its kind, and
	// none that a proxy gives as well.
	Own bool
	// Status is the HTTP status of the ready question, 0 without answer.
	Status int
	// Models are the states of models by name, from the repository index; nil
	// when the server has none or does not say.
	Models []ModelState
	// Starting is true when the server itself says that it loads its engine, Draining
	// when it says that it ends and answers what it has taken on.
	Starting bool
	Draining bool
	// Detail says what the answer was, for people.
	Detail string
}

// ModelState is the repository index's word on one version of a model; of one that was
// never loaded it has only the name.
type ModelState struct{ Name, Version, State, Reason string }

// Settled says whether an answer is that of a server which is ready and loads or
// unloads no model, so that it counts for as long as the server says ready.
func (h *Health) Settled() bool {
	changing := slices.ContainsFunc(h.Models, func(m ModelState) bool { return m.State != ModelReady && m.State != ModelUnavailable })
	return h.API == APIReady && h.Status == http.StatusOK && !changing
}

// readiness asks one URL that answers 200 for ready and 400 or 503 for not; with
// the headers of the answer.
func readiness(ctx context.Context, ask Asker, url string) (Health, http.Header) {
	status, header, body, err := ask.Do(ctx, http.MethodGet, url, nil, answerLimit)
	return healthOf(url, status, body, err), header
}

// healthOf is what the status of an answer says, or that there was none.
func healthOf(url string, status int, body []byte, err error) Health {
	h := Health{Status: status}
	switch {
	case err != nil && refused(err):
		h.API, h.Detail = APIRefused, "the API refuses connections"
	case err != nil && status == 0 && hungUp(err):
		h.API, h.Detail = APIRefused, "the API hangs up on those who connect"
	case err != nil:
		h.API, h.Detail = APIFailed, "the API does not answer: "+err.Error()
	case status == http.StatusOK:
		h.API, h.Detail = APIReady, "the API answers 200"
	case status == http.StatusBadRequest || status == http.StatusServiceUnavailable || status == http.StatusInternalServerError:
		// Servers that mean it leave the body empty (Triton src/http_server.cc, vLLM
		// and trtllm-serve Response(status_code=503)); proxies say who answers.
		h.API, h.Own, h.Detail = APINotReady, len(body) == 0, "the API answers "+http.StatusText(status)
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		h.API, h.Detail = APIFailed, "the API is restricted: "+restrictedHint+" ("+short(body)+")"
	default:
		h.API, h.Detail = APIFailed, "the API answers "+statusText(status)+" to "+url
	}
	return h
}

// answered notes that a server is live, of a kind that is asked one thing: it is when it
// answers that either way, and said nothing when it did not.
func (h *Health) answered() {
	h.Live = h.API == APIReady || h.API == APINotReady
	h.LiveKnown = h.Live
}

// statusText is a status in words, or its number where it has none.
func statusText(status int) string { return cmp.Or(http.StatusText(status), strconv.Itoa(status)) }

// refused says whether nothing listened at the address.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// hungUp says whether the server ended the connection instead of an answer, as
// some do from SIGTERM on until their streams have ended. Net/http says by the
// text alone that the end came before the question.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "server closed idle connection")
}

// short is the message in an error body, cut to a line.
func short(body []byte) string {
	const most = 120
	var e struct {
		Error  string `json:"error"`
		Detail string `json:"detail"`
	}
	text := string(body)
	if json.Unmarshal(body, &e) == nil && e.Error+e.Detail != "" {
		text = e.Error + e.Detail
	}
	text, _ = OneLine(text, most)
	return text
}

// OneLine makes one line of a server's words, of so many bytes at most; cut says that
// there were more.
func OneLine(text string, most int) (line string, cut bool) {
	line = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(line) <= most {
		return line, false
	}
	return strings.ToValidUTF8(line[:most], ""), true
}

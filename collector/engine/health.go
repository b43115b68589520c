package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	// Live is true when the server says so; LiveKnown when it was asked.
	Live, LiveKnown bool
	// Status is the HTTP status of the ready question, 0 without answer.
	Status int
	// Models are the states of models by name, from the repository index; nil
	// when the server has none or does not say.
	Models []ModelState
	// Starting is true when the server itself says that it loads its engine.
	Starting bool
	// Detail says what the answer was, for people.
	Detail string
}

// ModelState is the repository index's word on one version of a model.
type ModelState struct{ Name, Version, State, Reason string }

// Health implements Engine: GET, never HEAD, which Triton answers with 405.
func (triton) Health(ctx context.Context, ask Asker, base string) Health {
	h := readiness(ctx, ask, base+"/v2/health/ready")
	if h.API == APIRefused || h.API == APIUnknown {
		return h
	}
	if status, _, _, err := ask.Do(ctx, http.MethodGet, base+"/v2/health/live", nil, answerLimit); err == nil {
		h.Live, h.LiveKnown = status == http.StatusOK, status == http.StatusOK || status == http.StatusBadRequest
	}
	if h.LiveKnown && !h.Live {
		// It ends. The index of 2.36 no longer answers then.
		return h
	}
	q := &questions{ask: ask, base: base}
	var index []indexEntry
	if _, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index); ok {
		h.Models = make([]ModelState, 0, min(len(index), modelsKept))
		for _, row := range index {
			// A model that was never loaded has a name and no state.
			if row.State != "" && plainText(row.Name) != "" && len(h.Models) < modelsKept {
				h.Models = append(h.Models, ModelState(row))
			}
		}
	}
	h.Detail += notLoaded(h.Models)
	return h
}

// notLoaded names the models of which no version is ready, for people: a server
// says ready again when a model that was unloaded is gone.
func notLoaded(models []ModelState) string {
	const most = 4
	settled := make(map[string]bool)
	for _, m := range models {
		settled[m.Name] = settled[m.Name] || m.State == modelReady
	}
	var names []string
	for _, m := range models {
		if settled[m.Name] {
			continue
		}
		settled[m.Name] = true
		why := strings.ToLower(m.State)
		if m.State == modelUnavailable && m.Reason != "" {
			why = short([]byte(m.Reason))
		}
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, why))
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return fmt.Sprintf("; not loaded: %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "; not loaded: " + strings.Join(names, ", ")
}

// readiness asks one URL that answers 200 for ready and 400 or 503 for not.
func readiness(ctx context.Context, ask Asker, url string) Health {
	status, header, body, err := ask.Do(ctx, http.MethodGet, url, nil, answerLimit)
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
	case header.Get(startingHeader) == "starting":
		h.API, h.Starting, h.Detail = APINotReady, true, "the server loads its engine"
	case status == http.StatusBadRequest || status == http.StatusServiceUnavailable || status == http.StatusInternalServerError:
		h.API, h.Detail = APINotReady, "the API answers "+http.StatusText(status)
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		h.API, h.Detail = APIFailed, "the API is restricted: "+restrictedHint+" ("+short(body)+")"
	default:
		h.API, h.Detail = APIFailed, "the API answers "+http.StatusText(status)+" to "+url
	}
	return h
}

// startingHeader is what the newest trtllm-serve sends with the 503 it answers
// to everything while its engine loads (serve/lifecycle.py).
const startingHeader = "X-Trtllm-Server-State"

// refused says whether nothing listened at the address.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// hungUp says whether the server ended the connection instead of an answer.
// Triton 2.51 does so from SIGTERM on until its streams have ended. Net/http
// tells by the text alone that the end came before the question.
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
	if len(text) > most {
		text = text[:most]
	}
	return text
}

// Health implements Engine. Servers up to 1.1 answer 200 to /health whatever
// happens; a newer one whose executor is broken ends itself over the question
// (openai_server.py), which it would at the next request as well.
func (trtllmServe) Health(ctx context.Context, ask Asker, base string) Health {
	h := readiness(ctx, ask, base+"/health")
	h.Live, h.LiveKnown = h.API == APIReady || h.API == APINotReady, h.API != APIUnknown
	return h
}

// Health implements Engine.
func (tritonOpenAI) Health(ctx context.Context, ask Asker, base string) Health {
	return readiness(ctx, ask, base+"/health/ready")
}

// Health implements Engine.
func (nim) Health(ctx context.Context, ask Asker, base string) Health {
	h := readiness(ctx, ask, base+"/v1/health/ready")
	if status, _, _, err := ask.Do(ctx, http.MethodGet, base+"/v1/health/live", nil, answerLimit); err == nil {
		h.Live, h.LiveKnown = status == http.StatusOK, true
	}
	return h
}

// Health implements Engine.
func (none) Health(context.Context, Asker, string) Health { return Health{} }

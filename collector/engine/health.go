package engine

import (
	"bytes"
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
	"time"
)

// APIState is the answer of an API to whether its server is ready.
type APIState uint8

const (
	// APIUnknown means that there is no API, or that it was not queried yet.
	APIUnknown APIState = iota
	// APIReady means that the server answered that it is ready.
	APIReady
	// APINotReady means that the server answered that it is not ready.
	APINotReady
	// APIRefused means that nothing listens, or that connections are closed immediately.
	APIRefused
	// APIFailed means any other result: restricted, timed out or broken.
	APIFailed
)

// Said is what a server says of itself. It is the server's own: what its page or the answers to
// requests show may differ.
type Said uint8

// What a server may say of itself.
const (
	// SaidNothing means that nothing was said, or nothing that counts as this server's answer.
	SaidNothing Said = iota
	SaidReady
	// SaidNotReady means that requests should go elsewhere, for a reason that none of the others names.
	SaidNotReady
	// SaidStarting means that the server was not ready yet.
	SaidStarting
	// SaidDraining means that the server finishes requests and exits.
	SaidDraining
	// SaidPaused means that somebody paused the server, or put it to sleep, until it is resumed.
	SaidPaused
)

// String returns the word in lower case.
func (s Said) String() string {
	return [...]string{"unknown", "ready", "not ready", "starting", "draining", "paused"}[s]
}

// Health is what the API answered about the server's health.
type Health struct {
	API APIState
	// Live is the server's liveness. LiveKnown is false if it did not answer.
	Live, LiveKnown bool
	// HungUp is true if the API closed the connection without an answer, HungUpAgain if it did so the
	// time before, too: once may have been a proxy's, or a connection too many.
	HungUp, HungUpAgain bool
	// FromServer is true if the answer that it is not ready cannot be a proxy's.
	FromServer bool
	// OfModels is true if the server answers that it is not ready because of models, which Models lists if it is
	// known which.
	OfModels bool
	// Status is the HTTP status of the answer about readiness, 0 without an answer.
	Status int
	// Models holds the rows of the repository index, nil for servers without one.
	Models []ModelState
	// LeftOut counts the rows beyond the limit of rows by state.
	LeftOut map[string]int
	// Starting is true if the server answers that it loads its engine, Draining if it answers that
	// it finishes requests and exits, Paused if it answers that it was paused or put to sleep.
	Starting bool
	Draining bool
	Paused   bool
	// PausedByPage is true if the API does not say whether the server is paused, and its page may.
	PausedByPage bool
	// Unwell is true if the server says that it is neither ready nor healthy, which it may only remember.
	Unwell bool
	// NoEndpoint is true for a worker that has nothing to send requests to. It may be starting, or
	// be a follower, whose requests go to its leader.
	NoEndpoint bool
	// Unheeded is true for a worker that gets requests whatever it answers: who routes them does not ask it.
	Unheeded bool
	// Detail describes the answer to users.
	Detail string
	// Found is true once the server's API has answered, WasLive once it has reported that the
	// server is live, WasReady once it has reported that it is ready, until it refuses connections
	// and another process may follow. [Answers.Reconcile] sets them.
	Found, WasLive, WasReady bool
	// Duration is how long an [Endpoint] took to answer.
	Duration time.Duration
}

// pause records that the server is paused, and why.
func (h *Health) pause(why string) { h.Paused, h.Detail = true, why }

// commanded is why a server is paused that somebody told so.
const commanded = "it is paused, as for new weights, until it is continued"

// mayFollow explains why a server may have no endpoint, and what to do about it.
const mayFollow = "it is starting, or it is a follower node of one on several nodes, which never takes any; " +
	"silent: true says so for a pool of followers, __silent__ for a target"

// Said returns what the server says of itself.
func (h *Health) Said() Said {
	switch {
	case h.Draining:
		return SaidDraining
	case h.Paused:
		return SaidPaused
	case h.API == APIReady:
		return SaidReady
	case h.API == APINotReady && h.Starting:
		return SaidStarting
	case h.API == APINotReady:
		return SaidNotReady
	}
	return SaidNothing
}

// Silent reports whether the API was asked and said nothing about its server.
func (h *Health) Silent() bool {
	return h.Said() == SaidNothing && (h.API == APIFailed || h.API == APIRefused)
}

// Closed reports whether the API refuses connections after it was found. On a port of its own, beside
// a page that still answers, that is a server which shuts down.
func (h *Health) Closed() bool { return h.API == APIRefused && h.Found && (!h.HungUp || h.HungUpAgain) }

// Ends reports whether a server that was live says that it no longer is. On a port of its own Triton
// says so only while it shuts down (core src/server.cc, InferenceServer::IsLive).
func (h *Health) Ends() bool { return h.API == APINotReady && h.WasLive && h.LiveKnown && !h.Live }

// ModelState is a row of the repository index. A model that was never loaded has only a name.
type ModelState struct{ Name, Version, State, Reason string }

// settled reports whether the answer is valid as long as the server answers ready, as a paused one
// does too.
func (h *Health) settled() bool {
	changing := slices.ContainsFunc(
		h.Models,
		func(m ModelState) bool { return m.State != ModelReady && m.State != ModelUnavailable },
	)
	return h.API == APIReady && h.Status == http.StatusOK && !h.Paused && !changing
}

// readiness queries a URL that answers 200 for ready, and another status for not ready; see unready.
func readiness(ctx context.Context, client Client, url string) (Health, http.Header) {
	status, header, body, err := client.Do(ctx, http.MethodGet, url, nil, answerLimit)
	return healthOf(url, status, body, err), header
}

// healthOf returns the health according to an answer of url.
func healthOf(url string, status int, body []byte, err error) Health {
	h := Health{Status: status}
	switch {
	case err != nil && refused(err):
		h.API, h.Detail = APIRefused, "the API refuses connections"
	case err != nil && status == 0 && hungUp(err):
		h.API, h.HungUp, h.Detail = APIRefused, true, "the API closes connections without an answer"
	case err != nil:
		h.API, h.Detail = APIFailed, "the API does not answer: "+err.Error()
	case status == http.StatusOK && isWebPage(body):
		h.API, h.Detail = APIFailed, "a web page, as of a proxy that asks for a login, is at "+url
	case status == http.StatusOK:
		h.API, h.Detail = APIReady, "the API answers 200"
	case FromGateway(status, body):
		h.API, h.Detail = APIFailed, "the API answers "+statusText(status)+" to "+url+", as a proxy does"
	case unready(status):
		// The servers answer 400, 500 or 503 and leave the body empty (Triton src/http_server.cc,
		// vLLM and trtllm-serve Response(status_code=503)); proxies do not.
		own := status == http.StatusBadRequest || status == http.StatusServiceUnavailable ||
			status == http.StatusInternalServerError
		h.API, h.FromServer, h.Detail = APINotReady, own && len(body) == 0, "the API answers "+statusText(status)
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		h.API, h.Detail = APIFailed, "the API is restricted: "+restrictedHint+" ("+short(body)+")"
	default:
		h.API, h.Detail = APIFailed, "the API answers "+statusText(status)+" to "+url
	}
	return h
}

// unready reports whether a status means that the server is not ready: its own failure, whatever the
// number, as of wrappers that have one of their own for a server that ended. 501 and 505 are about the
// question. Triton answers 400.
func unready(status int) bool {
	switch status {
	case http.StatusBadRequest:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= http.StatusInternalServerError
}

// FromGateway reports whether an answer is a gateway's, by its status or because its body is a web page. A gateway
// gives it if it reached no server, was cut off, or limits requests: it says as little of the server as no answer.
func FromGateway(status int, body []byte) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout ||
		status >= http.StatusInternalServerError && isWebPage(body)
}

// isWebPage reports whether a text is a web page, which no LLM server answers.
func isWebPage(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

// liveIfAnswered sets liveness for kinds that are live if they answer at all.
func (h *Health) liveIfAnswered() {
	h.Live = h.API == APIReady || h.API == APINotReady
	h.LiveKnown = h.Live
}

// statusText returns the text of a status, or its number if it has none.
func statusText(status int) string { return cmp.Or(http.StatusText(status), strconv.Itoa(status)) }

// refused reports whether nothing listens at the address.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// hungUp reports whether the server closed the connection instead of answering, as some servers do
// after SIGTERM until their streams end. net/http has no error value for a connection that was
// closed before the request.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "server closed idle connection")
}

// short returns the message in an error body as one short line.
func short(body []byte) string {
	const limit = 120
	var e struct {
		Error  string `json:"error"`
		Detail string `json:"detail"`
	}
	text := string(body)
	if json.Unmarshal(body, &e) == nil && e.Error+e.Detail != "" {
		text = e.Error + e.Detail
	}
	text, _ = OneLine(text, limit)
	return text
}

// OneLine returns text as one line of at most limit bytes; cut is true if it was truncated.
func OneLine(text string, limit int) (line string, cut bool) {
	line = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(line) <= limit {
		return line, false
	}
	return strings.ToValidUTF8(line[:limit], ""), true
}

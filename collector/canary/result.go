package canary

import "time"

// Result is the result of a request. It is the value of a metric label, so the list is closed.
type Result string

// Results of requests.
const (
	OK           Result = "ok"             // The first token, all others and the end arrived in time.
	Connect      Result = "connect"        // No connection, or it ended before an answer, a gateway's too (502, 504).
	HTTPError    Result = "http_error"     // A status of 500 or more, or an error with which a model of Triton answers.
	Overload     Result = "overload"       // Status 503, 429 or 529, as from servers whose queue is full.
	Refused      Result = "refused"        // Another status than 200, which concerns the request.
	ErrorFrame   Result = "error_frame"    // Status 200 with an error in the answer that says neither.
	NoFirstToken Result = "no_first_token" // No text before first_token_timeout.
	Stalled      Result = "stalled"        // No further text before gap_timeout, with tokens still to come.
	NeverEnded   Result = "never_ended"    // All tokens arrived, but not the end before end_timeout.
	Truncated    Result = "truncated"      // The connection ended before the stream did.
	Empty        Result = "empty"          // The stream ended normally without any text.
	Timeout      Result = "timeout"        // Tokens were still arriving at the timeout.
	Malformed    Result = "malformed"      // The answer is not an event stream, or it is too large.
	Unsupported  Result = "unsupported"    // The model takes no text or requires more, so it cannot be queried.
)

// Late reports whether the answer took too long, or the server had no capacity.
func (r Result) Late() bool {
	return r == NoFirstToken || r == Stalled || r == NeverEnded || r == Timeout || r == Overload
}

// Silent reports whether no word of an answer came.
func (r Result) Silent() bool { return r == NoFirstToken || r == Connect }

// Blames reports whether the server answered, at once and with an error.
func (r Result) Blames() bool { return r == HTTPError || r == ErrorFrame || r.Doubtful() }

// Doubtful reports whether the request itself may be to blame for the failure, unless it was answered before.
func (r Result) Doubtful() bool { return r == Refused || r == Malformed || r == Unsupported }

// noConnection is the result of a request for which the exporter had no connection.
const noConnection Result = "no_connection"

// Results lists every result once.
func Results() []Result {
	return []Result{
		OK,
		Connect,
		HTTPError,
		Overload,
		Refused, ErrorFrame, NoFirstToken, Stalled, NeverEnded, Truncated, Empty, Timeout, Malformed, Unsupported,
	}
}

// Report is the outcome of one request.
type Report struct {
	// Result is empty if the exporter gave up the request.
	Result Result
	// Reason describes the failure, empty if there is none.
	Reason string
	// Quota is true if the answer was that this client asks too often, status 429, which says nothing of others.
	Quota bool
	// Barred is true if the answer was that this client may not ask, status 401 or 403, or that what it asks for is not
	// there, 404: nobody failed.
	Barred bool
	// SelfTest is true for the server's own health check, which takes another way than the requests of clients.
	SelfTest bool
	// Asked is when the request began, At when it ended.
	Asked, At time.Time
	// FirstToken is the time from the written request to the first text, Duration to the end of
	// the stream, LongestGap the longest time between two frames with text, Tail the time from
	// the last such frame to the end. They are set only for good answers.
	FirstToken, Duration, LongestGap, Tail time.Duration
	// EngineQueue and EngineFirstToken are the times from the arrival of the request to its
	// scheduling and to its first token, as measured by the server; 0 if unknown.
	EngineQueue, EngineFirstToken time.Duration
	// Frames is the number of frames with text, Tokens the number of tokens according to the
	// server, or else Frames.
	Frames, Tokens int
	// Output is the SHA-256 of the text of a good answer, in hexadecimal.
	Output string
}

// Idle reports whether the report says nothing of the server. A request that never changes is not to blame for being
// refused if it was tried before, with success; of one that cannot be sent nobody knows.
func (r *Report) Idle(tried bool) bool {
	return r.Quota || r.Barred || r.Result == Unsupported || r.Result.Doubtful() && !tried
}

// Answered reports whether the server answered, even if with another text or later than it should. The end may be
// late, or cut off by a proxy: what came before was an answer.
func (r *Report) Answered() bool {
	switch r.Result { //nolint:exhaustive // The others are no answers.
	case OK, Empty, Timeout, NeverEnded:
		return true
	case Truncated:
		return r.Frames > 0
	}
	return false
}

// failure is the reason why a request ended. It is an error so that it can be the cause of a
// canceled context.
type failure struct {
	result Result
	reason string
}

func (f *failure) Error() string { return string(f.result) + ": " + f.reason }

package canary

import "time"

// Result is the result of a request. It is the value of a metric label, so the list
// is closed.
type Result string

// The results of a request.
const (
	OK           Result = "ok"             // The first token, all others and the end arrived in time.
	Connect      Result = "connect"        // No connection, or it ended before the server answered.
	HTTPError    Result = "http_error"     // A status of 500 or more but 503, or 400 of Triton's generate_stream.
	Overload     Result = "overload"       // Status 503, as of servers whose queue is full.
	Refused      Result = "refused"        // Another status than 200, which is about the request.
	ErrorFrame   Result = "error_frame"    // Status 200, and an error in the answer.
	NoFirstToken Result = "no_first_token" // No text before first_token_timeout.
	Stalled      Result = "stalled"        // No further text before gap_timeout, with tokens still to come.
	NeverEnded   Result = "never_ended"    // All tokens arrived, and no end before end_timeout.
	Truncated    Result = "truncated"      // The connection ended before the stream did.
	Empty        Result = "empty"          // The stream ended regularly without any text.
	Timeout      Result = "timeout"        // Tokens still arrived when timeout was over.
	Malformed    Result = "malformed"      // The answer is not an event stream, or it is too large.
	Unsupported  Result = "unsupported"    // The model takes no text, so it cannot be queried.
)

// Hangs reports whether the server accepted the request and then stopped sending.
func (r Result) Hangs() bool { return r == NoFirstToken || r == Stalled || r == NeverEnded }

// Late reports whether the answer took longer than it may, or had to wait for capacity.
func (r Result) Late() bool { return r.Hangs() || r == Timeout || r == Overload }

// Doubtful reports whether a server in order may give such an answer.
func (r Result) Doubtful() bool {
	return r == Refused || r == Empty || r == Timeout || r == Malformed || r == Unsupported
}

// noConnection is the result of a request for which the exporter had no connection.
const noConnection Result = "no_connection"

// Results lists every result once.
func Results() []Result {
	return []Result{
		OK, Connect, HTTPError, Overload, Refused, ErrorFrame, NoFirstToken, Stalled, NeverEnded, Truncated, Empty, Timeout, Malformed, Unsupported,
	}
}

// Report is the outcome of one request.
type Report struct {
	// Result is empty if the exporter gave up the request.
	Result Result
	// Reason describes the failure; empty if there is none.
	Reason string
	// At is when the request ended.
	At time.Time
	// FirstToken is the time from the request written to the first text, Duration to the
	// end of the stream, LongestGap the longest time between two frames with text, Tail
	// the time from the last of them to the end. They are set for good answers only.
	FirstToken, Duration, LongestGap, Tail time.Duration
	// EngineQueue and EngineFirstToken are the times from the request's arrival to its
	// place in the batch and to its first token, as measured by the server; 0 if there is none.
	EngineQueue, EngineFirstToken time.Duration
	// Frames is the number of frames with text, Tokens the number of tokens that the
	// server reports, or else of frames.
	Frames, Tokens int
	// Output is the SHA-256 of the text of a good answer, in hexadecimal.
	Output string
}

// failure is why a request ended. It is an error so that it can be the cause of a
// canceled context.
type failure struct {
	result Result
	reason string
}

func (f *failure) Error() string { return string(f.result) + ": " + f.reason }

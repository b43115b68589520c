package canary

import "time"

// Result is one word for how a request went; the list is closed, so that it can
// be the value of a metric label.
type Result string

// The results of a request.
const (
	// OK: the first token, all others and the end came in time.
	OK Result = "ok"
	// Connect: no connection, or it ended before the server answered.
	Connect Result = "connect"
	// HTTPError: a status other than 200.
	HTTPError Result = "http_error"
	// ErrorFrame: status 200, and an error in the answer.
	ErrorFrame Result = "error_frame"
	// NoFirstToken: no text before first_token_timeout.
	NoFirstToken Result = "no_first_token"
	// Stalled: no further text before gap_timeout, with tokens still to come.
	Stalled Result = "stalled"
	// NeverEnded: all tokens came, and no end before end_timeout.
	NeverEnded Result = "never_ended"
	// Truncated: the connection ended before the stream did.
	Truncated Result = "truncated"
	// Empty: the stream ended as it should and had no text.
	Empty Result = "empty"
	// Timeout: tokens still came when timeout was over.
	Timeout Result = "timeout"
	// Malformed: the answer is no stream of events, or too large a one.
	Malformed Result = "malformed"
	// Unsupported: the model takes no text, so it cannot be asked.
	Unsupported Result = "unsupported"
)

// Hangs reports whether a request went so because the server took it and put nothing
// out. Refusals and errors are answers.
func (r Result) Hangs() bool { return r == NoFirstToken || r == Stalled || r == NeverEnded }

// Late reports whether a request went so because the answer took longer than it may.
func (r Result) Late() bool { return r.Hangs() || r == Timeout }

// short is how a request went for which the exporter had no connection, or that
// gave it up to others: it says nothing of the server, and is counted nowhere.
const short Result = "short"

// Results lists every result once.
func Results() []Result {
	return []Result{
		OK, Connect, HTTPError, ErrorFrame, NoFirstToken, Stalled, NeverEnded, Truncated, Empty, Timeout, Malformed, Unsupported,
	}
}

// Report is how one request went. It is immutable once it is handed on.
type Report struct {
	// Result is empty for a request that was given up: its loop ended, or the
	// exporter had too few connections.
	Result Result
	// Reason says what was seen, for people; empty when all is well.
	Reason string
	// At is when the request ended.
	At time.Time
	// FirstToken is the time from the request written to the first text, Duration
	// that to the end of the stream, LongestGap the longest time between two
	// frames with text, Tail the time from the last of them to the end. They
	// are known of good answers only, LongestGap with two frames or more.
	FirstToken, Duration, LongestGap, Tail time.Duration
	// EngineQueue and EngineFirstToken are the times from the request's arrival to
	// its place in the batch and to its first token as the server itself measured
	// them; EngineFirstToken is 0 where it does not say.
	EngineQueue, EngineFirstToken time.Duration
	// Frames are those with text; Tokens what the server says it generated, the
	// frames where it says nothing.
	Frames, Tokens int
	// Output is the SHA-256 of the whole text in hexadecimal, of good answers.
	Output string
}

// failure ends a request: why, and in which words.
type failure struct {
	result Result
	reason string
}

// Error makes a failure the cause of an ended context.
func (f *failure) Error() string { return string(f.result) + ": " + f.reason }

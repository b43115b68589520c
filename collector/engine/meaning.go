package engine

// Signal is one quantity of a server in our words; rules read signals and
// know nothing of the names that servers use.
type Signal string

// Scope says what a signal is of.
type Scope uint8

// Signals are of the engine that serves an entry model, of one model of the
// server, or of the server or its machine as a whole.
const (
	OfEngine Scope = iota
	OfModel
	OfServer
)

// Combine says how series that mean the same of the same model become one.
type Combine uint8

const (
	// Sum adds them: requests, tokens, blocks.
	Sum Combine = iota
	// Max takes the largest: sizes, timestamps.
	Max
	// Newest takes the one that changed last: a trtllm-serve in multiprocess
	// mode keeps the gauges of dead processes, each under its own pid.
	Newest
)

// Meaning says what the series of one name mean.
type Meaning struct {
	// Name is the sample name at the server.
	Name string
	// Label and Value select series of the name; empty takes all of them.
	Label, Value string
	// Signal is our word for it, Scale what its value is multiplied with to
	// be in seconds, bytes, joules or a ratio; 0 stands for 1.
	Signal Signal
	Scale  float64
	// Scope and Combine say what the signal is of and how equals combine.
	Scope   Scope
	Combine Combine
	// Counter is true when the value only grows within one life of the
	// server, whatever TYPE says.
	Counter bool
	// Dims are the server's labels that stay, as "theirs=ours"; Const are
	// labels that are added, as "ours=value".
	Dims  []string
	Const string
}

// Index finds the meanings of a sample name.
type Index map[string][]Meaning

// NewIndex prepares the meanings of an engine for look-up.
func NewIndex(e Engine) Index {
	index := make(Index)
	for _, m := range e.Meanings() {
		if m.Scale == 0 {
			m.Scale = 1
		}
		index[m.Name] = append(index[m.Name], m)
	}
	return index
}

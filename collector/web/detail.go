package web

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Detail is what /replica says, for programs:
// /replica?target=POOL/REPLICA&format=json.
type Detail struct {
	Replica

	// Scraped says how the scrapes of the replica went, Page is where.
	Scraped string `json:"scraped"`
	Page    string `json:"page"`
	evidence
}

// evidence is what the page of a replica has in lists.
type evidence struct {
	// Labels are those that the exporter adds to its series.
	Labels []Origin `json:"labels"`
	// Changes are its states, the newest first, as far as this exporter remembers.
	Changes []Change `json:"changes,omitempty"`
	// Failure is the last scrape that failed; nil when none did.
	Failure *Failure `json:"last_failure,omitempty"`
	// Lists are what the server does not expose, what is not as expected, and so on.
	Lists    []Checks  `json:"lists,omitempty"`
	Commands []Command `json:"commands,omitempty"`
}

// Origin is a label of a replica's series with where its value comes from.
type Origin struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Change is a line of the history of states.
type Change struct {
	At     string `json:"at"`
	Lasted string `json:"lasted"`
	Word   string `json:"word"`
	Tone   string `json:"-"`
	Reason string `json:"reason,omitempty"`
}

// Failure is the last scrape that failed.
type Failure struct {
	At     string `json:"at"`
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text"`
	// Over says that scrapes have succeeded since.
	Over bool `json:"over"`
}

// Checks is a list of checks with those that are not met.
type Checks struct {
	// Title is what not being met means, Others how many are met.
	Title  string         `json:"title"`
	Others string         `json:"others,omitempty"`
	NotOK  []target.Check `json:"checks"`
}

// Command is one that repeats what the exporter does.
type Command struct {
	What string `json:"what"`
	Line string `json:"line"`
}

// detail is the page of a replica as data.
func (s *Server) detail(v *replicaView) *Detail {
	d := &Detail{
		Replica: s.replicaDocument(v.replica, newScrubber()), Scraped: v.Scraped(), Page: address(v.status.PageURL),
		evidence: v.evidence,
	}
	d.Reason = v.Reason
	return d
}

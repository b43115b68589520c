package replica

import (
	"cmp"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
)

// Past is what a replica has seen of its server, for the one that takes its place
// when it is to be asked otherwise: a server that ended, or is ending, would pass
// for one that was never there.
type Past struct {
	// page is true when there was one; begun is when it was looked for first.
	page  bool
	begun time.Time
	api   api.Past
}

// Past is what was seen so far, nothing of a silent replica: it was not looked for. It
// may be called after Close.
func (r *Replica) Past() Past {
	if r.target.Silent {
		return Past{}
	}
	return Past{r.seen(), r.begun(), r.answers.Past(r.api(), r.past.api)}
}

// seen reports whether there was ever a page.
func (r *Replica) seen() bool { return r.past.page || !r.status.LastSuccess.IsZero() }

// begun is when the server was looked for first.
func (r *Replica) begun() time.Time { return cmp.Or(r.past.begun, r.tally.Begun) }

// Remember has the past of another replica of the same address count.
func (r *Replica) Remember(past Past) {
	r.do(func() {
		r.past = past
		r.answers.Inherit(past.api, r.api())
	})
}

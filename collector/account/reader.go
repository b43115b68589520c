package account

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Reader passes each scrape of the replicas of a store on to a recorder, if it is asked more often than
// they are scraped. It is not safe for concurrent use.
type Reader struct {
	store    *snapshot.Store
	recorder *Recorder
	// scrapes counts those of each replica that were passed on, workedAt is when one last showed work.
	scrapes  map[string]uint64
	workedAt time.Time
}

// NewReader returns a reader of a store.
func NewReader(store *snapshot.Store, recorder *Recorder) *Reader {
	return &Reader{store: store, recorder: recorder, scrapes: make(map[string]uint64)}
}

// Read passes on the scrapes since the last call. Programs that are no LLM servers are left out.
func (r *Reader) Read() {
	for _, slot := range r.store.Slots() {
		t, s := slot.Target(), slot.Latest()
		if s.Status.Scrapes == r.scrapes[t.Key()] || t.Silent || s.Status.Companion != "" || t.Beside != "" {
			continue
		}
		r.scrapes[t.Key()] = s.Status.Scrapes
		p := pageOf(t, s)
		if r.recorder.Add(&p) {
			r.workedAt = p.At
		}
	}
}

// Answered returns how many replicas have a page, and the names of those that have none and of programs that are no
// LLM servers, with the reason.
func (r *Reader) Answered() (pages int, without, others []string) {
	for _, slot := range r.store.Slots() {
		t, s := slot.Target(), slot.Latest().Status
		switch {
		case t.Silent, s.Companion != "" && t.Beside != "":
		case s.Companion != "":
			others = append(others, t.Key()+": it is "+s.Companion+", not an LLM server")
		case s.Health == target.HealthUp:
			pages++
		default:
			without = append(without, t.Key()+": "+s.LastError)
		}
	}
	return pages, without, others
}

// ReadSince reports whether each replica was scraped since a time, and no page since shows work.
func (r *Reader) ReadSince(since time.Time) (all, idle bool) {
	for _, slot := range r.store.Slots() {
		if s := slot.Latest().Status; !slot.Target().Silent && s.LastScrape.Before(since) {
			return false, false
		}
	}
	return true, !r.workedAt.After(since)
}

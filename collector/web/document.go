package web

import (
	"net/http"
	"time"
)

// Fleet is what / says, for programs: /?format=json. What is not known is nil
// and left out of the JSON, never 0.
type Fleet struct {
	// At is when the answer was made.
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	Verdict Verdict   `json:"verdict"`
	// Searches are sentences about pools that have no targets, or wait for them.
	Searches []string `json:"discovery,omitempty"`
	// Pools and Replicas come the worst first.
	Pools    []Pool    `json:"pools"`
	Replicas []Replica `json:"replicas"`
}

// writeFleet answers with the fleet as far as the filter takes it.
func (s *Server) writeFleet(w http.ResponseWriter, f filter, now time.Time) {
	all, byPool := s.readFleet()
	v := s.newFleetView(f, all, now)
	all = f.take(all)
	doc := &Fleet{At: moment(now), Version: v.Version, Verdict: v.Verdict, Searches: v.Searches, Pools: []Pool{}, Replicas: make([]Replica, len(all))}
	for _, p := range poolViews(all, byPool) {
		doc.Pools = append(doc.Pools, p.Pool)
	}
	for i, r := range all {
		doc.Replicas[i] = r.Replica
	}
	writeJSON(w, doc)
}

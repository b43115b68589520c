package web

import "time"

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

// Fleet is what is known now of all replicas.
func (s *Server) Fleet() *Fleet { return s.fleet(filter{}) }

// fleet is what is known now of the replicas that a filter takes; the verdict is on all.
func (s *Server) fleet(f filter) *Fleet {
	now := time.Now()
	all, byPool := s.readFleet(now)
	doc := &Fleet{
		At: moment(now), Version: s.opts.Version, Verdict: judgeFleet(all, byPool, now), Searches: s.searchProblems(), Pools: []Pool{}, Replicas: []Replica{},
	}
	all = f.take(all)
	f.sort(all)
	for _, p := range poolViews(all, byPool) {
		doc.Pools = append(doc.Pools, p.Pool)
	}
	for _, r := range all {
		doc.Replicas = append(doc.Replicas, r.Replica)
	}
	return doc
}

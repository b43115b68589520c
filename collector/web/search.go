package web

import (
	"cmp"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// lacking says why a pool has no targets; empty where it has some.
func lacking(s *target.PoolDiscovery) string { return sentence(cmp.Or(s.Waiting(), s.Problem())) }

// searches are what discovery found of every pool, without secrets; what
// relabeling dropped is left out unless it is asked for.
func (s *Server) searches(dropped bool) []*target.PoolDiscovery {
	found := s.opts.Searches()
	all := make([]*target.PoolDiscovery, len(found))
	for i := range found {
		search := &found[i]
		if search.Error = target.Scrub(search.Error); !dropped {
			search.Drops = nil
		}
		for j := range search.Sources {
			search.Sources[j].LastError = target.Scrub(search.Sources[j].LastError)
		}
		all[i] = search
	}
	return all
}

// said are texts about the searches, without those that are empty.
func (s *Server) said(of func(*target.PoolDiscovery) string) []string {
	var said []string
	for _, search := range s.searches(true) {
		if text := of(search); text != "" {
			said = append(said, text)
		}
	}
	return said
}

// searchProblems are sentences about the pools that have no targets.
func (s *Server) searchProblems() []string {
	said := s.said(func(search *target.PoolDiscovery) string { return brief(lacking(search)) })
	return said[:min(len(said), problemsShown)]
}

// waiting says for which sources pools wait.
func (s *Server) waiting() []string { return s.said((*target.PoolDiscovery).Waiting) }

// withoutTargets says which pools have no targets although nothing is waited for.
func (s *Server) withoutTargets() []string {
	return s.said(func(search *target.PoolDiscovery) string { return sentence(search.Problem()) })
}

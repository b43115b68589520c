package web

import (
	"cmp"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// noTargets explains why a pool has no targets; empty if it has some.
func noTargets(s *target.PoolDiscovery) string { return sentence(cmp.Or(s.Waiting(), s.Problem())) }

// searches returns what discovery found for each pool, without secrets; with what relabeling
// dropped only if asked for.
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

// describeSearches returns the texts about the searches that are not empty.
func (s *Server) describeSearches(text func(*target.PoolDiscovery) string) []string {
	return slices.DeleteFunc(mapped(s.searches(true), text), func(text string) bool { return text == "" })
}

// searchProblems describes the pools without targets.
func (s *Server) searchProblems() []string {
	texts := s.describeSearches(func(search *target.PoolDiscovery) string { return shortened(noTargets(search)) })
	return texts[:min(len(texts), maxProblems)]
}

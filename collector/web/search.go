package web

import (
	"cmp"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func noTargets(s *target.PoolDiscovery) string { return sentence(cmp.Or(s.Waiting(), s.Problem())) }

// searches returns what discovery found for each pool, without secrets; with what relabeling
// dropped only if asked for.
func (s *Server) searches(dropped bool) []target.PoolDiscovery {
	all := s.opts.Searches()
	for i := range all {
		search := &all[i]
		if search.Error = target.Scrub(search.Error); !dropped {
			search.Drops = nil
		}
		for j := range search.Sources {
			search.Sources[j].LastError = target.Scrub(search.Sources[j].LastError)
		}
	}
	return all
}

func (s *Server) describeSearches(text func(*target.PoolDiscovery) string) []string {
	texts := mapped(s.searches(true), func(search target.PoolDiscovery) string { return text(&search) })
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

func (s *Server) searchProblems() []string {
	texts := s.describeSearches(func(search *target.PoolDiscovery) string { return shortened(noTargets(search)) })
	return texts[:min(len(texts), maxProblems)]
}

package web

import (
	"cmp"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// search is what was found of one pool, for /targets.
type search struct{ *target.Search }

// Sentence says why the pool has no targets; empty where it has some.
func (s search) Sentence() string { return sentence(cmp.Or(s.Waiting(), s.Problem())) }

// searches are what discovery found of every pool, without secrets; what
// relabeling dropped is left out unless it is asked for.
func (s *Server) searches(dropped bool) []target.Search {
	all := s.opts.Searches()
	for i := range all {
		search := &all[i]
		if search.Error = scrub(search.Error); !dropped {
			search.Drops = nil
		}
		for j := range search.Sources {
			search.Sources[j].LastError = scrub(search.Sources[j].LastError)
		}
	}
	return all
}

// searchViews are the searches for people.
func searchViews(all []target.Search) []search {
	views := make([]search, len(all))
	for i := range all {
		views[i].Search = &all[i]
	}
	return views
}

// said are texts about the searches, without those that are empty.
func (s *Server) said(of func(*target.Search) string) []string {
	all := s.searches(true)
	var said []string
	for i := range all {
		if text := of(&all[i]); text != "" {
			said = append(said, text)
		}
	}
	return said
}

// searchProblems are sentences about the pools that have no targets.
func (s *Server) searchProblems() []string {
	said := s.said(func(of *target.Search) string { return brief(search{of}.Sentence()) })
	return said[:min(len(said), problemsShown)]
}

// waiting says for which sources pools wait.
func (s *Server) waiting() []string { return s.said((*target.Search).Waiting) }

// withoutTargets says which pools have no targets although nothing is waited for.
func (s *Server) withoutTargets() []string {
	return s.said(func(of *target.Search) string { return sentence(of.Problem()) })
}

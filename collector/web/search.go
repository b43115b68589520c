package web

import (
	"cmp"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// searchView is what was found of one pool, for /targets.
type searchView struct {
	target.Search

	// Sentence says what is wrong; empty for nothing.
	Sentence string
	Sources  []sourceView
}

// sourceView is one source of a pool; a time that never was is nil.
type sourceView struct {
	target.Source

	Success, Error *time.Time
}

// searches are what discovery found of every pool, without secrets; what
// relabeling dropped is left out unless it is asked for.
func (s *Server) searches(dropped bool) []target.Search {
	if s.opts.Searches == nil {
		return nil
	}
	clean := newScrubber()
	all := s.opts.Searches()
	for i := range all {
		search := &all[i]
		if search.Error = clean.text(search.Error); !dropped {
			search.Drops = nil
		}
		for j := range search.Sources {
			search.Sources[j].LastError = clean.text(search.Sources[j].LastError)
		}
	}
	return all
}

// searchViews are the searches for people.
func searchViews(all []target.Search) []searchView {
	views := make([]searchView, len(all))
	for i := range all {
		views[i].Search = all[i]
		views[i].Sentence = sentenceOf(&all[i])
		for _, source := range all[i].Sources {
			views[i].Sources = append(views[i].Sources, sourceView{source, moment(source.LastSuccess), moment(source.LastErrorAt)})
		}
	}
	return views
}

// sentenceOf says why a pool has no targets; empty where it has some.
func sentenceOf(s *target.Search) string { return sentence(cmp.Or(s.Waiting(), s.Problem())) }

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
	said := s.said(func(of *target.Search) string { return brief(sentenceOf(of)) })
	return said[:min(len(said), problemsShown)]
}

// waiting says for which sources pools wait.
func (s *Server) waiting() []string { return s.said((*target.Search).Waiting) }

// withoutTargets says which pools have no targets although nothing is waited for.
func (s *Server) withoutTargets() []string {
	return s.said(func(of *target.Search) string { return sentence(of.Problem()) })
}

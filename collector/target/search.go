package target

import (
	"fmt"
	"strings"
	"time"
)

// PoolDiscovery is what was found of one pool, from its sources to its targets, at one
// moment.
type PoolDiscovery struct {
	PoolID  string   `json:"pool_id"`
	Sources []Source `json:"sources"`
	// Answered is false until some source has answered.
	Answered bool `json:"answered"`
	// Found are the targets before relabeling. Of these relabeling dropped some,
	// some are those of other exporters of the same configuration, some cannot be
	// used, and the rest are the pool's Targets.
	Found     int `json:"found"`
	Dropped   int `json:"dropped"`
	Elsewhere int `json:"elsewhere"`
	LeftOut   int `json:"left_out"`
	Targets   int `json:"targets"`
	// Drops are the first of the targets that were dropped, Error why the first
	// that cannot be used was left out.
	Drops []Drop `json:"dropped_targets,omitempty"`
	Error string `json:"error,omitempty"`
}

// MaxDrops bounds [PoolDiscovery.Drops].
const MaxDrops = 100

// Source is one entry of a pool's configuration that finds targets.
type Source struct {
	// Key is its place there, "file_sd_configs[0]".
	Key     string `json:"source"`
	Targets int    `json:"targets"`
	// LastSuccess is when it answered last, with targets or without; LastErrorAt
	// when it failed last, and LastError how.
	LastSuccess time.Time `json:"last_success,omitzero"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
	LastError   string    `json:"last_error,omitempty"`
}

// Drop is one target that relabeling dropped, and the rule that did.
type Drop struct {
	Source  string `json:"source"`
	Address string `json:"address"`
	Rule    string `json:"rule"`
}

// Failing reports whether the last thing that is known of the source is an error.
// What it found in spite of one comes right after it.
func (s *Source) Failing() bool {
	return !s.LastErrorAt.IsZero() && s.LastErrorAt.Add(time.Second).After(s.LastSuccess)
}

// Waiting says for which sources a pool waits that has not found anything yet;
// empty when it does not wait.
func (s *PoolDiscovery) Waiting() string {
	if s.Answered {
		return ""
	}
	var names []string
	for i := range s.Sources {
		if source := &s.Sources[i]; source.LastSuccess.IsZero() {
			names = append(names, source.named())
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("pool %s waits for its targets", s.PoolID)
	}
	return fmt.Sprintf("pool %s waits for %s", s.PoolID, strings.Join(names, ", "))
}

// named is the source with its error, if it has one.
func (s *Source) named() string {
	if !s.Failing() {
		return s.Key
	}
	return s.Key + " (" + s.LastError + ")"
}

// Problem says in one sentence why a pool has no targets; empty where it has
// some, where other exporters have them, or while it waits.
func (s *PoolDiscovery) Problem() string {
	if !s.Answered || s.Targets > 0 || s.Elsewhere > 0 {
		return ""
	}
	head := fmt.Sprintf("pool %s has no targets: ", s.PoolID)
	switch {
	case s.Dropped > 0 && s.LeftOut > 0:
		return head + fmt.Sprintf("%d were found, of which relabeling dropped %d, and none of the others can be used: %s", s.Found, s.Dropped, s.Error)
	case s.Dropped > 0 && len(s.Drops) > 0:
		first := &s.Drops[0]
		if s.Dropped == 1 {
			return head + fmt.Sprintf("relabeling dropped the one that was found, %s: %s", first.Address, first.Rule)
		}
		return head + fmt.Sprintf("relabeling dropped all %d that were found, the first of them %s: %s", s.Dropped, first.Address, first.Rule)
	case s.LeftOut > 0:
		return head + fmt.Sprintf("%d were found and none can be used: %s", s.LeftOut, s.Error)
	}
	names := make([]string, len(s.Sources))
	for i := range s.Sources {
		names[i] = s.Sources[i].named()
	}
	return head + strings.Join(names, ", ") + " found none"
}

package target

import (
	"fmt"
	"strings"
	"time"
)

// PoolDiscovery is the current result of discovery for one pool.
type PoolDiscovery struct {
	PoolID  string   `json:"pool_id"`
	Sources []Source `json:"sources"`
	// Answered is false until a source has answered.
	Answered bool `json:"answered"`
	// Found counts the targets before relabeling. It is the sum of those Dropped, by relabeling,
	// because their pod has ended or another has the same page, Elsewhere on other shards, LeftOut
	// because they cannot be used, and the pool's Targets.
	Found     int `json:"found"`
	Dropped   int `json:"dropped"`
	Elsewhere int `json:"elsewhere"`
	LeftOut   int `json:"left_out"`
	Targets   int `json:"targets"`
	// Drops lists the first dropped targets. Error is the reason why the first unusable target
	// was left out.
	Drops []Drop `json:"dropped_targets,omitempty"`
	Error string `json:"error,omitempty"`
}

// MaxDrops limits [PoolDiscovery.Drops].
const MaxDrops = 100

// Source is one service discovery config of a pool.
type Source struct {
	// Key is its position in the configuration, such as "file_sd_configs[0]".
	Key         string    `json:"source"`
	Targets     int       `json:"targets"`
	LastSuccess time.Time `json:"last_success,omitzero"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
	LastError   string    `json:"last_error,omitempty"`
}

// Drop is a target that was dropped, with the rule.
type Drop struct {
	Source  string `json:"source"`
	Address string `json:"address"`
	Rule    string `json:"rule"`
}

// Drop counts a dropped target and keeps the first [MaxDrops] of them.
func (s *PoolDiscovery) Drop(source, address, rule string) {
	s.Dropped++
	if len(s.Drops) < MaxDrops {
		s.Drops = append(s.Drops, Drop{Source: Scrub(source), Address: address, Rule: rule})
	}
}

// Failing reports whether the last attempt failed. A partial failure reports the targets that
// were found right after its error, which does not count as success.
func (s *Source) Failing() bool {
	return !s.LastErrorAt.IsZero() && s.LastErrorAt.Add(time.Second).After(s.LastSuccess)
}

// Waiting describes the sources that the pool waits for. It returns an empty string once any has
// answered.
func (s *PoolDiscovery) Waiting() string {
	if s.Answered {
		return ""
	}
	var names []string
	for i := range s.Sources {
		if source := &s.Sources[i]; source.LastSuccess.IsZero() {
			names = append(names, source.named("file_sd_configs", "no file matches yet"))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("pool %s waits for its targets", s.PoolID)
	}
	return fmt.Sprintf("pool %s waits for %s", s.PoolID, strings.Join(names, ", "))
}

// named returns the key of the source with its error, if any. A source of the given block that is silent
// without an error has one explanation.
func (s *Source) named(block, silence string) string {
	switch {
	case s.Failing():
		return s.Key + " (" + s.LastError + ")"
	case strings.HasPrefix(s.Key, block):
		return s.Key + " (" + silence + ")"
	}
	return s.Key
}

// Problem describes in one sentence why the pool has no targets. It returns an empty string if it
// has targets, other shards have them, or it still waits.
func (s *PoolDiscovery) Problem() string {
	if !s.Answered || s.Targets > 0 || s.Elsewhere > 0 {
		return ""
	}
	prefix := fmt.Sprintf("pool %s has no targets: ", s.PoolID)
	switch {
	case s.Dropped > 0 && s.LeftOut > 0:
		return prefix + fmt.Sprintf("%d targets were found, %d were dropped, and none of the others "+
			"can be used: %s", s.Found, s.Dropped, s.Error)
	case s.Dropped > 0 && len(s.Drops) > 0:
		first := &s.Drops[0]
		if s.Dropped == 1 {
			return prefix + fmt.Sprintf("the only target found was dropped, %s: %s", first.Address, first.Rule)
		}
		return prefix + fmt.Sprintf(
			"all %d targets found were dropped, the first %s: %s",
			s.Dropped,
			first.Address,
			first.Rule,
		)
	case s.LeftOut == 1:
		return prefix + "the only target found cannot be used: " + s.Error
	case s.LeftOut > 0:
		return prefix + fmt.Sprintf("none of the %d targets found can be used, the first: %s", s.LeftOut, s.Error)
	}
	names := make([]string, len(s.Sources))
	for i := range s.Sources {
		// Name servers answer both alike to discovery.
		names[i] = s.Sources[i].named("dns_sd_configs", "no such record, or no such name")
	}
	return prefix + strings.Join(names, ", ") + " found none"
}

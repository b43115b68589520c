package owner

import (
	"sync"
	"time"
)

// Turns lets a few owners at a time do what is dear, in the order in which they
// ask. It is safe for concurrent use.
type Turns struct {
	longest time.Duration

	mu      sync.Mutex
	free    int
	waiting []*Turn
}

// NewTurns lets so many have their turn at a time. One that takes longer than
// longest goes on, and the next has its turn.
func NewTurns(atOnce int, longest time.Duration) *Turns {
	return &Turns{free: atOnce, longest: longest}
}

// Turn is that of one owner. A nil one has come and is over.
type Turn struct {
	of    *Turns
	begin func()
	// come says that it has come, over that it has ended; timer ends it.
	come, over bool
	timer      *time.Timer
}

// Ask asks for a turn. Unless it has come already, begin is called when it does, by
// a goroutine of its own.
func (s *Turns) Ask(begin func()) *Turn {
	t := &Turn{of: s, begin: begin}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		s.waiting = append(s.waiting, t)
		return t
	}
	s.free--
	s.give(t)
	return t
}

// give lets a turn come.
func (s *Turns) give(t *Turn) {
	t.come, t.timer = true, time.AfterFunc(s.longest, t.End)
}

// next gives a turn that has ended to who has waited for the longest time.
func (s *Turns) next() {
	for len(s.waiting) > 0 {
		t := s.waiting[0]
		s.waiting[0], s.waiting = nil, s.waiting[1:]
		if !t.over {
			s.give(t)
			go t.begin()
			return
		}
	}
	s.waiting = nil
	s.free++
}

// Come says whether the turn has come.
func (t *Turn) Come() bool {
	if t == nil {
		return true
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return t.come
}

// End ends a turn, whether it has come or not.
func (t *Turn) End() {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.come {
		t.timer.Stop()
		t.of.next()
	}
}

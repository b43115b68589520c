package simulate

import "time"

// newServer makes the software of a kind for a new process.
func newServer(w *world) server {
	switch w.spec.Kind {
	case KindServe, KindServeGen2, KindServeOld:
		return newServe(w)
	case KindNIM:
		return newNIM(w)
	case KindDynamo:
		return newDynamo(w)
	default:
		return newTriton(w)
	}
}

// plain is the part of servers that take every request and have no work of
// their own between requests.
type plain struct{ w *world }

func (p plain) admit(*request) bool { return !p.w.failing }
func (plain) accepted(*request)     {}
func (plain) next() time.Duration   { return never }
func (plain) tick()                 {}

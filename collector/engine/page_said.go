package engine

import (
	"runtime"
	"sync"
	"weak"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// likeness is of pages that say the same.
type likeness struct {
	kind Kind
	page exposition.Likeness
}

// keptSaid keeps what pages say once, for as long as any has it: those of replicas
// of one kind say the same. It is safe for concurrent use.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var keptSaid = struct {
	mu sync.Mutex
	of map[likeness]weak.Pointer[said]
}{of: make(map[likeness]weak.Pointer[said])}

// once gives what pages of a kind and shape say, which is read if no page has it.
func once(kind Kind, shape *exposition.Shape, read func() *said) *said {
	page, shares := shape.Likeness()
	if !shares {
		return read()
	}
	k, key := &keptSaid, likeness{kind, page}
	k.mu.Lock()
	same := k.of[key].Value()
	k.mu.Unlock()
	if same != nil {
		return same
	}
	mine := read()
	pointer := weak.Make(mine)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[key] = pointer
	runtime.AddCleanup(mine, forgetSaid, goneSaid{key, pointer})
	return mine
}

// goneSaid is what no page says any more.
type goneSaid struct {
	likeness

	pointer weak.Pointer[said]
}

// forgetSaid takes it out, unless another has taken its place.
func forgetSaid(g goneSaid) {
	k := &keptSaid
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[g.likeness] == g.pointer {
		delete(k.of, g.likeness)
	}
}

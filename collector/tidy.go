package collector

import (
	"runtime/debug"
	"time"
)

// tidyAfter is how long after the last change of the fleet memory is given back:
// until then new replicas have their first pages and their answers.
const tidyAfter = 45 * time.Second

// tidy gives memory back to the system when a fleet has come up or has shrunk. What
// it takes to get to know a server is more than what is kept of it, and an exporter
// that then makes next to no garbage would have it for minutes more. Its owner
// guards it.
type tidy struct {
	timer *time.Timer
	// free is debug.FreeOSMemory, another one in tests.
	free func()
}

// later has memory given back in a while, counted from the last call.
func (t *tidy) later() {
	if t.timer != nil {
		t.timer.Reset(tidyAfter)
		return
	}
	free := t.free
	if free == nil {
		free = debug.FreeOSMemory
	}
	t.timer = time.AfterFunc(tidyAfter, free)
}

// stop gives up what later asked for.
func (t *tidy) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

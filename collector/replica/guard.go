package replica

import (
	"fmt"
	"runtime/debug"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// guard does one step for the replica and keeps a panic there from ending the
// process; the panic comes back as the failure of that step.
func (r *Replica) guard(step string, do func()) (failed error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Step panicked", "step", step, "panic", p, "stack", string(debug.Stack()))
			r.pool.Panicked()
			failed = &scrape.Error{Reason: scrape.ReasonPanic, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	do()
	return nil
}

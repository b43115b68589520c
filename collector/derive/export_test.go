package derive

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Derive computes the derived series of one page at once, as for a page that is
// read.
func (d *Deriver) Derive(at time.Duration, page *exposition.Block) *exposition.Block {
	b := d.Follow(at, page)
	b.Settle()
	return b
}

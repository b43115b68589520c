package derive

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Derive computes the derived series of one page, which is read first where its
// shape is new.
func (d *Deriver) Derive(at time.Duration, page *exposition.Block) *exposition.Block {
	read := d.read
	if read == nil || read.Shape() != page.Shape() {
		read = engine.ReadNext(d.opts.Engine, page, read)
	} else {
		read.Refresh(page)
	}
	d.Follow(at, page, read)
	return d.Render(page)
}

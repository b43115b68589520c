package derive

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Derive computes the derived series of one page at once, as for a page that is
// read.
func (d *Deriver) Derive(at time.Duration, page *exposition.Block) *exposition.Block {
	b := d.FollowPage(at, page)
	b.Settle()
	return b
}

// FollowPage follows one page, which is read first where its shape is new.
func (d *Deriver) FollowPage(at time.Duration, page *exposition.Block) *exposition.Block {
	read := d.read
	if read == nil || read.Shape() != page.Shape() {
		read = engine.ReadNext(d.opts.Engine, page, read)
	} else {
		read.Refresh(page)
	}
	return d.Follow(at, page, read)
}

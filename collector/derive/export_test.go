package derive

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// TestMain collects garbage less often: the tests parse thousands of pages.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// Derive returns the derived series of one page.
func (d *Deriver) Derive(now time.Duration, block *exposition.Block, over Connection) *exposition.Block {
	return d.DeriveLate(now, 0, 0, block, over)
}

// DeriveLate is Derive for a page that took some time, and was in a cache for some.
func (d *Deriver) DeriveLate(now, took, age time.Duration, block *exposition.Block, over Connection) *exposition.Block {
	page := d.page
	if page == nil || page.Shape() != block.Shape() {
		page = engine.ReadNext(d.opts.Engine, block, page)
	} else {
		page.Refresh(block)
	}
	seen := d.Sight(now, block, page, over)
	seen.Took, seen.Age = took, age
	d.Observe(seen)
	return d.Render(block)
}

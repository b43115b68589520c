package collector

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// rest keeps a replica that binds no port on the page until ctx ends: its
// state, and nothing about scrapes, for there are none that could fail.
func (r *replica) rest(ctx context.Context) {
	r.present()
	<-ctx.Done()
}

// present publishes a replica that is never scraped.
func (r *replica) present() {
	before := r.status
	r.judge(nil)
	r.describe(nil)
	r.slot.Publish(snapshot.Snapshot{About: r.about.block(), Status: r.status})
	r.announce(&before)
}

package replica

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// leftOut is what is left off our page of a target because it is too much.
type leftOut struct {
	// page is the shape of the page that was published last, derived what its
	// derived series lack.
	page    *exposition.Shape
	derived derive.LeftOut
	// said is that for people, a sentence for each cause.
	said []string
}

// LeaveOut counts the series that are left off ours of a page and of what is
// derived from it, and says so for people, a sentence for each cause; shape is nil
// when the scrape failed. The slice is only read.
func (t *tally) LeaveOut(shape *exposition.Shape, derived derive.LeftOut) []string {
	if shape == t.left.page && derived == t.left.derived {
		return t.left.said
	}
	t.left = leftOut{page: shape, derived: derived}
	if shape == nil {
		return nil
	}
	said := &t.left.said
	if raw := shape.LeftOut(); raw.Series > 0 {
		*said = append(*said, fmt.Sprintf(
			"%d series of the page, all of %s: more than three quarters of limits.output_series or limits.output_bytes. Drop series with metric_relabel_configs, or raise the limit",
			raw.Series, named(raw),
		))
	}
	if derived.Series > 0 {
		*said = append(*said, fmt.Sprintf("%d derived series: with those of the page they are more than limits.output_series or limits.output_bytes", derived.Series))
	}
	if derived.Models > 0 {
		*said = append(*said, fmt.Sprintf("the derived series of %d models: more models than limits.output_models", derived.Models))
	}
	return *said
}

// counts are the series of the page and the derived series that are left out.
func (l *leftOut) counts() (page, derived uint64) {
	if l.page == nil {
		return 0, 0
	}
	return uint64(l.page.LeftOut().Series), uint64(l.derived.Series)
}

// named are the families that are left out.
func named(left exposition.LeftOut) string {
	names := strings.Join(left.Names, ", ")
	if more := left.Families - len(left.Names); more > 0 {
		return fmt.Sprintf("%s and %d other families", names, more)
	}
	return names
}

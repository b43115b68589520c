package replica

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// limits are those of the page: where it is shown, it may take three quarters of
// the output, so that a huge page leaves room for what is derived from it.
func (p *Pool) limits() exposition.Limits {
	limits := p.Limits
	if p.Page.Raw {
		limits.Output = p.Output.Budget
		limits.Output.Series = (3*limits.Output.Series + 3) / 4
		limits.Output.Bytes = (3*limits.Output.Bytes + 3) / 4
	}
	return limits
}

// leftOut notes what is left out of the page that is published; shape is nil
// when the scrape failed.
func (r *Replica) leftOut(shape *exposition.Shape) {
	derived := r.numbers.deriver.LeftOut()
	if shape == r.page.left && derived == r.page.leftDerived {
		return
	}
	r.page.left, r.page.leftDerived = shape, derived
	s, t := &r.status, &r.tally
	s.LeftOut, t.LeftOut, t.LeftOutDerived = nil, 0, 0
	if shape == nil {
		return
	}
	if raw := shape.LeftOut(); raw.Series > 0 {
		t.LeftOut = uint64(raw.Series)
		s.LeftOut = append(s.LeftOut, fmt.Sprintf(
			"%d series of the page, all of %s: more than three quarters of limits.output_series or limits.output_bytes. Drop series with metric_relabel_configs, or raise the limit",
			raw.Series, named(raw),
		))
	}
	if t.LeftOutDerived = uint64(derived.Series); derived.Series > 0 {
		s.LeftOut = append(s.LeftOut, fmt.Sprintf("%d derived series: with those of the page they are more than limits.output_series or limits.output_bytes", derived.Series))
	}
	if derived.Models > 0 {
		s.LeftOut = append(s.LeftOut, fmt.Sprintf("the derived series of %d models: more models than limits.output_models", derived.Models))
	}
}

// named are the families that are left out.
func named(left exposition.LeftOut) string {
	names := strings.Join(left.Names, ", ")
	if more := left.Families - len(left.Names); more > 0 {
		return fmt.Sprintf("%s and %d other families", names, more)
	}
	return names
}

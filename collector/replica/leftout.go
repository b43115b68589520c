package replica

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// setLeftOut sets which series of a page, and which series derived from it, are left out of
// /metrics because of limits, and describes them, one sentence per cause. Shape is nil if the
// scrape failed.
func (c *counters) setLeftOut(shape *exposition.Shape, derived derive.Dropped) []string {
	c.leftOut, c.derivedLeftOut = exposition.LeftOut{}, derive.Dropped{}
	if shape == nil {
		return nil
	}
	c.leftOut, c.derivedLeftOut = shape.LeftOut(), derived
	var sentences []string
	if c.leftOut.Series > 0 {
		sentences = append(sentences, fmt.Sprintf(
			"%d series of the page, all of %s: more than three quarters of limits.output_series or "+
				"limits.output_bytes. Drop series with metric_relabel_configs, or raise the limit",
			c.leftOut.Series, familyNames(c.leftOut),
		))
	}
	if derived.Series > 0 {
		sentences = append(
			sentences,
			fmt.Sprintf(
				"%d derived series: with those of the page they are more than "+
					"limits.output_series or limits.output_bytes",
				derived.Series,
			),
		)
	}
	if derived.Models > 0 {
		sentences = append(
			sentences,
			fmt.Sprintf("the derived series of %d models: more models than limits.output_models", derived.Models),
		)
	}
	return sentences
}

// familyNames names some of the families that are left out and counts the others.
func familyNames(l exposition.LeftOut) string {
	names := strings.Join(l.Names, ", ")
	if others := l.Families - len(l.Names); others > 0 {
		return fmt.Sprintf("%s and %d other families", names, others)
	}
	return names
}

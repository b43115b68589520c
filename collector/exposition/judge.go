package exposition

import "github.com/prometheus/common/model"

// append appends the lines whose values readers accept. Lines that their own
// target does not call part of a histogram may hold negative numbers of
// observations, for which readers refuse the whole page.
func (p *part) append(dst []byte, b *Block) []byte {
	if p.roles == nil || p.Type != model.MetricTypeHistogram {
		return p.segment.append(dst, b)
	}
	start := uint32(0)
	for i := range p.lines {
		line := &p.lines[i]
		v := b.spans[line.value]
		if value := b.data[v.start:v.end]; len(value) > 0 && (p.roles[i] == roleSum || !negative(value)) {
			dst = p.appendPrefix(dst, start, line)
			dst = append(append(dst, value...), '\n')
		}
		start = line.end
	}
	return dst
}

package exposition

import (
	"math"

	"github.com/prometheus/common/model"
)

// judge says which lines of a part are written, by their values.
type judge uint8

const (
	// judgeNothing writes all.
	judgeNothing judge = iota
	// judgeCounts leaves out numbers of observations below zero, for which
	// readers refuse the whole page. Lines that their own target does not call
	// part of a histogram may have them.
	judgeCounts
	// judgeOpenMetrics leaves out what makes a page invalid in OpenMetrics: a
	// histogram whose buckets and count do not fit together, a counter that is
	// not a number or below zero, also of a target that does not call it one.
	judgeOpenMetrics
)

// append appends the lines that are written.
func (p *part) append(dst []byte, b *Block) []byte {
	if p.judge == judgeNothing {
		return p.segment.append(dst, b.data, b.spans)
	}
	start := uint32(0)
	for first := 0; first < len(p.lines); {
		end := p.groupEnd(first)
		good := p.judge != judgeOpenMetrics || p.Type != model.MetricTypeHistogram || p.fits(first, end, b)
		for i := first; i < end; i++ {
			line := &p.lines[i]
			v := b.spans[p.at[i]]
			if value := b.data[v.start:v.end]; good && len(value) > 0 && p.admits(i, value) {
				dst = p.appendPrefix(dst, start, line)
				dst = append(append(dst, value...), '\n')
			}
			start = line.end
		}
		first = end
	}
	return dst
}

// groupEnd is where the group ends that begins at a line.
func (p *part) groupEnd(first int) int {
	end := first + 1
	for end < len(p.roles) && p.roles[end]&begins == 0 {
		end++
	}
	return end
}

// role is the role of a line.
func (p *part) role(i int) role {
	if p.roles == nil {
		return roleValue
	}
	return p.roles[i] &^ begins
}

// admits judges the value of one line.
func (p *part) admits(i int, value []byte) bool {
	r := p.role(i)
	if p.judge == judgeCounts {
		return p.Type != model.MetricTypeHistogram || r == roleSum || !negative(value)
	}
	if first := value[0] - '0'; first <= 9 && r != roleCount {
		return true
	}
	v, _ := number(value)
	switch {
	case r == roleCount:
		return v >= 0 && wholeNumber(v)
	case r == roleValue && p.Type == model.MetricTypeSummary:
		return !(v < 0)
	case r == roleCreated:
		return !math.IsNaN(v)
	default:
		return v >= 0
	}
}

// wholeNumber says whether a value can be a number of observations.
func wholeNumber(v float64) bool { return v == math.Trunc(v) && !math.IsInf(v, 0) }

// fits says whether the lines of a group, from first to end, are a histogram.
func (p *part) fits(first, end int, b *Block) bool {
	var has [roleCreated + 1]bool
	last, count := 0.0, math.NaN()
	for i := first; i < end; i++ {
		v, ok := number(b.At(Place(p.at[i])))
		r := p.role(i)
		if has[r] = ok; !ok {
			continue
		}
		switch r {
		case roleBucket:
			if v < last || !wholeNumber(v) {
				return false
			}
			last = v
		case roleCount:
			count = v
		default:
			if !(v >= 0) {
				return false
			}
		}
	}
	return has[roleBucket] && has[roleCount] == has[roleSum] && (!has[roleCount] || count == last)
}

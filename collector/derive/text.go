package derive

import (
	"math"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// copy passes a source's text on.
func (c *passed) copy(page, out *exposition.Block, stats *Stats) {
	text := page.At(c.place)
	if len(text) == 0 {
		return
	}
	if text[0] < '0' || text[0] > '9' {
		v, err := strconv.ParseFloat(string(text), 64)
		switch {
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			if !c.quantile {
				stats.NonFinite++
			}
			return
		case c.counter && v < 0:
			stats.Negative++
			return
		}
	}
	if c.notZero && isZero(text) {
		return
	}
	set(page, out, int(c.series), c.place, int(c.shift))
}

// set gives a series the value at a place of the page, its decimal point moved
// to the left.
func set(page, out *exposition.Block, series int, at exposition.Place, shift int) {
	if shift == 0 {
		out.Show(series, page, at)
		return
	}
	out.Took(series, appendShifted(out.Data(), page.At(at), shift))
}

// isZero says whether the text of a number says 0.
func isZero(text []byte) bool {
	for _, c := range text {
		if c >= '1' && c <= '9' {
			return false
		}
		if c == 'e' || c == 'E' {
			return true
		}
	}
	return true
}

// appendShifted appends a number divided by 10 to the shift. Moving the point
// of a whole number is quicker than arithmetic, and exact.
func appendShifted(dst, text []byte, shift int) []byte {
	if n, ok := whole(text); ok {
		return appendFixed(dst, n, shift)
	}
	n := wholeDigits(text)
	if n < 0 {
		v, _ := strconv.ParseFloat(string(text), 64)
		return exposition.AppendFloat(dst, v/pow10(shift))
	}
	text = text[:n]
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	if n = len(text); n > shift {
		dst = append(dst, text[:n-shift]...)
		text = text[n-shift:]
		shift = len(text)
	} else {
		dst = append(dst, '0')
	}
	end := len(text)
	for end > 0 && text[end-1] == '0' {
		end--
	}
	if end == 0 {
		return dst
	}
	const zeros = "000000000000000000"
	dst = append(dst, '.')
	dst = append(dst, zeros[:shift-len(text)]...)
	return append(dst, text[:end]...)
}

// wholeDigits is how many digits a whole number has, -1 for other numbers. A
// fraction of zeros, as Python writes it, is none.
func wholeDigits(text []byte) int {
	for i, c := range text {
		if c-'0' <= 9 {
			continue
		}
		if c != '.' || i == 0 {
			return -1
		}
		for _, z := range text[i+1:] {
			if z != '0' {
				return -1
			}
		}
		return i
	}
	return len(text)
}

// pow10 is 10 to the n, of which a float64 holds those up to 22; divisions by
// it are rounded once.
func pow10(n int) float64 {
	powers := [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
	return powers[n]
}

// shiftedBound is the text of a bucket's bound in base units.
func shiftedBound(text string, shift int) string {
	if v, err := strconv.ParseFloat(text, 64); shift == 0 || err != nil || math.IsInf(v, 0) {
		return text
	}
	return string(appendShifted(nil, []byte(text), shift))
}

// histogram passes the series of one histogram on, all of them or none: the
// first is the first bucket, sum and count come last.
type histogram struct {
	first, gate, shift int
	places             []exposition.Place
}

// grows says whether the buckets grow up to the count, and all is finite.
func (h *histogram) grows(page *exposition.Block) bool {
	sum, before := len(h.places)-2, 0.0
	for i, n := range h.places {
		v := number(page.At(n))
		if !(v >= 0) || i != sum && v < before {
			return false
		}
		if i != sum {
			before = v
		}
	}
	return true
}

// copy passes a histogram's texts on when it is whole.
func (h *histogram) copy(page, out *exposition.Block, stats *Stats) {
	if !h.grows(page) {
		stats.BrokenHistograms++
		return
	}
	for i, n := range h.places {
		out.Show(h.first+i, page, n)
	}
	if sum := len(h.places) - 2; h.shift != 0 {
		set(page, out, h.first+sum, h.places[sum], h.shift)
	}
}

package derive

import (
	"math"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// copy passes a source's text on, unless it may not be shown.
func (c *passed) copy(page, out *exposition.Block) {
	v := page.Number(c.place)
	if v != v || v < 0 && c.counter || v == 0 && c.notZero {
		return
	}
	if c.shift == 0 {
		out.Show(int(c.series), page, c.place)
		return
	}
	movePoint(page, out, int(c.series), c.place, int(c.shift), v)
}

// movePoint gives a series the value at a place of the page, whose number is v,
// its decimal point moved to the left.
func movePoint(page, out *exposition.Block, series int, at exposition.Place, places int, v float64) {
	if v >= 0 && v < 1e15 {
		if n := int64(v); float64(n) == v {
			out.Took(series, appendFixed(out.Data(), uint64(n), places))
			return
		}
	}
	out.Took(series, appendShifted(out.Data(), page.At(at), places))
}

// appendShifted appends the number of a text divided by 10 to the shift. Moving
// the point of a whole number is exact.
func appendShifted(dst, text []byte, shift int) []byte {
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

package simulate

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// appendCpp writes v as prometheus-cpp does: up to 16 significant digits, an
// exponent from 1e16 on and below 1e-4, and "Nan" for not-a-number.
func appendCpp(dst []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(dst, "Nan"...)
	}
	return strconv.AppendFloat(dst, v, 'g', 16, 64)
}

// appendPython writes v as Python's prometheus_client does: the shortest text
// that reads back, with ".0" on whole numbers and an exponent from 1e6 on.
func appendPython(dst []byte, v float64) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	if bytes.ContainsAny(dst[start:], ".eNI") {
		return dst
	}
	return append(dst, ".0"...)
}

// appendPythonOld is appendPython of prometheus_client up to 2024, which writes
// three exponent digits (NIM 1.x: 1.15891634176e+011).
func appendPythonOld(dst []byte, v float64) []byte {
	return append(dst, bytes.Replace(appendPython(nil, v), []byte("e+"), []byte("e+0"), 1)...)
}

// appendRust writes v as the Rust prometheus crate does: shortest decimal text,
// never an exponent, no ".0".
func appendRust(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'f', -1, 64) }

// histogram counts observations per bucket; counts has one more entry than
// bounds, for +Inf.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
	n      uint64
}

func newHistogram(bounds ...float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) { h.observeN(v, 1) }

// observeN books n observations of the same value.
func (h *histogram) observeN(v float64, n uint64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i] += n
	h.sum += v * float64(n)
	h.n += n
}
